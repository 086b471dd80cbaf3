"""What the API server fills into workloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from karpy.sim.api.filling.poddefaults import default_template

__all__ = ["Default", "default_cron_job", "default_job", "nothing", "rolling", "with_spec", "workload"]

Object = Mapping[str, Any]


Default = Callable[[Object], Object]


def with_spec(obj: Object, defaults: Mapping[str, Any], changes: Mapping[str, Any]) -> Object:
    """``obj`` with the ``defaults`` that its spec lacks, and with the ``changes``."""
    spec = obj.get("spec") or {}
    missing = {key: value for key, value in defaults.items() if spec.get(key) is None}
    if not missing and all(spec.get(key) is value for key, value in changes.items()) and "spec" in obj:
        return obj
    return {**obj, "spec": {**spec, **missing, **changes}}


def workload(kind: str, defaults: Mapping[str, Any], strategy: Callable[[Object], Mapping[str, Any]]) -> Default:
    """The default of a workload: its spec, its template and its strategy."""

    def default(obj: Object) -> Object:
        spec = obj.get("spec") or {}
        changes = dict(strategy(spec))
        if spec.get("template") is not None:
            changes["template"] = default_template(spec["template"], kind)
        return with_spec(obj, defaults, changes)

    return default


def rolling(key: str, given_by_default: Mapping[str, Any]) -> Callable[[Object], Mapping[str, Any]]:
    """The default of a rolling strategy, which stands in the spec under ``key``."""

    def strategy(spec: Object) -> Mapping[str, Any]:
        wanted = spec.get(key) or {}
        if wanted.get("type", "RollingUpdate") != "RollingUpdate":
            return {}
        given = wanted.get("rollingUpdate") or {}
        if "type" in wanted and all(name in given for name in given_by_default):
            return {}
        return {key: {"type": "RollingUpdate", **wanted, "rollingUpdate": {**given_by_default, **given}}}

    return strategy


def nothing(_spec: Object) -> Mapping[str, Any]:
    """No strategy to default."""
    return {}


_UNLIMITED = 2**31 - 1


def default_job(obj: Object) -> Object:
    """A Job with what the server fills in."""
    spec = obj.get("spec") or {}
    defaults: dict[str, Any] = {
        "backoffLimit": _UNLIMITED if "backoffLimitPerIndex" in spec else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed",
    }
    if "completions" not in spec and "parallelism" not in spec:
        defaults["completions"] = 1
    if "parallelism" not in spec:
        defaults["parallelism"] = 1
    changes: dict[str, Any] = {}
    if spec.get("template") is not None:
        changes["template"] = default_template(spec["template"], "Job")
    return with_spec(obj, defaults, changes)


def default_cron_job(obj: Object) -> Object:
    """A CronJob with what the server fills in."""
    spec = obj.get("spec") or {}
    defaults = {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    changes: dict[str, Any] = {}
    job = spec.get("jobTemplate")
    if job is not None:
        inner = dict(job.get("spec") or {})
        if inner.get("template") is not None:
            inner["template"] = default_template(inner["template"], "CronJob")
        meta = {"creationTimestamp": None, **(job.get("metadata") or {})}
        changes["jobTemplate"] = {**job, "metadata": meta, "spec": inner}
    return with_spec(obj, defaults, changes)
