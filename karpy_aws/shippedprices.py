"""On-demand prices that ship with the package, region by region: what is gone by until AWS has been asked.

``data/NOTICE.md`` says where the figures come from; ``docs/data/build_catalogs.py`` wrote them.
"""

from __future__ import annotations

import functools
import lzma
import statistics
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import attrs
import msgspec

from karpy.clock import parse_time
from karpy.cloud.instancetype import Price

__all__ = ["ShippedPrices", "shipped_prices"]

_FILE: Final = "ec2-prices.json.xz"
_COMMON: Final = "us-east-1"
"""Its prices stand for those that are missing elsewhere: they are in about the same order everywhere."""


@attrs.frozen(kw_only=True)
class ShippedPrices:
    """The prices of ``region``; those of types in ``estimated`` were told from another region's."""

    region: str = ""
    prices: Mapping[str, Price] = attrs.field(factory=dict, repr=False)
    estimated: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    since: float | None = None
    """When they were true."""

    def price(self, instance_type: str) -> Price | None:
        return self.prices.get(instance_type)


class _File(msgspec.Struct, frozen=True):
    """``regions`` holds the prices of each, read when they are asked for."""

    prices_as_of: str
    regions: dict[str, msgspec.Raw]


@functools.cache
def shipped_prices(region: str) -> ShippedPrices:
    """Read the data file for one region.

    Types that it has no price of there cost what they cost in the common region, by as much more as others do. China's prices
    are in another currency, so no other region's stand for them.
    """
    file = msgspec.json.decode(lzma.decompress(files("karpy_aws").joinpath("data", _FILE).read_bytes()), type=_File)
    since = parse_time(f"{file.prices_as_of}T00:00:00Z")
    if region.startswith("cn-") and region not in file.regions:
        return ShippedPrices(region=region, since=since)
    common = _prices(file.regions[_COMMON])
    own = _prices(file.regions[region]) if region in file.regions else {}
    dearer = statistics.median([price / common[name] for name, price in own.items() if name in common] or [1.0])
    filled = {name: round(price * dearer, 6) for name, price in common.items() if name not in own}
    return ShippedPrices(region=region, prices={**filled, **own}, estimated=frozenset(filled), since=since)


def _prices(raw: msgspec.Raw) -> dict[str, Price]:
    return msgspec.json.decode(raw, type=dict[str, float])
