"""Pods that will never leave a node unless somebody changes something: who, and what holds them (core specification 4.12).

A budget that has spent what it allows is no such thing: it will allow more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

from karpy import labels
from karpy.objects.pod import Pod
from karpy.objects.workloads import PodDisruptionBudget

__all__ = ["BLOCKED", "Blocker", "blocker_of"]

BLOCKED = "Blocked"
"""The reason of a condition that will not change by itself."""


@attrs.frozen
class Blocker:
    """One pod that cannot leave, and why. ``budgets`` are those that hold it, if budgets do."""

    pod: Pod
    why: str
    budgets: tuple[PodDisruptionBudget, ...] = ()

    def __str__(self) -> str:
        owner = self.pod.metadata.controller
        whose = f" of {owner.kind} {owner.name}" if owner is not None else ""
        return f"Pod {self.pod.key}{whose} cannot be evicted: {self.why}"


def blocker_of(pod: Pod, budgets: Sequence[PodDisruptionBudget]) -> Blocker | None:
    """What holds the pod for ever, if anything does; ``budgets`` are those that are about it."""
    if pod.protected_s == math.inf:
        return Blocker(pod, f'it has the "{labels.DO_NOT_DISRUPT}" annotation')
    if len(budgets) > 1:
        names = ", ".join(sorted(budget.metadata.key for budget in budgets))
        return Blocker(pod, f"more than one PodDisruptionBudget is about it ({names})", tuple(budgets))
    closed = next((budget for budget in budgets if budget.never_lets_go(pod)), None)
    if closed is None:
        return None
    return Blocker(pod, f"PodDisruptionBudget {closed.metadata.key} never allows it ({closed.closed_by})", (closed,))
