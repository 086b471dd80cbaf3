"""What a cloud is short of, and when."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from karpy.sim.region.terse import Terse, amount, share
from karpy.sim.region.where import OfferingKey, Where

__all__ = ["Shortage", "Stock"]


@attrs.frozen(repr=False)
class Shortage(Terse):
    """Offerings that are not to be had: from a time until another, all the time or for a part of each period.

    >>> wave = Shortage(Where(zone="sim-1a"), from_s=100.0, period_s=60.0, duty=0.5)
    >>> wave.holds(99), wave.holds(100), wave.holds(130), wave.holds(160)
    (False, True, False, True)
    """

    where: Where = Where()
    from_s: float = attrs.field(default=0.0, validator=amount)
    until_s: float | None = None
    """None: for ever."""
    period_s: float = attrs.field(default=0.0, validator=amount)
    """Of a square wave; 0 for none."""
    duty: float = attrs.field(default=0.5, validator=share)
    """The share of each period, from its beginning, in which there is nothing."""
    phase_s: float = attrs.field(default=0.0, validator=amount)
    """How far into a period the wave begins."""

    def holds(self, at_s: float) -> bool:
        """Whether there is nothing at this time."""
        if at_s < self.from_s or (self.until_s is not None and at_s >= self.until_s):
            return False
        if not self.period_s:
            return True
        return (at_s - self.from_s + self.phase_s) % self.period_s < self.duty * self.period_s


class Stock:
    """What is there to be had: all but the shortages of a plan, and those that somebody has begun."""

    def __init__(self, shortages: Sequence[Shortage] = ()) -> None:
        self._planned = tuple(shortages)
        self._sold_out: dict[Where, None] = {}

    def has(self, key: OfferingKey, at_s: float) -> bool:
        if any(key in where for where in self._sold_out):
            return False
        return not any(shortage.holds(at_s) and key in shortage.where for shortage in self._planned)

    def sell_out(self, where: Where) -> None:
        self._sold_out[where] = None

    def restock(self, where: Where) -> None:
        """End what was begun with just these words."""
        self._sold_out.pop(where, None)

    def clear_up(self) -> None:
        """Forget the plan."""
        self._planned = ()
