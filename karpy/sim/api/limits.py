"""LimitRanges: what they add to the containers of a new pod, and the bounds that they hold pods and claims to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from karpy.quantity import NANO, Quantity
from karpy.sim.api.filling.poddefaults import canonical_resources
from karpy.sim.api.podresources import Amounts, container_amounts, pod_amounts

__all__ = ["complete_limits", "default_limit_range", "too_much", "with_limit_defaults"]

Object = dict[str, Any]
Body = Mapping[str, Any]

_ANNOTATION = "kubernetes.io/limit-ranger"


def complete_limits(limit: Body) -> Body:
    """One item of a LimitRange with its defaults: a container's limit from the maximum, its request from limit or minimum."""
    filled = dict(limit)
    for key in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        if filled.get(key):
            filled[key] = canonical_resources(filled[key], "LimitRange")
    if filled.get("type") != "Container":
        return filled
    limits = {**(filled.get("max") or {}), **(filled.get("default") or {})}
    requests = {**(filled.get("min") or {}), **limits, **(filled.get("defaultRequest") or {})}
    given = (("default", limits), ("defaultRequest", requests))
    return {**filled, **{key: amounts for key, amounts in given if amounts}}


def default_limit_range(obj: Body) -> Body:
    """A LimitRange as the server stores it."""
    spec = obj.get("spec") or {}
    limits = [complete_limits(limit) for limit in spec.get("limits") or ()]
    return {**obj, "spec": {**spec, "limits": limits}}


def with_limit_defaults(pod: Object, ranges: Iterable[Body]) -> Object:
    """A new pod with the requests and limits that the LimitRanges of its namespace give to containers without."""
    for limit_range in ranges:
        for limit in (limit_range.get("spec") or {}).get("limits") or ():
            if limit.get("type") == "Container":
                pod = _filled(pod, limit.get("defaultRequest") or {}, limit.get("default") or {})
    return pod


def _filled(pod: Object, requests: Body, limits: Body) -> Object:
    spec, told = dict(pod["spec"]), []
    for key, called in (("containers", "container"), ("initContainers", "init container")):
        filled = []
        for container in spec.get(key) or ():
            resources = dict(container.get("resources") or {})
            for part, word, defaults in (("requests", "request", requests), ("limits", "limit", limits)):
                found = resources.get(part) or {}
                added = sorted(name for name in defaults if name not in found)
                if added:
                    resources[part] = {**found, **{name: defaults[name] for name in added}}
                    told.append(f"{', '.join(added)} {word} for {called} {container.get('name', '')}")
            filled.append({**container, "resources": resources})
        if filled:
            spec[key] = filled
    if not told:
        return pod
    meta = pod["metadata"]
    annotations = {**(meta.get("annotations") or {}), _ANNOTATION: f"LimitRanger plugin set: {'; '.join(told)}"}
    return {**pod, "metadata": {**meta, "annotations": annotations}, "spec": spec}


def too_much(kind: str, obj: Body, ranges: Iterable[Body]) -> str:
    """What the first LimitRange that forbids a new pod or claim says; empty when none does."""
    for limit_range in ranges:
        broken = [
            problem
            for limit in (limit_range.get("spec") or {}).get("limits") or ()
            for problem in _problems(kind, obj, limit)
        ]
        if broken:
            return broken[0] if len(broken) == 1 else f"[{', '.join(dict.fromkeys(broken))}]"
    return ""


def _problems(kind: str, obj: Body, limit: Body) -> Iterator[str]:
    spec, type_ = obj.get("spec") or {}, limit.get("type", "")
    if kind == "PersistentVolumeClaim":
        if type_ == kind:
            yield from _claim_problems(limit, (spec.get("resources") or {}).get("requests") or {})
    elif type_ == "Pod":
        yield from _bounds(limit, pod_amounts(spec, "requests"), pod_amounts(spec, "limits"))
    elif type_ == "Container":
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            yield from _bounds(limit, container_amounts(container, "requests"), container_amounts(container, "limits"))


Rule = Callable[[str, Quantity, Quantity | None, Quantity | None], str]


def _bounds(limit: Body, requests: Amounts, limits: Amounts) -> Iterator[str]:
    type_ = limit["type"]
    for key, rule in (("min", _below), ("max", _above), ("maxLimitRequestRatio", _apart)):
        for name, text in sorted((limit.get(key) or {}).items()):
            problem = rule(
                f"{name} {_USAGE[key]} per {type_} is {text}", _parse(text), requests.get(name), limits.get(name)
            )
            if problem:
                yield problem if key == "maxLimitRequestRatio" else f"{_WORDS[key]} {problem}"


_USAGE = {"min": "usage", "max": "usage", "maxLimitRequestRatio": "max limit to request ratio"}
_WORDS = {"min": "minimum", "max": "maximum"}


def _parse(text: Any) -> Quantity:
    return Quantity.parse(text)


def _below(head: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    if request is None:
        return f"{head}.  No request is specified"
    if request.nanos < bound.nanos:
        return f"{head}, but request is {request}"
    if limit is not None and limit.nanos < bound.nanos:
        return f"{head}, but limit is {limit}"
    return ""


def _above(head: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    if limit is None:
        return f"{head}.  No limit is specified"
    if limit.nanos > bound.nanos:
        return f"{head}, but limit is {limit}"
    if request is not None and request.nanos > bound.nanos:
        return f"{head}, but request is {request}"
    return ""


def _apart(head: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    for amount, word in ((request, "request"), (limit, "limit")):
        if amount is None or not amount.nanos:
            return f"{head}, but no {word} is specified or {word} is 0"
    assert request is not None
    assert limit is not None
    if limit.nanos * NANO > bound.nanos * request.nanos:
        return f"{head}, but provided ratio is {limit.nanos / request.nanos:f}"
    return ""


def _claim_problems(limit: Body, requests: Body) -> Iterator[str]:
    for key, word in (("min", "minimum"), ("max", "maximum")):
        for name, text in sorted((limit.get(key) or {}).items()):
            head = f"{word} {name} usage per PersistentVolumeClaim is {text}"
            if name not in requests:
                yield f"{head}.  No request is specified"
                continue
            asked, bound = _parse(requests[name]).nanos, _parse(text).nanos
            if asked < bound if key == "min" else asked > bound:
                yield f"{head}, but request is {requests[name]}"
