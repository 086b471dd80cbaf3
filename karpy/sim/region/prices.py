"""Prices that move: a walk for each offering, and changes by plan.

The price at any time is worked out from the seed and the time alone. So nothing need be done as time passes, and it does not
matter who asks, or when.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import attrs

from karpy.cloud.instancetype import Price, is_price
from karpy.sim.region.terse import Terse, amount, positive
from karpy.sim.region.where import OfferingKey, Where

__all__ = ["PriceChange", "PriceWalk", "Prices", "wandering"]


@attrs.frozen(repr=False)
class PriceWalk(Terse):
    """Prices that wander about the list price and come back to it. Each offering goes its own way."""

    where: Where = Where(capacity_type="spot")
    swing: float = attrs.field(default=0.3, validator=amount)
    """The furthest that it goes: with 0.25 between four fifths and five fourths of the list price."""
    every_s: float = attrs.field(default=300.0, validator=positive)
    """How often the cloud charges a new price."""
    returns_s: float = attrs.field(default=6 * 3600.0, validator=positive)
    """After about so long a price has forgotten where it was."""
    listed_every_s: float = attrs.field(default=3600.0, validator=positive)
    """How often the provider looks prices up; in between its list shows what it saw."""


@attrs.frozen(repr=False)
class PriceChange(Terse):
    """From a time on offerings cost so many times their list price. The provider's list shows it at once.

    A factor of 0, or None, is a hole in the list: a price of zero, or none at all. What is charged stays as it was.
    """

    at_s: float = attrs.field(validator=amount)
    factor: float | None = attrs.field(validator=attrs.validators.optional(amount))
    where: Where = Where()


class Prices:
    """What offerings cost, by the price on the list of the cloud's model. Times are seconds since the cloud began."""

    def __init__(self, walk: PriceWalk | None = None, changes: Sequence[PriceChange] = (), seed: int = 0) -> None:
        self._walk = walk
        self._changes = sorted(changes, key=lambda change: change.at_s)
        self._seed = seed
        self._set: dict[OfferingKey, Price] = {}
        self._set_charges: dict[OfferingKey, Price] = {}
        self._sources: dict[OfferingKey, int | None] = {}

    def era(self, at_s: float) -> tuple[int, int] | None:
        """Another one whenever prices on the list may have changed by themselves; None if they never do."""
        walk = self._walk
        if walk is None and not self._changes:
            return None
        seen = 0 if walk is None else math.floor(at_s / walk.listed_every_s)
        return sum(change.at_s <= at_s for change in self._changes), seen

    def listed(self, key: OfferingKey, listed: Price, at_s: float) -> Price:
        """What the provider knows it to cost: NaN for no price."""
        if key in self._set:
            return self._set[key]
        factor = next((change.factor for change in self._in_force(key, at_s)), 1.0)
        if factor is None:
            return math.nan
        if self._walk is not None:
            factor *= self._wandered(self._walk, key, at_s, self._walk.listed_every_s)
        return _times(listed, factor)

    def charged(self, key: OfferingKey, listed: Price, at_s: float) -> Price:
        """What it costs, whatever the provider knows."""
        if key in self._set_charges:
            return self._set_charges[key]
        factor = next((change.factor for change in self._in_force(key, at_s) if change.factor), 1.0)
        if self._walk is not None:
            factor *= self._wandered(self._walk, key, at_s, self._walk.every_s)
        return _times(listed, factor)

    def set(self, key: OfferingKey, price: Price) -> None:
        """From now on it costs this. What is no price is a hole in the list."""
        self._set[key] = price
        if is_price(price):
            self._set_charges[key] = price

    def _in_force(self, key: OfferingKey, at_s: float) -> Sequence[PriceChange]:
        """The changes that have come, the last first."""
        if not self._changes:
            return ()
        return [change for change in reversed(self._changes) if change.at_s <= at_s and key in change.where]

    def _wandered(self, walk: PriceWalk, key: OfferingKey, at_s: float, every_s: float) -> float:
        source = self._sources.get(key, -1)
        if source == -1:
            named = zlib.crc32("/".join((str(self._seed), *key)).encode())
            source = self._sources[key] = named if key in walk.where else None
        if source is None:
            return 1.0
        seen_at = math.floor(at_s / every_s) * every_s
        return float((1 + walk.swing) ** wandering(source, seen_at / walk.returns_s))


def _times(price: Price, factor: float) -> Price:
    return price if factor == 1.0 else round(price * factor, 6)


def wandering(source: int, at: float) -> float:
    """A smooth curve through chance values, one at each whole ``at``, with smaller ripples: from -1 to 1, and 0 in the mean.

    >>> [round(wandering(7, at / 4), 2) for at in range(5)] == [round(wandering(7, at / 4), 2) for at in range(5)]
    True
    """
    return 0.75 * _smooth(source, at) + 0.25 * _smooth(source + 1, at * 5)


def _smooth(source: int, at: float) -> float:
    cell = math.floor(at)
    part = at - cell
    before, after = _chance(source, cell), _chance(source, cell + 1)
    return before + (after - before) * part * part * (3 - 2 * part)


_MASK = 2**64 - 1


def _chance(source: int, cell: int) -> float:
    """A number from -1 to 1 that looks as if drawn: the finalizer of SplitMix64 over both."""
    mixed = ((source << 32) + (cell + 1) * 0x9E3779B97F4A7C15) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return (mixed ^ (mixed >> 31)) / 2**63 - 1
