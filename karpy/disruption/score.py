"""Is it worth the trouble? What a command saves, held against what it disturbs (core specification 5.9)."""

from __future__ import annotations

import math

import attrs

from karpy.cloud.instancetype import Price

__all__ = ["Score", "Totals", "score"]


@attrs.frozen
class Totals:
    """What all nodes of a pool cost per hour, and what it would cost to disrupt them."""

    cost: Price
    disruption: float


def score(savings: Price, disruption: float, totals: Totals | None) -> float:
    """The part of the pool's cost that is saved, for each part of all disruption there that it takes.

    Nothing saved is nothing, however little it disturbs. Savings that disturb nobody are beyond measure. Where nothing is known
    of the pool, or nothing there costs anything, nothing is approved of.

    >>> score(7.26, 3.75, Totals(cost=58.08, disruption=100.0))
    3.3333333333333335
    """
    if totals is None or totals.cost <= 0 or totals.disruption <= 0 or not savings > 0:
        return 0.0
    if disruption <= 0:
        return math.inf
    return (savings / totals.cost) / (disruption / totals.disruption)


@attrs.frozen(kw_only=True)
class Score:
    """What one pool of the policy Balanced makes of a command."""

    pool: str
    savings: Price
    disruption: float
    totals: Totals | None
    k: float

    @property
    def value(self) -> float:
        return score(self.savings, self.disruption, self.totals)

    @property
    def threshold(self) -> float:
        return 1.0 / self.k

    @property
    def is_enough(self) -> bool:
        return self.value >= self.threshold

    def __str__(self) -> str:
        """As in the event ConsolidationApproved."""
        sign = ">=" if self.is_enough else "<"
        totals = self.totals or Totals(0.0, 0.0)
        return (
            f"score {self.value:.2f} {sign} threshold {self.threshold:.2f} (k: {self.k:g}, "
            f"savings {_percent(self.savings, totals.cost)}, disruption {_percent(self.disruption, totals.disruption)})"
        )


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole if whole > 0 else 0.0:.1f}%"
