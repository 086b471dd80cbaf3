"""What a HorizontalPodAutoscaler reads from each kind of metric: how many replicas would meet its target.

Source: the replica calculator of Kubernetes 1.31, over the scripted loads of `karpy.sim.loads`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from karpy.clock import parse_time
from karpy.kube.client import RawObject
from karpy.quantity import Quantity
from karpy.sim.loads import Loads
from karpy.sim.podfacts import condition_of, is_active, is_deleting, is_ready
from karpy.sim.workloads.scaling import within_tolerance

__all__ = ["Proposal", "Situation", "Unmeasured", "propose"]

STARTING_S = 300.0
"""So long after its start a pod's CPU counts only when it has been ready for a whole sample."""
SAMPLE_S = 30.0
INITIAL_DELAY_S = 30.0


class Unmeasured(Exception):
    """A metric cannot be read; ``reason`` is that of the condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@attrs.frozen
class Proposal:
    """How many replicas one metric asks for."""

    replicas: int
    metric: str
    """In the words of the controller."""
    status: Mapping[str, Any]


@attrs.frozen
class _Pods:
    """The pods of a target: those that count, and those that have not started to work."""

    ready: Sequence[RawObject]
    unready: Sequence[RawObject]


@attrs.frozen(kw_only=True)
class Situation:
    """A target, with its pods and the loads on it, at one moment. ``target`` is its kind, namespace and name."""

    target: tuple[str, str, str]
    pods: Sequence[RawObject]
    current: int
    """How many replicas it is scaled to."""
    loads: Loads
    now: float


def propose(metric: Mapping[str, Any], situation: Situation) -> Proposal:
    """What a metric asks for.

    Raises:
        Unmeasured: there is nothing to go by.
    """
    kind = metric["type"]
    if kind in ("Resource", "ContainerResource"):
        return _by_resource(metric, situation)
    if kind == "Pods":
        return _by_pods(metric["pods"], situation)
    return _by_number(kind, metric["external" if kind == "External" else "object"], situation)


def _by_resource(metric: Mapping[str, Any], at: Situation) -> Proposal:
    field = "resource" if metric["type"] == "Resource" else "containerResource"
    source = metric[field]
    name, goal = source["name"], source["target"]
    grouped = _group(at.pods, name, at.now)
    share = goal.get("averageUtilization")
    requests = {pod["metadata"]["name"]: _request(pod, name, source.get("container")) for pod in at.pods}
    if share is not None and not all(requests.values()):
        lacking = next(pod for pod, request in requests.items() if not request)
        raise Unmeasured(
            "FailedGetResourceMetric", f"failed to get {name} utilization: missing request for {name} in {lacking}"
        )
    uses: dict[str, float] = {}
    alike: dict[float, float] = {}
    """What a pod with this request uses: mostly all have the same."""
    for pod in grouped.ready:
        request = requests[pod["metadata"]["name"]]
        if request not in alike:
            used = at.loads.per_pod(at.target, name, len(grouped.ready), float(request))
            if used is None:
                text = f"unable to get metrics for resource {name}: no metrics returned from resource metrics API"
                raise Unmeasured("FailedGetResourceMetric", f"failed to get {name} utilization: {text}")
            alike[request] = used
        uses[pod["metadata"]["name"]] = alike[request]
    if not uses:
        text = f"no metrics returned from resource metrics API for resource {name}"
        raise Unmeasured("FailedGetResourceMetric", f"failed to get {name} utilization: {text}")
    mean = sum(uses.values()) / len(uses)
    shown: dict[str, Any] = {"averageValue": _quantity(name, mean)}
    if share is None:
        words = f"{name} resource"
        wanted = _amount(goal["averageValue"])
        replicas = _replicas(uses, grouped.unready, at.current, lambda found: sum(found.values()) / len(found) / wanted)
    else:
        of = "" if field == "resource" else "container "
        words = f"{name} {of}resource utilization (percentage of request)"

        def percent(found: Mapping[str, float]) -> int:
            return int(sum(found.values()) * 100 / sum(requests[pod] for pod in found))

        shown["averageUtilization"] = percent(uses)
        replicas = _replicas(uses, grouped.unready, at.current, lambda found: percent(found) / share)
    return Proposal(replicas, words, {"type": metric["type"], field: {**_named(source), "current": shown}})


def _by_pods(source: Mapping[str, Any], at: Situation) -> Proposal:
    name = source["metric"]["name"]
    grouped = _group(at.pods, "", at.now)
    used = at.loads.per_pod(at.target, name, len(grouped.ready), 1.0)
    if used is None or not grouped.ready:
        text = f"unable to get metric {name}: no metrics returned from custom metrics API"
        raise Unmeasured("FailedGetPodsMetric", text)
    wanted = _amount(source["target"]["averageValue"])
    uses = {pod["metadata"]["name"]: used for pod in grouped.ready}
    replicas = _replicas(uses, grouped.unready, at.current, lambda found: sum(found.values()) / len(found) / wanted)
    status = {"metric": source["metric"], "current": {"averageValue": _quantity(name, used)}}
    return Proposal(replicas, f"pods metric {name}", {"type": "Pods", "pods": status})


def _by_number(kind: str, source: Mapping[str, Any], at: Situation) -> Proposal:
    name, goal = source["metric"]["name"], source["target"]
    namespace, current = at.target[1], at.current
    found = at.loads.value(namespace, name)
    if found is None:
        text = f"unable to get {kind.lower()} metric {namespace}/{name}: no metrics returned from {kind.lower()} metrics API"
        raise Unmeasured(f"FailedGet{kind}Metric", text)
    field = kind.lower()
    status: dict[str, Any] = {"metric": source["metric"]}
    if kind == "Object":
        status["describedObject"] = source["describedObject"]
    if goal.get("averageValue") is not None:
        wanted = _amount(goal["averageValue"])
        near = current > 0 and within_tolerance(found / (wanted * current))
        replicas = current if near else math.ceil(found / wanted)
        status["current"] = {"averageValue": _quantity(name, found / max(current, 1))}
    else:
        wanted = _amount(goal["value"])
        ready = sum(1 for pod in at.pods if is_ready(pod) and not is_deleting(pod))
        replicas = current if within_tolerance(found / wanted) else math.ceil(found / wanted * ready)
        status["current"] = {"value": _quantity(name, found)}
    return Proposal(replicas, f"{field} metric {name}(nil)", {"type": kind, field: status})


def _replicas(
    uses: Mapping[str, float],
    unready: Sequence[RawObject],
    current: int,
    ratio_of: Callable[[Mapping[str, float]], float],
) -> int:
    """So many replicas that the mean would meet its target; pods that do not work yet are taken to be idle before more are made."""
    ratio = ratio_of(uses)
    if not (unready and ratio > 1.0):
        return current if within_tolerance(ratio) else math.ceil(round(ratio * len(uses), 9))
    everyone = {**uses, **{pod["metadata"]["name"]: 0.0 for pod in unready}}
    ratio = ratio_of(everyone)
    if within_tolerance(ratio) or ratio < 1.0:
        return current
    return max(math.ceil(round(ratio * len(everyone), 9)), current)


def _group(pods: Sequence[RawObject], resource: str, now: float) -> _Pods:
    ready, unready = [], []
    for pod in pods:
        if not is_active(pod):
            continue
        if (pod.get("status") or {}).get("phase") == "Pending" or (resource == "cpu" and not _has_settled(pod, now)):
            unready.append(pod)
        else:
            ready.append(pod)
    return _Pods(ready, unready)


def _has_settled(pod: RawObject, now: float) -> bool:
    """Whether the pod's CPU says something of its work rather than of its start."""
    condition, started = condition_of(pod, "Ready"), (pod.get("status") or {}).get("startTime")
    if condition is None or not started:
        return False
    serves, began = condition["status"] == "True", parse_time(started)
    if began + STARTING_S > now:
        return bool(serves and now >= parse_time(condition["lastTransitionTime"]) + SAMPLE_S)
    return bool(serves or began + INITIAL_DELAY_S <= parse_time(condition["lastTransitionTime"]))


def _request(pod: RawObject, resource: str, container: str | None) -> float:
    """What the pod's containers ask for together; 0 when one of them does not."""
    total = 0.0
    for each in pod["spec"]["containers"]:
        if container in (None, each["name"]):
            amount = ((each.get("resources") or {}).get("requests") or {}).get(resource)
            if not amount:
                return 0.0
            total += _amount(amount)
    return total


@functools.lru_cache(maxsize=1024)
def _amount(text: str) -> float:
    return Quantity.parse(text).nanos / 1e9


def _quantity(name: str, amount: float) -> str:
    """As metrics APIs write it: milli-units, except for bytes.

    >>> _quantity("cpu", 0.25), _quantity("memory", 1024.0), _quantity("queue", 7.0)
    ('250m', '1Ki', '7')
    """
    if name == "memory":
        whole = int(amount)
        return f"{whole // 1024}Ki" if whole and whole % 1024 == 0 else str(whole)
    milli = round(amount * 1000)
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def _named(source: Mapping[str, Any]) -> dict[str, Any]:
    return {key: source[key] for key in ("name", "container") if key in source}
