"""What an Azure size costs as spot in the offline catalog: 55 to 85 per cent below its list price (synthetic figures)."""

from __future__ import annotations

from typing import Final

from karpy.cloud.spotprice import SyntheticSpot

__all__ = ["SPOT"]

SPOT: Final = SyntheticSpot(least_discount=0.55, discount_range=0.3, zone_spread=0.06)
