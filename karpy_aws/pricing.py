"""What EC2 instances cost: a book of prices that answers of AWS are entered into, and the tables that ship for the time before.

An answer that is broken or empty leaves the book as it is, and what one answer does not name keeps its price: an old price is
better than none. Prices are dollars per hour, but yuan in China, where nothing else is paid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

import attrs
import msgspec

from karpy import labels as core
from karpy.cloud.instancetype import Price, is_price
from karpy_aws.shippedprices import ShippedPrices

__all__ = [
    "PriceBook",
    "Prices",
    "on_demand_requests",
    "pricing_region",
    "read_on_demand",
    "read_spot",
    "spot_request",
]

SpotPrices = Mapping[str, Mapping[str, Price]]
"""Instance type → zone → price."""


class Prices(Protocol):
    def price(self, instance_type: str, zone: str, capacity_type: str) -> Price | None:
        """What it costs on demand or as spot; None when that is not known."""
        ...


# Asking


_PRICING_REGIONS: Final = {"ap-": "ap-south-1", "cn-": "cn-northwest-1", "eu-": "eu-central-1"}
_COMMON: Final = {
    "serviceCode": "AmazonEC2",
    "preInstalledSw": "NA",
    "operatingSystem": "Linux",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
_TENANCIES: Final = (
    {"tenancy": "Shared", "productFamily": "Compute Instance"},
    {"tenancy": "Dedicated", "productFamily": "Compute Instance (bare metal)"},
)


def pricing_region(region: str) -> str:
    """Where the price list is served for a region.

    >>> pricing_region("eu-west-1"), pricing_region("us-west-2")
    ('eu-central-1', 'us-east-1')
    """
    return next((home for start, home in _PRICING_REGIONS.items() if region.startswith(start)), "us-east-1")


def has_price_list(region: str, *, isolated: bool) -> bool:
    """Whether GetProducts can be asked: not without a way out of the VPC, and not from GovCloud."""
    return not isolated and not region.startswith("us-gov-")


def on_demand_requests(region: str) -> tuple[dict[str, Any], ...]:
    """What GetProducts is asked for: machines that are shared, then bare metal. Both must answer."""
    return tuple(
        {
            "ServiceCode": "AmazonEC2",
            "MaxResults": 100,
            "Filters": [
                {"Field": field, "Type": "TERM_MATCH", "Value": value}
                for field, value in ({"regionCode": region} | _COMMON | tenancy).items()
            ],
        }
        for tenancy in _TENANCIES
    )


def spot_request(now: str) -> dict[str, Any]:
    """What DescribeSpotPriceHistory is asked for; ``now`` in the API's form gives the latest price of each zone."""
    return {
        "ProductDescriptions": ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"],
        "StartTime": now,
        "MaxResults": 2_000,
    }


# Reading


def read_on_demand(pages: Iterable[Mapping[str, Any]], region: str) -> dict[str, Price]:
    """Instance type → price: all pages of a GetProducts answer. Entries that cannot be read and prices of zero are left out."""
    currency = "CNY" if region.startswith("cn-") else "USD"
    found: dict[str, Price] = {}
    for page in pages:
        for entry in page.get("PriceList", ()):
            name, price = _product(entry, currency)
            if name and price is not None:
                found[name] = price
    return found


class _Dimension(msgspec.Struct, frozen=True, rename="camel"):
    price_per_unit: dict[str, str | float]


class _Term(msgspec.Struct, frozen=True, rename="camel"):
    price_dimensions: dict[str, _Dimension]


class _Terms(msgspec.Struct, frozen=True, rename="pascal"):
    on_demand: dict[str, _Term]


class _Attributes(msgspec.Struct, frozen=True, rename="camel"):
    instance_type: str


class _Product(msgspec.Struct, frozen=True):
    attributes: _Attributes


class _Entry(msgspec.Struct, frozen=True):
    """One element of the price list, as far as karpy reads it: text that is JSON itself."""

    product: _Product
    terms: _Terms


_ENTRY: Final = msgspec.json.Decoder(_Entry)


def _product(text: str, currency: str) -> tuple[str, Price | None]:
    try:
        entry = _ENTRY.decode(text)
    except (msgspec.DecodeError, TypeError):
        return "", None
    price = None
    for term in entry.terms.on_demand.values():
        for dimension in term.price_dimensions.values():
            price = _price(dimension.price_per_unit.get(currency)) or price
    return entry.product.attributes.instance_type, price


def read_spot(pages: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Price]]:
    """Instance type → zone → price: all pages of a DescribeSpotPriceHistory answer; the one that comes last counts."""
    found: dict[str, dict[str, Price]] = {}
    for page in pages:
        for entry in page.get("SpotPriceHistory", ()):
            name, zone, price = entry.get("InstanceType"), entry.get("AvailabilityZone"), _price(entry.get("SpotPrice"))
            if name and zone and price is not None and entry.get("Timestamp") is not None:
                found.setdefault(name, {})[zone] = price
    return found


def _price(text: Any) -> Price | None:
    try:
        price = float(text)
    except (TypeError, ValueError):
        return None
    return price if is_price(price) else None


# Keeping


@attrs.frozen(kw_only=True)
class PriceBook:
    """All that is known of one region's prices. Immutable: entering an answer gives a new book."""

    shipped: ShippedPrices = ShippedPrices()
    on_demand: Mapping[str, Price] = attrs.field(factory=dict)
    spot: SpotPrices = attrs.field(factory=dict)
    on_demand_since: float | None = None
    """When prices were last entered; None while those that ship are all there is."""
    spot_since: float | None = None

    def price(self, instance_type: str, zone: str, capacity_type: str) -> Price | None:
        """What it costs on demand or as spot; None when that is not known."""
        if capacity_type != core.SPOT:
            return self.on_demand.get(instance_type) or self.shipped.price(instance_type)
        if self.spot_since is None:
            return self.shipped.price(instance_type)
        return self.spot.get(instance_type, {}).get(zone)

    def with_on_demand(self, shared: Mapping[str, Price], metal: Mapping[str, Price], now: float) -> PriceBook:
        """The book with these prices entered over the old ones; the same book when one of the two answers is empty."""
        if not shared or not metal:
            return self
        return attrs.evolve(self, on_demand={**self.on_demand, **shared, **metal}, on_demand_since=now)

    def with_spot(self, prices: SpotPrices, now: float) -> PriceBook:
        """The book with these prices entered over the old ones; the same book when there are none."""
        if not prices:
            return self
        merged = {**self.spot, **{name: {**self.spot.get(name, {}), **zones} for name, zones in prices.items()}}
        return attrs.evolve(self, spot=merged, spot_since=now)

    def age(self, now: float, capacity_type: str = core.ON_DEMAND) -> float | None:
        """Seconds since prices of this capacity type were true; None when nothing is known of when that was."""
        entered = self.spot_since if capacity_type == core.SPOT else self.on_demand_since
        since = self.shipped.since if entered is None else entered
        return None if since is None else now - since
