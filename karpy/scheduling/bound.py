"""What a plan could cost at the very least: a bound to hold a packing against.

Whatever machines are bought, they must together hold what the pods ask for. So the cheapest unit price of each resource, times how
much of it is needed, bounds the price from below; the dearest resource counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from karpy.cloud.instancetype import Price
from karpy.scheduling.claims import Template

__all__ = ["price_bound"]


def price_bound(needed: Mapping[str, int], templates: Iterable[Template]) -> Price:
    """Dollars per hour below which no machines of these pools hold ``needed``. Zero when nothing can be said."""
    cheapest: dict[str, Price] = {}
    for template in templates:
        columns = template.columns
        for priced, bit in columns.choice(template.requirements).by_price:
            if not bit & template.base.mask or math.isinf(priced.price):
                continue
            room = columns.types[bit.bit_length() - 1].allocatable
            for name in needed:
                if room.get(name, 0) > 0:
                    per_unit = priced.price / room[name]
                    cheapest[name] = min(per_unit, cheapest.get(name, per_unit))
    return max((amount * cheapest.get(name, 0.0) for name, amount in needed.items()), default=0.0)
