"""The catalog that ships with the package: instance types, offerings and list prices of one region, dated.

``data/NOTICE.md`` says where the figures come from; ``docs/data/build_catalogs.py`` wrote them.
"""

from __future__ import annotations

import lzma
from importlib.resources import files
from typing import Final

import msgspec

from karpy.cloud.instancetype import InstanceTypes
from karpy_aws.descriptions import TypeDescription
from karpy_aws.instancetypes import RequirementPool, build_instance_type
from karpy_aws.offerings import OfferingTable

__all__ = ["Catalog", "build_instance_types", "load_catalog"]

REGION: Final = "us-west-2"
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
    """The types of a catalog, sorted by name as the file is."""
    table, pool = OfferingTable(catalog.zone_ids), RequirementPool()
    return InstanceTypes(
        build_instance_type(
            description,
            table.offerings(
                description.instance_type.partition(".")[0],
                catalog.zones[description.instance_type],
                description.supported_usage_classes,
                catalog.prices[description.instance_type],
            ),
            region=catalog.region,
            pool=pool,
        )
        for description in catalog.types
    )
