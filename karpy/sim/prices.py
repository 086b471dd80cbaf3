"""Prices that move: a walk for each offering, and changes by plan."""

from __future__ import annotations

import attrs

from karpy.sim.terse import Terse, amount, positive
from karpy.sim.where import Where

__all__ = ["PriceChange", "PriceWalk"]


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
