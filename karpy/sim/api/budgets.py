"""What a PodDisruptionBudget allows, computed from the pods that it covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karpy.kube.client import RawObject
from karpy.sim.podfacts import is_deleting, is_finished, is_ready

__all__ = ["budget_status"]


def budget_status(budget: Mapping[str, Any], pods: Iterable[RawObject]) -> dict[str, Any]:
    """The counts of the budget's status; ``pods`` are those that its selector chooses.

    The pods there are count as those expected, which is exact once their controllers are done.
    """
    spec = budget.get("spec") or {}
    covered = [pod for pod in pods if not is_finished(pod)]
    expected = len(covered)
    healthy = sum(is_ready(pod) and not is_deleting(pod) for pod in covered)
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
