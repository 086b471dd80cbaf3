"""What a PodDisruptionBudget allows, computed from the pods that it covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["budget_status", "is_ready"]

Object = Mapping[str, Any]


def is_ready(pod: Object) -> bool:
    """Whether the pod's ``Ready`` condition holds."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def budget_status(budget: Object, pods: Iterable[Object]) -> dict[str, Any]:
    """The counts of the budget's status; ``pods`` are those that its selector chooses.

    The pods there are count as those expected, which is exact once their controllers are done.
    """
    spec = budget.get("spec") or {}
    covered = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
    expected = len(covered)
    healthy = sum(is_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in covered)
    most = spec.get("maxUnavailable")
    desired = (
        _share(spec.get("minAvailable", 0), expected) if most is None else max(expected - _share(most, expected), 0)
    )
    return {
        "observedGeneration": budget["metadata"].get("generation", 0),
        "disruptionsAllowed": max(healthy - desired, 0) if expected else 0,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
    }


def _share(amount: Any, total: int) -> int:
    """A number of pods, or a percentage of them, rounded up as the disruption controller does."""
    if isinstance(amount, str) and amount.endswith("%"):
        return -(-int(amount[:-1]) * total // 100)
    return int(amount)
