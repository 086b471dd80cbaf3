"""The catalog that ships with the package: instance types, offerings and list prices of one region, dated.

``data/NOTICE.md`` says where the figures come from; ``docs/data/build_catalogs.py`` wrote them.
"""

from __future__ import annotations

import lzma
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import attrs
import msgspec

from karpy import labels as core
from karpy.cloud.instancetype import InstanceTypes, Price
from karpy.cloud.spotprice import SyntheticSpot
from karpy_aws.descriptions import TypeDescription
from karpy_aws.families import FAMILIES
from karpy_aws.instancetypes import build_instance_type
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects.status import Subnet
from karpy_aws.offerings import OfferingTable
from karpy_aws.typelabels import RequirementPool

__all__ = ["Catalog", "build_instance_types", "load_catalog"]

REGION: Final = "us-west-2"
SPOT: Final = SyntheticSpot(least_discount=0.45, discount_range=0.25, zone_spread=0.08)
"""Of this catalog: 45 to 70 per cent below the list price (synthetic figures)."""

_FILE: Final = f"ec2-{REGION}.json.xz"


class Catalog(msgspec.Struct, frozen=True, kw_only=True):
    """What the data file holds. Prices are US dollars per hour, on demand, Linux, shared tenancy."""

    source: str
    licence: str
    types_as_of: str
    prices_as_of: str
    region: str
    zone_ids: dict[str, str]
    types: tuple[TypeDescription, ...]
    zones: dict[str, tuple[str, ...]]
    """Instance type → the zones that have it."""
    prices: dict[str, float]
    derived_prices: tuple[str, ...]
    """Types whose price was told from the other sizes of their family."""


def load_catalog() -> Catalog:
    """Read the shipped data file."""
    packed = files("karpy_aws").joinpath("data", _FILE).read_bytes()
    return msgspec.json.decode(lzma.decompress(packed), type=Catalog)


def build_instance_types(catalog: Catalog) -> InstanceTypes:
    """The types of a catalog as a plain node class of family AL2 would get them, in the catalog's order."""
    subnets = tuple(Subnet(f"subnet-{zone}", zone, zone_id) for zone, zone_id in catalog.zone_ids.items())
    setup, pool = NodeSetup(family=FAMILIES["AL2"], subnets=subnets), RequirementPool()
    table = OfferingTable(setup, catalog.zone_ids, ListPrices(catalog.prices))
    return InstanceTypes(
        build_instance_type(
            each,
            setup,
            region=catalog.region,
            zones=catalog.zones[each.instance_type],
            pool=pool,
            offerings=[one for one in table.offerings(each, catalog.zones[each.instance_type]) if one.available],
        )
        for each in catalog.types
    )


@attrs.frozen
class ListPrices:
    """On-demand prices, and synthetic ones for spot."""

    on_demand: Mapping[str, Price]

    def price(self, instance_type: str, zone: str, capacity_type: str) -> Price | None:
        price = self.on_demand.get(instance_type)
        if price is None or capacity_type != core.SPOT:
            return price
        return SPOT.price(price, instance_type.partition(".")[0], zone)
