"""When may a node be looked at for disruption? So long after its last pod came or went (core specification 4.10)."""

from __future__ import annotations

from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool

__all__ = ["consolidatable_in"]


def consolidatable_in(claim: NodeClaim, pool: NodePool | None, *, now: float) -> float | None:
    """Seconds until the claim is consolidatable: 0 when it is, None when it never will be as things are."""
    if pool is None or pool.is_static or pool.consolidate_after_s is None or claim.quiet_since is None:
        return None
    return max(0.0, claim.quiet_since + pool.consolidate_after_s - now)
