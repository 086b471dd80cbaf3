"""What is wrong with a HorizontalPodAutoscaler: its bounds, its target, each metric that it goes by, and how fast it may scale.

Source: the validation of the autoscaling group in Kubernetes 1.31.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from karpy.sim.api.rules.checks import Object, check_choice, nanos, spec_of
from karpy.sim.api.rules.validation import quoted
from karpy.sim.api.status import Cause

__all__ = ["check_autoscaler"]

_SOURCES: Mapping[str, str] = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
"""The field that says more of a metric, by its type."""
_LONGEST_WINDOW_S = 3600
_LONGEST_PERIOD_S = 1800
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")
_GOALS: Mapping[str, tuple[tuple[str, ...], str, str]] = {
    "containerResource": (
        ("averageUtilization", "averageValue"),
        "averageUtilization",
        "must set either a target raw value or a target utilization",
    ),
    "external": (
        ("value", "averageValue"),
        "averageValue",
        "must set either a target value for metric or a per-pod target",
    ),
    "object": (("value", "averageValue"), "averageValue", "must set either a target value or averageValue"),
    "pods": (("averageValue",), "averageValue", "must specify a positive target averageValue"),
    "resource": (
        ("averageUtilization", "averageValue"),
        "averageUtilization",
        "must set either a target raw value or a target utilization",
    ),
}
"""Which amounts a target may set, the one that is missed when it sets none, and what is said then."""


def check_autoscaler(obj: Object) -> Iterator[Cause]:
    spec = spec_of(obj)
    least, most, target = spec.get("minReplicas"), spec.get("maxReplicas", 0), spec.get("scaleTargetRef") or {}
    if least is not None and least < 1:
        yield Cause.bad("spec.minReplicas", str(least), "must be greater than or equal to 1")
    if most < 1:
        yield Cause.bad("spec.maxReplicas", str(most), "must be greater than 0")
    if least is not None and most < least:
        yield Cause.bad("spec.maxReplicas", str(most), "must be greater than or equal to `minReplicas`")
    for name in ("kind", "name"):
        if not target.get(name):
            yield Cause.required(f"spec.scaleTargetRef.{name}")
    for i, metric in enumerate(spec.get("metrics") or ()):
        yield from _metric(metric, f"spec.metrics[{i}]")
    for direction in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(direction)
        if rules is not None:
            yield from _scaling(rules, f"spec.behavior.{direction}")


def _scaling(rules: Object, path: str) -> Iterator[Cause]:
    window = rules.get("stabilizationWindowSeconds") or 0
    if window < 0:
        yield Cause.bad(f"{path}.stabilizationWindowSeconds", str(window), "must be greater than or equal to zero")
    if window > _LONGEST_WINDOW_S:
        why = f"must be less than or equal to {_LONGEST_WINDOW_S}"
        yield Cause.bad(f"{path}.stabilizationWindowSeconds", str(window), why)
    yield from check_choice(rules.get("selectPolicy"), f"{path}.selectPolicy", ("Disabled", "Max", "Min"), needed=False)
    policies = rules.get("policies")
    if policies is not None and not policies:
        yield Cause.required(f"{path}.policies", "must specify at least one Policy")
    for i, policy in enumerate(policies or ()):
        where, period = f"{path}.policies[{i}]", policy.get("periodSeconds") or 0
        if policy.get("type") not in ("Pods", "Percent"):
            yield Cause.unsupported(f"{where}.type", quoted(policy.get("type") or ""), ("Percent", "Pods"))
        if (policy.get("value") or 0) <= 0:
            yield Cause.bad(f"{where}.value", str(policy.get("value") or 0), "must be greater than zero")
        if period <= 0:
            yield Cause.bad(f"{where}.periodSeconds", str(period), "must be greater than zero")
        if period > _LONGEST_PERIOD_S:
            yield Cause.bad(f"{where}.periodSeconds", str(period), f"must be less than or equal to {_LONGEST_PERIOD_S}")


def _metric(metric: Object, path: str) -> Iterator[Cause]:
    type_ = metric.get("type") or ""
    if not type_:
        yield Cause.required(f"{path}.type", "must specify a metric source type")
    if type_ not in _SOURCES:
        yield Cause.unsupported(f"{path}.type", quoted(type_), tuple(_SOURCES))
        return
    wanted = _SOURCES[type_]
    source = metric.get(wanted)
    if source is None:
        yield Cause.required(f"{path}.{wanted}", "must populate information for the given metric source")
    else:
        yield from _source(wanted, source, f"{path}.{wanted}")
    for other in _SOURCES.values():
        if other != wanted and metric.get(other) is not None:
            yield Cause.forbidden(f"{path}.{other}", "must populate the given metric source only")


def _source(name: str, source: Object, path: str) -> Iterator[Cause]:
    if name in ("resource", "containerResource"):
        if not source.get("name"):
            yield Cause.required(f"{path}.name", "must specify a resource name")
        if name == "containerResource" and not source.get("container"):
            yield Cause.required(f"{path}.container", "must specify a container")
    else:
        if not (source.get("metric") or {}).get("name"):
            yield Cause.required(f"{path}.metric.name", "must specify a metric name")
        for field in ("kind", "name") if name == "object" else ():
            if not (source.get("describedObject") or {}).get(field):
                yield Cause.required(f"{path}.describedObject.{field}")
    yield from _target(name, source.get("target") or {}, f"{path}.target")


def _target(name: str, target: Object, path: str) -> Iterator[Cause]:
    type_ = target.get("type") or ""
    if not type_:
        yield Cause.required(f"{path}.type", "must specify a metric target type")
    if type_ not in _TARGET_TYPES:
        yield Cause.bad(f"{path}.type", quoted(type_), "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        if target.get(field) is not None and nanos(target[field]) <= 0:
            yield Cause.bad(f"{path}.{field}", quoted(str(target[field])), "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        yield Cause.bad(f"{path}.averageUtilization", str(share), "must be greater than 0")
    fields, missed, text = _GOALS[name]
    if all(target.get(field) is None for field in fields):
        yield Cause.required(f"{path}.{missed}", text)
