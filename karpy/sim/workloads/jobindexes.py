"""Jobs whose pods are numbered: which numbers have failed for good, and when enough of them have succeeded.

Source: the Job controller of Kubernetes 1.31.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karpy.kube.client import RawObject
from karpy.sim.workloads import jobrules
from karpy.sim.workloads.jobrules import Round, Verdict

__all__ = [
    "FAILURES",
    "failed_indexes",
    "failures_before",
    "has_own_limits",
    "lost_before",
    "verdict_on_failures",
    "verdict_on_successes",
]

FAILURES = "batch.kubernetes.io/job-index-failure-count"
"""How often the pods of an index had failed before this one was made."""
_FAILED = Verdict("Failed", "FailedIndexes", "Job has failed indexes")
_TOO_MANY = Verdict(
    "Failed", "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
)


def has_own_limits(job: RawObject) -> bool:
    """Whether failures count for each index by itself."""
    return job["spec"].get("backoffLimitPerIndex") is not None


def _count(pod: RawObject) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(FAILURES, "")
    return int(text) if text.isdecimal() else 0


def failed_indexes(job: RawObject, failures: Iterable[RawObject]) -> set[int]:
    """The indexes whose pods have failed once too often, or in a way that is final for an index."""
    if not has_own_limits(job):
        return set()
    limit, found = int(job["spec"]["backoffLimitPerIndex"]), set()
    for pod in failures:
        index = jobrules.index_of(pod)
        if index is not None and (_count(pod) >= limit or jobrules.is_final_for_index(job, pod)):
            found.add(index)
    return found


def failures_before(job: RawObject, index: int, pods: Iterable[RawObject]) -> int:
    """How often pods of an index have failed."""
    counts = [
        _count(pod) + (jobrules.has_failed(job, pod) and not jobrules.is_ignored(job, pod))
        for pod in pods
        if jobrules.index_of(pod) == index
    ]
    return max(counts, default=0)


def verdict_on_failures(state: Round) -> Verdict | None:
    """The end of a job of which too many indexes, or all that are left, have failed."""
    spec, lost = state.job["spec"], len(state.lost)
    most = spec.get("maxFailedIndexes")
    if most is not None and lost > int(most):
        return _TOO_MANY
    if lost and lost + len(state.done) >= int(spec["completions"]):
        return _FAILED
    return None


def verdict_on_successes(state: Round) -> Verdict | None:
    """The end of a job of which enough indexes have succeeded by its own policy."""
    rules = (state.job["spec"].get("successPolicy") or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        if _is_met(rule, state.done):
            return Verdict("Complete", "SuccessPolicy", f"Matched rules at index {number}")
    return None


def _is_met(rule: Mapping[str, Any], done: set[int]) -> bool:
    named, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    chosen = done if named is None else done & jobrules.indexes_of(named)
    if count is not None:
        return len(chosen) >= int(count)
    return named is not None and chosen == jobrules.indexes_of(named)


def lost_before(job: RawObject) -> set[int]:
    """The indexes that had failed when the status was written."""
    return jobrules.indexes_of((job.get("status") or {}).get("failedIndexes") or "")
