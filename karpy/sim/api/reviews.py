"""Reviews: requests that are answered and not stored. Everyone may do everything here, and is called ``karpy-admin``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.sim.api.resources import Resource

__all__ = ["review"]

_USER = {"username": "karpy-admin", "groups": ["system:masters", "system:authenticated"]}
_ALL_RULES = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def review(resource: Resource, body: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """The review that was sent, answered."""
    meta = {"creationTimestamp": None, **(body.get("metadata") or {})}
    if namespace:
        meta["namespace"] = namespace
    head = {"kind": resource.kind, "apiVersion": resource.api_version(resource.storage), "metadata": meta}
    return {**head, "spec": body.get("spec") or {}, "status": _status(resource.kind)}


def _status(kind: str) -> dict[str, Any]:
    match kind:
        case "SelfSubjectRulesReview":
            return dict(_ALL_RULES)
        case "SelfSubjectReview":
            return {"userInfo": _USER}
        case "TokenReview":
            return {"authenticated": True, "user": _USER}
    return {"allowed": True}
