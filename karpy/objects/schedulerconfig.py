"""The scheduler's configuration, as far as it matters here: the spread constraints of pods that name none.

Two forms are read: Karpenter's own (``podTopologySpread.defaultConstraints``), of which every field is known, and the file that
kube-scheduler itself is started with (kind ``KubeSchedulerConfiguration``), of which only that plug-in's arguments are looked at.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from karpy import labels
from karpy.errors import InvalidObject, standing
from karpy.objects.labelsyntax import is_label_key
from karpy.objects.manifest import read_document
from karpy.objects.meta import decode
from karpy.objects.podspec import TopologySpreadConstraint

__all__ = ["read_scheduler_config"]

Problems = list[InvalidObject]
"""What is wrong so far; the functions below add to it."""

_KUBE_SCHEDULER = "KubeSchedulerConfiguration"
_PLUGIN = "PodTopologySpread"
_SOFT = "ScheduleAnyway"
_SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(3, labels.HOSTNAME, _SOFT),
    TopologySpreadConstraint(5, labels.ZONE, _SOFT),
)
"""What kube-scheduler spreads by when its configuration does not say ``defaultingType: List``."""


@functools.lru_cache(maxsize=16)
def read_scheduler_config(text: str, source: str = "scheduler configuration") -> tuple[TopologySpreadConstraint, ...]:
    """The default constraints that ``text`` (YAML or JSON, from ``source``) configures; none when it is empty.

    >>> read_scheduler_config('{"podTopologySpread": {"defaultConstraints": []}}')
    ()

    Raises:
        InvalidObject: one line that tells of every problem, each with its field path, what was found and what is accepted.
    """
    document = read_document(text, source)
    problems: list[InvalidObject] = []
    if isinstance(document, Mapping) and document.get("kind") == _KUBE_SCHEDULER:
        found = _of_kube_scheduler(document, problems)
    else:
        found = _of_karpenter(document, problems)
    if problems:
        raise InvalidObject("; ".join(map(str, problems)), object_name=source)
    return found


def _of_karpenter(document: Any, problems: Problems) -> tuple[TopologySpreadConstraint, ...]:
    """``podTopologySpread: {defaultConstraints: […]}``."""
    outer = _members(document, "", {"podTopologySpread"}, problems)
    inner = _members(outer.get("podTopologySpread"), "podTopologySpread", {"defaultConstraints"}, problems)
    return _constraints(inner.get("defaultConstraints"), "podTopologySpread.defaultConstraints", problems)


def _of_kube_scheduler(document: Mapping[str, Any], problems: Problems) -> tuple[TopologySpreadConstraint, ...]:
    """The constraints of all profiles, which must agree: karpy does not know which profile a pod's scheduler runs."""
    found = [
        _of_profile(profile, path, problems)
        for path, profile in _entries(document.get("profiles"), "profiles", problems)
    ]
    if len(set(found)) > 1 and not problems:
        problems.append(
            InvalidObject("profiles differ in their default constraints", path="profiles", accepted="the same in all")
        )
    return found[0] if found else _SYSTEM_DEFAULTS


def _of_profile(profile: Any, path: str, problems: Problems) -> tuple[TopologySpreadConstraint, ...]:
    where = f"{path}.pluginConfig"
    for at, config in _entries(_members(profile, path, None, problems).get("pluginConfig"), where, problems):
        if _members(config, at, None, problems).get("name") == _PLUGIN:
            return _of_plugin(config.get("args"), f"{at}.args", problems)
    return _SYSTEM_DEFAULTS


def _of_plugin(args: Any, path: str, problems: Problems) -> tuple[TopologySpreadConstraint, ...]:
    known = {"apiVersion", "kind", "defaultConstraints", "defaultingType"}
    given = _members(args, path, known, problems)
    found = _constraints(given.get("defaultConstraints"), f"{path}.defaultConstraints", problems)
    how = given.get("defaultingType") or "System"
    if how not in ("List", "System"):
        problems.append(InvalidObject(f"found {how!r}", path=f"{path}.defaultingType", accepted="List or System"))
    if how != "System":
        return found
    if given.get("defaultConstraints"):
        accepted = "List where there are default constraints"
        problems.append(InvalidObject("found 'System'", path=f"{path}.defaultingType", accepted=accepted))
    return _SYSTEM_DEFAULTS


