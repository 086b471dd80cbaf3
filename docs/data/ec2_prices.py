"""One clean on-demand price per EC2 type, out of Apache Libcloud's table.

Libcloud read AWS's price list row by row and kept the last row of each type: mostly shared tenancy, but for some types dedicated
tenancy (6 to 10 per cent dearer) and for others capacity reservations (a price of 0). Within a family prices grow with memory,
so the cheapest price per GiB tells which rows are the shared ones. What is set right or filled in that way is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

SAME = 0.015
"""Relative difference within which two prices per GiB are the same price, rounded."""
DEDICATED = 0.12
"""Dedicated tenancy costs at most so much more."""


def clean_prices(raw: Mapping[str, float], memory_mib: Mapping[str, int]) -> tuple[dict[str, float], list[str]]:
    """Prices by type, and the names of those that are derived. Types that no price can be told for are left out.

    A family whose prices are not proportional to memory keeps the prices that it has.
    """
    families: dict[str, list[str]] = defaultdict(list)
    for name in memory_mib:
        families[name.partition(".")[0]].append(name)
    prices: dict[str, float] = {}
    derived: list[str] = []
    for names in families.values():
        known = {name: raw[name] for name in names if raw.get(name, 0.0) > 0}
        unit = _unit_price(known, memory_mib)
        for name in names:
            if unit is None:
                prices.update({name: known[name]} if name in known else {})
            elif name in known and known[name] <= unit * memory_mib[name] * (1 + SAME):
                prices[name] = known[name]
            else:
                prices[name] = round(unit * memory_mib[name], 5)
                derived.append(name)
    return prices, sorted(derived)


def _unit_price(known: Mapping[str, float], memory_mib: Mapping[str, int]) -> float | None:
    """Dollars per MiB and hour of a family with proportional prices, or None.

    The least price per MiB must be borne out by a second size.
    """
    units = sorted((price / memory_mib[name], name) for name, price in known.items())
    if len(units) < 2:
        return None
    least = units[0][0]
    if units[-1][0] > least * (1 + DEDICATED) or units[1][0] > least * (1 + SAME):
        return None
    # the largest size carries the price with the most digits
    return max((memory_mib[name], unit) for unit, name in units if unit <= least * (1 + SAME))[1]
