"""What a PodDisruptionBudget allows, computed from the pods that it covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karpy.kube.client import RawObject
from karpy.sim.podfacts import is_deleting, is_finished, is_ready
from karpy.sim.portions import resolve

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
        resolve(spec.get("minAvailable", 0), expected, up=True)
        if most is None
        else max(expected - resolve(most, expected, up=True), 0)
    )
    return {
        "observedGeneration": budget["metadata"].get("generation", 0),
        "disruptionsAllowed": max(healthy - desired, 0) if expected else 0,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
    }
