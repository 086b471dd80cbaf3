"""When may a node be looked at for disruption? So long after its last pod came or went (core specification 4.10)."""

from __future__ import annotations

from karpy.clock import parse_time
from karpy.objects.nodeclaim import INITIALIZED, NodeClaim
from karpy.objects.nodepool import NodePool

__all__ = ["consolidatable_in"]


def consolidatable_in(claim: NodeClaim, pool: NodePool | None, *, now: float) -> float | None:
    """Seconds until the claim is consolidatable: 0 when it is, None when it never will be as things are."""
    initialized = claim.condition(INITIALIZED)
    if pool is None or pool.is_static or pool.consolidate_after_s is None:
        return None
    if initialized is None or not initialized.is_true:
        return None
    quiet_since = parse_time(claim.last_pod_event) if claim.last_pod_event else initialized.since
    return max(0.0, quiet_since + pool.consolidate_after_s - now)
