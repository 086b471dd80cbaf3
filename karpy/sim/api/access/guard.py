"""The door of the REST face: who sends a request, for whom it is meant, and whether that one may do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karpy.sim.api.access.access import Action
from karpy.sim.api.access.identity import AUTHENTICATED, Identity, service_account
from karpy.sim.api.access.tokens import Tokens
from karpy.sim.api.wire.queries import flag
from karpy.sim.api.wire.requests import Impersonated, Request, Target

if TYPE_CHECKING:
    from karpy.sim.apiserver import ApiServer

__all__ = ["Guard", "action_of"]

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_SERVICE_ACCOUNT = "system:serviceaccount:"


class Guard:
    """Lets requests pass, and tells who sends them."""

    def __init__(self, server: ApiServer, tokens: Tokens) -> None:
        self._server = server
        self._tokens = tokens

    def admit(self, request: Request, action: Action) -> Identity:
        """Who sends ``request``, or whom it is sent for; ``action`` is what it does.

        Raises:
            KubeError: 401 nobody that is known, 403 it is not allowed.
        """
        who = self._tokens.identify(request.authorization)
        if request.impersonated is not None:
            who = self._impersonate(who, request.impersonated)
        if not who.is_master:
            self._server.access.check(who, action)
        return who

    def _impersonate(self, who: Identity, other: Impersonated) -> Identity:
        check = self._server.access.check
        account = other.user.removeprefix(_SERVICE_ACCOUNT) if other.user.startswith(_SERVICE_ACCOUNT) else ""
        if account:
            namespace, _, name = account.partition(":")
            check(who, Action("impersonate", "", "serviceaccounts", namespace, name))
            groups = other.groups or service_account(namespace, name).groups
        else:
            check(who, Action("impersonate", "", "users", "", other.user))
            groups = other.groups
        for group in other.groups:
            check(who, Action("impersonate", "", "groups", "", group))
        if other.uid:
            check(who, Action("impersonate", "authentication.k8s.io", "uids", "", other.uid))
        if AUTHENTICATED not in groups and other.user != "system:anonymous":
            groups = (*groups, AUTHENTICATED)
        return Identity(other.user, groups, other.uid)


def action_of(request: Request, target: Target | None) -> Action:
    """What a request does, in the terms of roles."""
    if target is None or not target.plural:
        return Action(request.method.lower(), path=request.path)
    resource = f"{target.plural}/{target.subresource}" if target.subresource else target.plural
    namespace, name = target.namespace, target.name
    if target.plural == "namespaces" and not target.group:
        namespace = name
    verb = _VERBS.get(request.method, "")
    if request.method == "DELETE":
        verb = "delete" if name else "deletecollection"
    elif request.method in ("GET", "HEAD"):
        verb = "get" if name else "list"
        if flag(request.query, "watch"):
            verb = "watch"
        if not name:
            name = _selected_name(request.query.get("fieldSelector", ""))
    return Action(verb or request.method.lower(), target.group, resource, namespace, name)


def _selected_name(fields: str) -> str:
    """A list or watch of one name asks for that object alone."""
    for term in fields.split(","):
        path, _, value = term.partition("=")
        if path == "metadata.name":
            return value.removeprefix("=")
    return ""
