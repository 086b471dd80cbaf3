"""When a pool fails, and fails again, it rests: nothing is launched from it for a while, then one machine at a time is tried.

All of it is one condition of the pool, so that a restart forgets nothing: False while failures in a row are counted, True while the
pool rests, Unknown while a machine is tried. A machine that works takes the condition away.
"""

from __future__ import annotations

import re

import attrs

from karpy.clock import format_time
from karpy.errors import InvalidObject
from karpy.objects.endurance import registration_failures_allowed
from karpy.objects.meta import Condition
from karpy.objects.nodepool import RESTING, NodePool
from karpy.settings import Settings

__all__ = [
    "CAPACITY",
    "Endurance",
    "after_failure",
    "after_rest",
    "is_trying",
    "patience_with",
    "rests_for",
]

CAPACITY = "InsufficientCapacity"
"""The reason of a static pool's rest whose machines are not to be had."""

_LONGEST_REST_S = 4 * 3600.0
_COUNTED = re.compile(r"(\d+) in a row failed")
_MOST_DOUBLINGS = 30


@attrs.frozen
class Endurance:
    """``allowed`` failures in a row before the pool rests (0: it never does); the first rest, each twice as long as the one before,
    and the longest."""

    allowed: int
    first_s: float
    longest_s: float

    def rest_s(self, failures: int) -> float:
        """How long the pool rests after so many failures in a row.

        >>> [Endurance(3, 60.0, 200.0).rest_s(failures) for failures in (3, 4, 5)]
        [60.0, 120.0, 200.0]
        """
        doublings = min(max(failures - self.allowed, 0), _MOST_DOUBLINGS)
        return min(self.first_s * 2.0**doublings, self.longest_s)


_FOR_CAPACITY = Endurance(1, 30.0, 600.0)


def patience_with(pool: NodePool, settings: Settings, reason: str) -> Endurance:
    """How much is taken from a pool whose machines fail for this reason. An annotation that cannot be read counts as none."""
    if reason == CAPACITY:
        return _FOR_CAPACITY
    try:
        allowed = registration_failures_allowed(pool.metadata.annotations or {})
    except InvalidObject:
        allowed = None
    if allowed is None:
        allowed = settings.registration_failures_allowed
    return Endurance(allowed, settings.registration_rest_s, max(settings.registration_rest_s, _LONGEST_REST_S))


def after_failure(
    known: Condition | None, patience: Endurance, *, reason: str, why: str, began: float, now: float
) -> Condition | None:
    """What the pool says after one more machine failed that was begun at ``began``; None: what it said before.

    Machines that were begun before the pool went to rest, or before it tries again, fail for what is known already. What is not to
    be had, and what was had and failed, are counted apart.
    """
    is_old_news = known is not None and known.status != "False" and (known.is_true or began < known.since)
    if not patience.allowed or is_old_news:
        return None
    is_alike = known is not None and (known.reason == CAPACITY) == (reason == CAPACITY)
    failures = _failures(known) + 1 if is_alike else 1
    if failures < patience.allowed:
        return Condition(RESTING, "False", reason, _told(failures, f"after {patience.allowed} the pool rests", why))
    until = format_time(now + patience.rest_s(failures))
    return Condition(RESTING, "True", reason, _told(failures, f"nothing is launched from the pool until {until}", why))


def rests_for(known: Condition | None, patience: Endurance, *, now: float) -> float | None:
    """Seconds until the rest is over; None where the pool does not rest. A clock that jumped back makes no rest longer."""
    if known is None or not known.is_true:
        return None
    whole = patience.rest_s(_failures(known)) if patience.allowed else 0.0
    return min(max(known.since + whole - now, 0.0), whole)


def after_rest(known: Condition) -> Condition:
    """What the pool says when its rest is over."""
    why = (known.message or "").partition(": ")[2]
    told = _told(_failures(known), "one machine at a time is tried", why)
    return Condition(RESTING, "Unknown", known.reason, told)


def is_trying(known: Condition | None) -> bool:
    """Whether the pool's rest is over, and no machine has worked since."""
    return known is not None and known.status == "Unknown"


def _told(failures: int, what: str, why: str) -> str:
    return f"{failures} in a row failed, {what}: {why}"


def _failures(known: Condition | None) -> int:
    """How many there were; a condition that somebody wrote by hand counts as one."""
    counted = _COUNTED.search(known.message or "") if known is not None else None
    if counted is None:
        return 0 if known is None else 1
    return int(counted[1])
