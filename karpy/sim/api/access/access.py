"""What a request does, in the terms that roles are written in, and the record of what each identity did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from karpy.errors import KubeError
from karpy.sim.api.access.identity import Identity

__all__ = ["Action", "Uses", "allows", "denied", "missing", "unused"]

Rule = Mapping[str, Any]


@attrs.frozen
class Action:
    """One thing to do: a verb on a resource (``pods``, ``pods/eviction``), or on a ``path`` that is no resource."""

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


def denied(who: Identity, action: Action, why: str = "") -> KubeError:
    """403, in the words of the real server."""
    if action.path:
        what = f'cannot {action.verb} path "{action.path}"'
        message, details = f'forbidden: User "{who.name}" {what}', {}
    else:
        plural = action.resource.partition("/")[0]
        called = f"{plural}.{action.group}" if action.group else plural
        where = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
        named = f'{called} "{action.name}"' if action.name else called
        message = (
            f'{named} is forbidden: User "{who.name}" cannot {action.verb} resource "{action.resource}" '
            f'in API group "{action.group}" {where}'
        )
        details = {"name": action.name, "group": action.group, "kind": plural}
        details = {key: value for key, value in details.items() if value}
    return KubeError(f"{message}: {why}" if why else message, code=403, reason="Forbidden", details=details)


def allows(rule: Rule, action: Action) -> bool:
    """Whether a ``PolicyRule`` covers an action."""
    if not _has(rule.get("verbs"), action.verb):
        return False
    if action.path:
        return any(_covers_path(pattern, action.path) for pattern in rule.get("nonResourceURLs") or ())
    if not _has(rule.get("apiGroups"), action.group) or not _covers_resource(rule, action.resource):
        return False
    names = rule.get("resourceNames")
    return not names or action.name in names


def _has(choices: Iterable[str] | None, value: str) -> bool:
    return any(choice in ("*", value) for choice in choices or ())


def _covers_resource(rule: Rule, resource: str) -> bool:
    subresource = resource.partition("/")[2]
    wanted = {"*", resource} | ({f"*/{subresource}"} if subresource else set())
    return any(choice in wanted for choice in rule.get("resources") or ())


def _covers_path(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


class Uses:
    """What each identity has done, by its name, whether or not it was allowed to."""

    def __init__(self) -> None:
        self._by_user: dict[str, dict[Action, None]] = {}

    def add(self, who: Identity, action: Action) -> None:
        self._by_user.setdefault(who.name, {})[action] = None

    def of(self, user: str) -> tuple[Action, ...]:
        """The different things that ``user`` did, in the order in which it first did them."""
        return tuple(self._by_user.get(user, ()))


@attrs.frozen
class _Granted:
    """A rule and where it holds: in one namespace, or everywhere when it is empty."""

    rule: Rule
    namespace: str

    def covers(self, action: Action) -> bool:
        return self.namespace in ("", action.namespace) and allows(self.rule, action)


def missing(manifest: Iterable[Mapping[str, Any]], user: Identity, uses: Iterable[Action]) -> list[Action]:
    """The ``uses`` that the roles and bindings of ``manifest`` do not allow to ``user``."""
    granted = list(_granted(tuple(manifest), user))
    return [action for action in uses if not any(each.covers(action) for each in granted)]


def unused(manifest: Iterable[Mapping[str, Any]], user: Identity, uses: Iterable[Action]) -> list[Action]:
    """What ``manifest`` grants to ``user`` beyond its ``uses``: one action for each verb and resource that nobody needed.

    A grant counts as used when it allowed something, even if another one allowed it too.
    """
    done = tuple(uses)
    spare: dict[Action, None] = {}
    for granted in _granted(tuple(manifest), user):
        for action, single in _singles(granted.rule):
            if not any(_Granted(single, granted.namespace).covers(each) for each in done):
                spare[attrs.evolve(action, namespace=granted.namespace)] = None
    return list(spare)


def _granted(manifest: tuple[Mapping[str, Any], ...], user: Identity) -> Iterator[_Granted]:
    roles = {(role["kind"], _space(role), role["metadata"]["name"]): role for role in manifest if "rules" in role}
    for binding in manifest:
        if binding.get("kind") not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        space = _space(binding) if binding["kind"] == "RoleBinding" else ""
        if any(binds(subject, user, space) for subject in binding.get("subjects") or ()):
            reference = binding["roleRef"]
            role = roles.get((reference["kind"], space if reference["kind"] == "Role" else "", reference["name"]), {})
            for rule in role.get("rules") or ():
                yield _Granted(rule, space)


def _space(obj: Mapping[str, Any]) -> str:
    return "" if obj["kind"].startswith("Cluster") else obj["metadata"].get("namespace") or "default"


def binds(subject: Mapping[str, Any], user: Identity, namespace: str) -> bool:
    """Whether the ``subject`` of a binding in ``namespace`` (empty: of a ClusterRoleBinding) is ``user``."""
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return name in ("*", user.name)
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            space = subject.get("namespace") or namespace
            return user.name == f"system:serviceaccount:{space}:{name}"
    return False


def _singles(rule: Rule) -> Iterator[tuple[Action, Rule]]:
    """The rule taken apart into rules of one verb on one resource of one group."""
    for verb in rule.get("verbs") or ():
        for path in rule.get("nonResourceURLs") or ():
            yield Action(verb, path=path), {"verbs": [verb], "nonResourceURLs": [path]}
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or ("",):
                    single = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
                    named = {**single, "resourceNames": [name]} if name else single
                    yield Action(verb, group, resource, name=name), named
