"""What an EC2 instance costs as spot in the offline catalog: 45 to 70 per cent below its list price (synthetic figures)."""

from __future__ import annotations

from typing import Final

from karpy.cloud.spotprice import SyntheticSpot

__all__ = ["SPOT"]

SPOT: Final = SyntheticSpot(least_discount=0.45, discount_range=0.25, zone_spread=0.08)
