"""Reviews: requests that are answered and not stored. They tell who somebody is, and what somebody may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.errors import KubeError
from karpy.sim.api import status
from karpy.sim.api.access.access import Action
from karpy.sim.api.access.identity import Identity
from karpy.sim.api.access.rbac import Access
from karpy.sim.api.access.tokens import ISSUER, Tokens
from karpy.sim.api.resources import Resource
from karpy.sim.api.status import Cause

__all__ = ["review"]

Object = dict[str, Any]

_EVERYTHING: Object = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def review(
    resource: Resource, body: Mapping[str, Any], namespace: str, who: Identity, access: Access, tokens: Tokens
) -> Object:
    """The review that ``who`` sent, answered.

    Raises:
        KubeError: 422 or 400, it does not say what it asks.
    """
    spec = body.get("spec") or {}
    match resource.kind:
        case "SelfSubjectRulesReview":
            found = _rules(spec, who, access)
        case "SelfSubjectReview":
            found = {"userInfo": who.as_object()}
        case "TokenReview":
            found = _token(spec, tokens)
        case "SelfSubjectAccessReview":
            found = _decision(resource, spec, who, access)
        case _:
            found = _decision(resource, spec, _subject(resource, spec), access)
    meta = {"creationTimestamp": None, **(body.get("metadata") or {})}
    if namespace:
        meta["namespace"] = namespace
    head = {"kind": resource.kind, "apiVersion": resource.api_version(resource.storage), "metadata": meta}
    return {**head, "spec": spec, "status": found}


def _subject(resource: Resource, spec: Mapping[str, Any]) -> Identity:
    user, groups = spec.get("user", ""), tuple(spec.get("groups") or ())
    if not user and not groups:
        raise _invalid(resource, "spec.user", '""', "at least one of user or group must be specified")
    return Identity(user, groups, spec.get("uid", ""))


def _invalid(resource: Resource, field: str, value: str, why: str) -> KubeError:
    return status.invalid(resource, "", [Cause.bad(field, value, why)])


def _decision(resource: Resource, spec: Mapping[str, Any], who: Identity, access: Access) -> Object:
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (asked is None) is (path is None):
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _invalid(resource, "spec.resourceAttributes", "null", why)
    if asked is None:
        path = path or {}
        action = Action(path.get("verb", ""), path=path.get("path", ""))
    else:
        plural, below = asked.get("resource", ""), asked.get("subresource", "")
        action = Action(
            asked.get("verb", ""),
            asked.get("group", ""),
            f"{plural}/{below}" if below else plural,
            asked.get("namespace", ""),
            asked.get("name", ""),
        )
    decision = access.decide(who, action)
    answer: Object = {"allowed": decision.allowed}
    return {**answer, "reason": decision.reason} if decision.reason else answer


def _rules(spec: Mapping[str, Any], who: Identity, access: Access) -> Object:
    namespace = spec.get("namespace", "")
    if not access.rbac or who.is_master:
        return dict(_EVERYTHING)
    if not namespace:
        raise status.bad_request("no namespace on request")
    rules = [rule for grant in access.grants(who, namespace) for rule in grant.rules]
    return {
        "resourceRules": [dict(rule) for rule in rules if not rule.get("nonResourceURLs")],
        "nonResourceRules": [dict(rule) for rule in rules if rule.get("nonResourceURLs")],
        "incomplete": False,
    }


def _token(spec: Mapping[str, Any], tokens: Tokens) -> Object:
    found = tokens.recognize(spec.get("token", ""))
    if found is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": found.as_object(), "audiences": spec.get("audiences") or [ISSUER]}
