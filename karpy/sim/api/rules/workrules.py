"""Rules of workloads and of what scales and protects them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from karpy.sim.api.rules.checks import Object, check_choice, check_label_selector, check_negative, spec_of
from karpy.sim.api.rules.podrules import check_template
from karpy.sim.api.rules.validation import quoted
from karpy.sim.api.selectors import matches_label_selector
from karpy.sim.api.status import Cause

__all__ = [
    "check_budget",
    "check_cron_job",
    "check_daemon_set",
    "check_deployment",
    "check_job",
    "check_replica_set",
    "check_stateful_set",
    "shown_selector",
]

_PERCENT = re.compile(r"[0-9]+%\Z")
_PERCENT_TEXT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
_LONGEST_CRON_NAME = 52


def shown_labels(labels: Mapping[str, str] | None) -> str:
    """Labels as Go prints them."""
    if not labels:
        return "map[string]string(nil)"
    return "map[string]string{" + ", ".join(f"{quoted(k)}:{quoted(v)}" for k, v in sorted(labels.items())) + "}"


def shown_selector(selector: Object | None) -> str:
    """A label selector as Go prints it."""
    labels = shown_labels((selector or {}).get("matchLabels"))
    return f"v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}}"


def _selection(spec: Object, called: str, *, needed: bool = True) -> Iterator[Cause]:
    """The selector of a workload, and whether its template's labels are selected by it."""
    selector = spec.get("selector")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if selector is None and needed:
        yield Cause.required("spec.selector")
    elif selector is not None:
        yield from check_label_selector(selector, "spec.selector")
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            yield Cause.bad("spec.selector", shown_selector(selector), f"empty selector is invalid for {called}")
            return
    if not matches_label_selector(selector, labels):
        yield Cause.bad(
            "spec.template.metadata.labels", shown_labels(labels), "`selector` does not match template `labels`"
        )


def _template(spec: Object) -> Iterator[Cause]:
    template = spec.get("template") or {}
    yield from check_template(template, "spec.template")
    inner = template.get("spec") or {}
    policy = inner.get("restartPolicy", "Always")
    if policy != "Always":
        yield Cause.unsupported("spec.template.spec.restartPolicy", quoted(policy), ("Always",))
    if inner.get("activeDeadlineSeconds") is not None:
        why = "activeDeadlineSeconds in ReplicaSet is not Supported"
        yield Cause.forbidden("spec.template.spec.activeDeadlineSeconds", why)


def _counts(spec: Object, *names: str) -> Iterator[Cause]:
    for name in names:
        yield from check_negative(spec.get(name), f"spec.{name}")


def _share(value: Any, path: str) -> Iterator[Cause]:
    """A number or a percentage."""
    if isinstance(value, str) and not _PERCENT.match(value):
        yield Cause.bad(path, _shown_share(value), _PERCENT_TEXT)
    yield from check_negative(value, path)


def _at_most_all(value: Any, path: str) -> Iterator[Cause]:
    if isinstance(value, str) and _PERCENT.match(value) and int(value[:-1]) > 100:
        yield Cause.bad(path, _shown_share(value), "must not be greater than 100%")


def _shown_share(value: Any) -> str:
    text = isinstance(value, str)
    return (
        f"intstr.IntOrString{{Type:{int(text)}, IntVal:{0 if text else value}, StrVal:{quoted(value if text else '')}}}"
    )


def _rolling(rolling: Object, path: str) -> Iterator[Cause]:
    absent, surplus = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from _share(absent, f"{path}.maxUnavailable")
    yield from _share(surplus, f"{path}.maxSurge")
    if absent in (0, "0%") and surplus in (0, "0%"):
        yield Cause.bad(f"{path}.maxUnavailable", _shown_share(absent), "may not be 0 when `maxSurge` is 0")
    yield from _at_most_all(absent, f"{path}.maxUnavailable")


