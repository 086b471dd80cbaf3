"""How long may each step of coming up take? (core specification 4.4)

Time runs from transitions of conditions, by the clock that noted them: they survive a restart, and the API server's clock, which
wrote the claim's creation time, may be another.
"""

from __future__ import annotations

import attrs

from karpy.errors import InvalidObject
from karpy.lifecycle.step import GiveUp
from karpy.objects.nodeclaim import LAUNCHED, NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.timelimits import LAUNCH_TIMEOUT, REGISTRATION_TIMEOUT, time_limit
from karpy.settings import Settings

__all__ = ["TimeLimits", "launch_overdue", "registration_left_s", "registration_overdue", "time_limits"]


@attrs.frozen
class TimeLimits:
    """In seconds: until the cloud has given a machine, and from then until its node has joined."""

    launch_s: float
    registration_s: float


def time_limits(pool: NodePool | None, settings: Settings) -> TimeLimits:
    """What the pool says, and else the settings. What it says wrongly does not count; its condition tells of that."""
    return TimeLimits(
        _said(pool, LAUNCH_TIMEOUT) or settings.launch_timeout_s,
        _said(pool, REGISTRATION_TIMEOUT) or settings.registration_timeout_s,
    )


def _said(pool: NodePool | None, key: str) -> float | None:
    try:
        return None if pool is None else time_limit(pool.metadata.annotations or {}, key)
    except InvalidObject:
        return None


def launch_overdue(claim: NodeClaim, limits: TimeLimits, now: float) -> GiveUp | None:
    """Whether launches have failed for too long: from the first one that did."""
    failed = claim.condition(LAUNCHED)
    if failed is None or failed.since + limits.launch_s > now:
        return None
    return GiveUp("launch_timeout", limits.launch_s)


def registration_left_s(claim: NodeClaim, limits: TimeLimits, now: float) -> float:
    """Seconds until the node must have joined; negative when that is over."""
    launched = claim.condition(LAUNCHED)
    since = launched.since if launched is not None else claim.metadata.created
    return since + limits.registration_s - now


def registration_overdue(claim: NodeClaim, limits: TimeLimits, now: float) -> GiveUp | None:
    """Whether the node has had its time to join."""
    if registration_left_s(claim, limits, now) > 0:
        return None
    return GiveUp("registration_timeout", limits.registration_s)
