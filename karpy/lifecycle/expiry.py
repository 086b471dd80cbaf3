"""When is a machine too old? (core specification 4.8)

Nobody may be older than its claim says, since people rely on that for security. But machines that were born together must not die
together, so each may go somewhat earlier, by a share of its own that is always the same.
"""

from __future__ import annotations

import hashlib

import attrs

from karpy.errors import InvalidObject
from karpy.objects.lifespan import expiry_spread
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool

__all__ = ["Expiry", "expiry_of", "spread_of"]


@attrs.frozen
class Expiry:
    """From ``due`` on the machine may go when its pool can spare it; at ``deadline`` it goes whatever else there is."""

    due: float
    deadline: float


def expiry_of(claim: NodeClaim, spread: float) -> Expiry | None:
    """When the claim expires, or None when it never does. ``spread`` is the part of its life that it may lose at the most."""
    life = claim.expire_after_s
    if life is None:
        return None
    deadline = claim.metadata.created + life
    return Expiry(deadline - life * spread * _share(claim.metadata.uid or claim.name), deadline)


def spread_of(pool: NodePool | None, default: float) -> float:
    """What the pool asks for, or else the default. What it asks for wrongly does not count; its condition tells of that."""
    try:
        asked_for = None if pool is None else expiry_spread(pool.metadata.annotations or {})
    except InvalidObject:
        asked_for = None
    return default if asked_for is None else asked_for


def _share(text: str) -> float:
    """A number from 0 up to 1 that belongs to this text, and is the same in every process."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