def check_deployment(obj: Object) -> Iterator[Cause]:
    spec = spec_of(obj)
    yield from _counts(spec, "replicas")
    yield from _selection(spec, "deployment")
    yield from _template(spec)
    strategy = spec.get("strategy") or {}
    kind, rolling = strategy.get("type", "RollingUpdate"), strategy.get("rollingUpdate")
    if kind == "Recreate" and rolling is not None:
        why = "may not be specified when strategy `type` is 'Recreate'"
        yield Cause.forbidden("spec.strategy.rollingUpdate", why)
    elif kind == "RollingUpdate" and rolling is not None:
        yield from _rolling(rolling, "spec.strategy.rollingUpdate")
    elif kind not in ("Recreate", "RollingUpdate"):
        yield Cause.unsupported(
            "spec.strategy", f"apps.DeploymentStrategy{{Type:{quoted(kind)}}}", ("Recreate", "RollingUpdate")
        )
    yield from _counts(spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield Cause.bad("spec.progressDeadlineSeconds", str(deadline), "must be greater than minReadySeconds")


def check_replica_set(obj: Object) -> Iterator[Cause]:
    spec = spec_of(obj)
    yield from _counts(spec, "replicas", "minReadySeconds")
    yield from _selection(spec, "deployment")
    yield from _template(spec)


def check_stateful_set(obj: Object) -> Iterator[Cause]:
    spec = spec_of(obj)
    policy = spec.get("podManagementPolicy", "OrderedReady")
    if policy not in ("OrderedReady", "Parallel"):
        yield Cause.bad("spec.podManagementPolicy", quoted(policy), "must be 'OrderedReady' or 'Parallel'")
    kind = (spec.get("updateStrategy") or {}).get("type", "RollingUpdate")
    if kind not in ("RollingUpdate", "OnDelete"):
        shown = f"apps.StatefulSetUpdateStrategy{{Type:{quoted(kind)}}}"
        yield Cause.bad("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'")
    yield from _counts(spec, "replicas", "minReadySeconds")
    yield from _selection(spec, "statefulset")
    yield from _template(spec)


def check_daemon_set(obj: Object) -> Iterator[Cause]:
    spec = spec_of(obj)
    yield from _selection(spec, "daemonset", needed=False)
    yield from _template(spec)
    yield from _counts(spec, "minReadySeconds", "revisionHistoryLimit")


def _job_spec(spec: Object, path: str) -> Iterator[Cause]:
    names = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    for name in names:
        yield from check_negative(spec.get(name), f"{path}.{name}")
    mode = spec.get("completionMode", "NonIndexed")
    yield from check_choice(mode, f"{path}.completionMode", ("NonIndexed", "Indexed"))
    if mode == "Indexed" and spec.get("completions") is None:
        yield Cause.required(f"{path}.completions", "when completion mode is Indexed")
    for i, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or ()):
        yield from _success(rule, f"{path}.successPolicy.rules[{i}]", spec.get("completions") or 0)
    template = spec.get("template") or {}
    yield from check_template(template, f"{path}.template")
    policy, where = (template.get("spec") or {}).get("restartPolicy", "Always"), f"{path}.template.spec.restartPolicy"
    if policy == "Always":
        yield Cause.required(where, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield Cause.unsupported(where, quoted(policy), ("OnFailure", "Never"))


_INDEXES = re.compile(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*", re.ASCII)


def _success(rule: Object, path: str, completions: int) -> Iterator[Cause]:
    """The indexes that make a job succeed: increasing, and such as it has."""
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        yield Cause.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    yield from check_negative(count, f"{path}.succeededCount")
    if indexes is None:
        return
    where, shown = f"{path}.succeededIndexes", quoted(indexes)
    if not _INDEXES.fullmatch(indexes):
        yield Cause.bad(where, shown, "error parsing succeededIndexes: cannot convert string to integer for index")
        return
    numbers = [int(number) for number in re.split("[-,]", indexes)]
    if numbers != sorted(set(numbers)):
        yield Cause.bad(where, shown, "error parsing succeededIndexes: non-increasing order")
    if numbers[-1] >= completions:
        yield Cause.bad(where, shown, f"error parsing succeededIndexes: too large index: {quoted(str(numbers[-1]))}")


def check_job(obj: Object) -> Iterator[Cause]:
    yield from _job_spec(spec_of(obj), "spec")


def check_cron_job(obj: Object) -> Iterator[Cause]:
    spec, name = spec_of(obj), obj["metadata"].get("name", "")
    yield from _schedule(str(spec.get("schedule", "")))
    yield from _time_zone(spec.get("timeZone"))
    yield from _counts(spec, "startingDeadlineSeconds")
    yield from check_choice(
        spec.get("concurrencyPolicy", "Allow"), "spec.concurrencyPolicy", ("Allow", "Forbid", "Replace")
    )
    yield from _counts(spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    yield from _job_spec(job, "spec.jobTemplate.spec")
    if len(name) > _LONGEST_CRON_NAME:
        yield Cause.bad("metadata.name", quoted(name), f"must be no more than {_LONGEST_CRON_NAME} characters")


_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


def _schedule(schedule: str) -> Iterator[Cause]:
    fields = schedule.split()
    if not schedule:
        yield Cause.required("spec.schedule")
    elif schedule.startswith("@"):
        return
    elif len(fields) != 5:
        detail = f"expected exactly 5 fields, found {len(fields)}: [{schedule}]"
        yield Cause.bad("spec.schedule", quoted(schedule), detail)
    else:
        for field, (least, most) in zip(fields, _FIELDS, strict=True):
            if field.isdecimal() and not least <= int(field) <= most:
                low = int(field) < least
                side, bound = ("beginning", least) if low else ("end", most)
                how = f"{side} of range ({int(field)}) {'below minimum' if low else 'above maximum'} ({bound}): {field}"
                yield Cause.bad("spec.schedule", quoted(schedule), how)
                return


def _time_zone(zone: str | None) -> Iterator[Cause]:
    if zone is None:
        return
    if not zone:
        yield Cause.bad("spec.timeZone", quoted(""), "timeZone must be nil or non-empty string")
        return
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        yield Cause.bad("spec.timeZone", quoted(zone), f"unknown time zone {zone}")


def check_budget(obj: Object) -> Iterator[Cause]:
    spec = spec_of(obj)
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown = "policy.PodDisruptionBudgetSpec{}"
        yield Cause.bad("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        yield from _share(spec.get(name), f"spec.{name}")
        yield from _at_most_all(spec.get(name), f"spec.{name}")
    yield from check_label_selector(spec.get("selector"), "spec.selector")
    policies = ("AlwaysAllow", "IfHealthyBudget")
    yield from check_choice(
        spec.get("unhealthyPodEvictionPolicy"), "spec.unhealthyPodEvictionPolicy", policies, needed=False
    )
