"""The catalog that ships with the package: sizes, zones and list prices of one region, dated.

``data/NOTICE.md`` says where the figures come from; ``docs/data/build_catalogs.py`` wrote them.
"""

from __future__ import annotations

import lzma
from importlib.resources import files
from typing import Final

import msgspec

from karpy.cloud.instancetype import InstanceTypes
from karpy_azure.capabilities import Sku
from karpy_azure.instancetypes import RequirementPool, build_instance_type, is_offered
from karpy_azure.offerings import OfferingTable

__all__ = ["Catalog", "build_instance_types", "load_catalog"]

REGION: Final = "eastus"
_FILE: Final = f"azure-{REGION}.json.xz"


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """One size. ``priced_as`` names the predecessor whose price it bears, where it has none of its own in the source."""

    name: str
    capabilities: dict[str, str]
    price: float
    priced_as: str = ""


class Catalog(msgspec.Struct, frozen=True, kw_only=True):
    """What the data file holds. Prices are US dollars per hour, on demand, Linux."""

    source: str
    licence: str
    prices_as_of: str
    region: str
    zones: tuple[str, ...]
    types: tuple[Size, ...]


def load_catalog() -> Catalog:
    """Read the shipped data file."""
    packed = files("karpy_azure").joinpath("data", _FILE).read_bytes()
    return msgspec.json.decode(lzma.decompress(packed), type=Catalog)


def build_instance_types(catalog: Catalog, cluster: str) -> InstanceTypes:
    """The sizes of a catalog that AKS takes, sorted by name as the file is. ``cluster``: see `build_instance_type`."""
    table, pool = OfferingTable(catalog.zones), RequirementPool()
    skus = ((Sku(size.name, size.capabilities), size.price) for size in catalog.types)
    return InstanceTypes(
        build_instance_type(
            sku,
            table.offerings(sku.parts.series, price, spot=sku.has("LowPriorityCapable")),
            region=catalog.region,
            cluster=cluster,
            pool=pool,
        )
        for sku, price in skus
        if is_offered(sku)
    )
