"""What ran out: offerings, whole capacity types and subnets that EC2 had nothing of, remembered for a few minutes.

`Shortages` is the picture at one moment, for those who decide; `UnavailableOfferings` is the memory that makes it.
"""

from __future__ import annotations

import threading
from typing import Final, TypeVar

import attrs

__all__ = ["OfferingKey", "Shortages", "UnavailableOfferings"]

T = TypeVar("T")

REMEMBERED_S: Final = 180.0


@attrs.frozen(cache_hash=True)
class OfferingKey:
    """One way to buy an instance type. What a launch into a placement group found says nothing of others.

    ``partition`` narrows ``group``; 0 stands for the whole group.
    """

    capacity_type: str
    instance_type: str
    zone: str
    group: str = ""
    partition: int = 0

    @property
    def wider(self) -> tuple[OfferingKey, ...]:
        """Those that it is part of, itself first: when one of them ran out, so did it."""
        found = [self]
        if self.partition:
            found.append(attrs.evolve(self, partition=0))
        if self.group:
            found.append(attrs.evolve(self, group="", partition=0))
        return tuple(found)


@attrs.frozen(kw_only=True)
class Shortages:
    """All that counts as run out now. The same object while nothing changes."""

    offerings: frozenset[OfferingKey] = frozenset()
    capacity_types: frozenset[str] = frozenset()
    subnets: frozenset[str] = frozenset()
    instance_types: frozenset[str] = attrs.field(
        init=False,
        eq=False,
        default=attrs.Factory(lambda self: frozenset(key.instance_type for key in self.offerings), takes_self=True),
    )
    """The types that any offering ran out of."""

    def has(self, key: OfferingKey) -> bool:
        """Whether the offering ran out, or one that it is part of."""
        return any(each in self.offerings for each in key.wider)


class UnavailableOfferings:
    """The memory. Marking again prolongs. May be used from several threads."""

    def __init__(self, remembered_s: float = REMEMBERED_S) -> None:
        self._remembered_s = remembered_s
        self._lock = threading.Lock()
        self._offerings: dict[OfferingKey, float] = {}
        self._capacity_types: dict[str, float] = {}
        self._subnets: dict[str, float] = {}
        self._reasons: dict[OfferingKey, str] = {}
        self._now = Shortages()
        self._is_stale = False

    def mark(self, key: OfferingKey, now: float, reason: str = "") -> None:
        """EC2 had none. ``reason`` is what it said."""
        self._mark(self._offerings, key, now)
        self._reasons[key] = reason

    def mark_capacity_type(self, capacity_type: str, now: float) -> None:
        """Nothing can be had of it whatever the type, such as spot without the role that spot needs."""
        self._mark(self._capacity_types, capacity_type, now)

    def mark_subnet(self, subnet: str, now: float) -> None:
        """It has no free addresses."""
        self._mark(self._subnets, subnet, now)

    def at(self, now: float) -> Shortages:
        """What is run out now; what is over is forgotten. Called for every solve: must be cheap."""
        with self._lock:
            if _forget(self._offerings, now) + _forget(self._capacity_types, now) + _forget(self._subnets, now):
                self._reasons = {key: reason for key, reason in self._reasons.items() if key in self._offerings}
                self._is_stale = True
            if self._is_stale:
                self._now, self._is_stale = self._picture(), False
            return self._now

    def reason(self, key: OfferingKey) -> str:
        """What EC2 said when it was marked last; empty when it is not marked."""
        return self._reasons.get(key, "")

    def flush(self) -> None:
        """Forget everything."""
        with self._lock:
            for marks in (self._offerings, self._capacity_types, self._subnets, self._reasons):
                marks.clear()
            self._is_stale = True

    def _mark(self, marks: dict[T, float], what: T, now: float) -> None:
        with self._lock:
            self._is_stale = self._is_stale or what not in marks
            marks[what] = now + self._remembered_s

    def _picture(self) -> Shortages:
        return Shortages(
            offerings=frozenset(self._offerings),
            capacity_types=frozenset(self._capacity_types),
            subnets=frozenset(self._subnets),
        )


def _forget(marks: dict[T, float], now: float) -> int:
    """Drop the marks that are over, and say how many there were."""
    over = [what for what, until in marks.items() if until <= now]
    for what in over:
        del marks[what]
    return len(over)