def _constraints(value: Any, path: str, problems: Problems) -> tuple[TopologySpreadConstraint, ...]:
    found: list[TopologySpreadConstraint] = []
    seen: dict[tuple[Any, Any], str] = {}
    for at, entry in _entries(value, path, problems):
        wrong = list(_problems(entry, at))
        problems += wrong
        if wrong:
            continue
        constraint = decode(_given(entry), TopologySpreadConstraint)
        first = seen.setdefault((constraint.topology_key, constraint.when_unsatisfiable), at)
        if first != at:
            both = f"the same topologyKey and whenUnsatisfiable as {first}"
            problems.append(InvalidObject(both, path=at, accepted="each pair once"))
        found.append(constraint)
    return tuple(found)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31


def _is_topology_key(value: Any) -> bool:
    return isinstance(value, str) and is_label_key(value)


_POSITIVE = (_is_positive, "a whole number above 0")
_POLICY = (("Honor", "Ignore").__contains__, "Honor or Ignore")
_REQUIRED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "maxSkew": _POSITIVE,
    "topologyKey": (_is_topology_key, "a label key"),
    "whenUnsatisfiable": (("DoNotSchedule", _SOFT).__contains__, f"DoNotSchedule or {_SOFT}"),
}
_FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **_REQUIRED,
    "minDomains": _POSITIVE,
    "nodeAffinityPolicy": _POLICY,
    "nodeTaintsPolicy": _POLICY,
}
_FORBIDDEN: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "labelSelector": (lambda _: False, "nothing: each pod's selector is deduced from its services and its controller"),
    "matchLabelKeys": (lambda value: value == [], "nothing: a default constraint has no selector to add to"),
}


def _problems(entry: Any, path: str) -> Iterator[InvalidObject]:
    """What is wrong with one constraint, field by field."""
    if not isinstance(entry, Mapping):
        yield InvalidObject(f"found {standing(entry)}", path=path, accepted="an object")
        return
    given, rules = _given(entry), {**_FIELDS, **_FORBIDDEN}
    for name, value in given.items():
        if name not in rules:
            yield _unknown(name, path, _FIELDS)
        elif not rules[name][0](value):
            yield InvalidObject(f"found {standing(value)}", path=f"{path}.{name}", accepted=rules[name][1])
    for name in _REQUIRED:
        if name not in given:
            yield InvalidObject("found nothing", path=f"{path}.{name}", accepted=_REQUIRED[name][1])
    if "minDomains" in given and given.get("whenUnsatisfiable") == _SOFT:
        found = f"found {standing(given['minDomains'])}"
        yield InvalidObject(found, path=f"{path}.minDomains", accepted=f"nothing with {_SOFT}")


def _given(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say something; null is as good as nothing."""
    return {key: value for key, value in entry.items() if value is not None}


def _members(value: Any, path: str, known: Collection[str] | None, problems: Problems) -> Mapping[str, Any]:
    """``value`` as an object; no other fields than ``known``, unless that is None. Nothing counts as an empty object."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        problems.append(InvalidObject(f"found {standing(value)}", path=path, accepted="an object"))
        return {}
    for key in value:
        if known is not None and key not in known:
            problems.append(_unknown(key, path, known))
    return value


def _unknown(name: str, path: str, known: Collection[str]) -> InvalidObject:
    where = f"{path}.{name}" if path else name
    return InvalidObject("is not a known field", path=where, accepted=", ".join(sorted(known)))


def _entries(value: Any, path: str, problems: Problems) -> Iterator[tuple[str, Any]]:
    """The entries of a list, each with its path. Nothing counts as an empty list."""
    if value is None:
        return
    if not isinstance(value, list):
        problems.append(InvalidObject(f"found {standing(value)}", path=path, accepted="a list"))
        return
    yield from ((f"{path}[{index}]", entry) for index, entry in enumerate(value))
