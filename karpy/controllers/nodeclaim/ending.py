"""A claim is deleted on karpy's own initiative, and that is counted, whoever decided it."""

from __future__ import annotations

from karpy import labels
from karpy.controllers.shared import Shared
from karpy.metrics import NODECLAIMS_DISRUPTED, PODS_DISRUPTION_INITIATED, spelled
from karpy.objects.nodeclaim import NodeClaim

__all__ = ["end_claim"]

_CONSOLIDATION = frozenset({"empty", "underutilized"})


def end_claim(shared: Shared, claim: NodeClaim, reason: str) -> None:
    """Ask for the claim's end, unless it is ending. ``reason`` is one of core specification 8.1, in small letters, such as
    ``launch_timeout``."""
    if claim.metadata.is_deleting:
        return
    node = shared.state.node_of(claim)
    moved = 0 if node is None else sum(pod.is_reschedulable for pod in shared.state.pods_on(node.name))
    shared.delete_claim(claim)
    told = {
        "reason": reason,
        "nodepool": claim.pool,
        "capacity_type": claim.labels.get(labels.CAPACITY_TYPE, ""),
        "consolidation_policy": _policy(shared, claim) if reason in _CONSOLIDATION else "",
        "termination_mode": _termination_mode(claim.termination_grace_period_s),
    }
    shared.metrics.add(NODECLAIMS_DISRUPTED, **told)
    if moved:
        shared.metrics.add(PODS_DISRUPTION_INITIATED, moved, **told)


def _policy(shared: Shared, claim: NodeClaim) -> str:
    """How the claim's pool consolidates, as metrics spell it."""
    pool = shared.state.pool(claim.pool)
    return "" if pool is None else spelled(pool.consolidation_policy)


def _termination_mode(grace_s: float | None) -> str:
    """How pods leave: at their own pace, by a deadline, or at once."""
    if grace_s is None:
        return "graceful"
    return "eventual" if grace_s > 0 else "forceful"
