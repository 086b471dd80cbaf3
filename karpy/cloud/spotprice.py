"""A made-up but steady spot price, for catalogs that ship without a history of spot prices.

No such history is free to ship, so offline catalogs price spot by rule: each family of machines has a discount of its own, and
each family and zone a few per cent about it. The figures are synthetic; only their order of size is real.
"""

from __future__ import annotations

import zlib

import attrs

from karpy.cloud.instancetype import Price

__all__ = ["SyntheticSpot"]


@attrs.frozen
class SyntheticSpot:
    """The spot market of one cloud, as three shares of 1: the numbers differ by cloud, the rule does not.

    >>> SyntheticSpot(least_discount=0.5, discount_range=0.0, zone_spread=0.0).price(0.1, "m5", "zone-a")
    0.05
    """

    least_discount: float
    discount_range: float
    """Discounts lie in ``least_discount`` to ``least_discount + discount_range``."""
    zone_spread: float
    """How far the dearest and the cheapest zone of a family can be apart."""

    def price(self, on_demand: Price, family: str, zone: str) -> Price:
        """The same for the same names, in the unit of ``on_demand``, to six decimals."""
        discount = self.least_discount + self.discount_range * _share(family)
        about = 1 + self.zone_spread * (_share(f"{family}/{zone}") - 0.5)
        return round(on_demand * (1 - discount) * about, 6)


def _share(text: str) -> float:
    """A number in [0, 1) that depends on ``text`` alone."""
    return zlib.crc32(text.encode()) / 2**32
