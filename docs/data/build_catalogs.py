"""Writes the catalogs that karpy_aws and karpy_azure ship, from what moto and Apache Libcloud hold.

Run it with the dependency group ``catalog`` installed, from the project's root::

    python docs/data/build_catalogs.py

EC2: instance types and the zones that have them from moto, prices from Libcloud through `ec2_prices`; a type that no price
can be told for is left out. On-demand prices of all regions, by the same rule, are a file of their own.
Azure: prices from Libcloud, sizes from `azure_sizes` beside this file. Output is the same for the same versions of both.
"""

from __future__ import annotations

import gzip
import json
import lzma
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from azure_sizes import describe_sizes
from ec2_prices import clean_prices

from karpy_aws.descriptions import TypeDescription

ROOT = Path(__file__).parents[2]
EC2_REGION = "us-west-2"
EC2_ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
AZURE_REGION = "eastus"
MOTO_RELEASES = {"5.2.5": "2026-10-27"}
LICENCE = "Apache-2.0 (moto; Apache Libcloud). See NOTICE.md."


def main() -> None:
    pricing = json.loads(files("libcloud").joinpath("data", "pricing.json").read_bytes())
    priced_on = datetime.fromtimestamp(pricing["updated"], UTC).date().isoformat()
    write("karpy_aws", f"ec2-{EC2_REGION}", ec2_catalog(pricing["compute"]["ec2_linux"], priced_on))
    write("karpy_aws", "ec2-prices", ec2_prices(pricing["compute"]["ec2_linux"], priced_on))
    write("karpy_azure", f"azure-{AZURE_REGION}", azure_catalog(pricing["compute"]["azure_linux"], priced_on))


def write(package: str, name: str, content: dict[str, Any]) -> None:
    path = ROOT / package / "data" / f"{name}.json.xz"
    text = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    path.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def ec2_catalog(price_table: dict[str, dict[str, float]], priced_on: str) -> dict[str, Any]:
    described = moto_file("instance_types.json.gz")
    zones = ec2_zones()
    usable = sorted(name for name in zones if name in described and is_usable(described[name]))
    memory = {name: described[name]["MemoryInfo"]["SizeInMiB"] for name in usable}
    raw = {name: price_table.get(name, {}).get(EC2_REGION, 0.0) for name in usable}
    prices, derived = clean_prices(raw, memory)
    names = sorted(prices)
    print(f"EC2: {len(usable)} types, {len(names)} priced, {len(derived)} of them by their family")
    return {
        "source": f"moto {version('moto')} (types, zones), apache-libcloud {version('apache-libcloud')} (prices)",
        "licence": LICENCE,
        "types_as_of": moto_date(),
        "prices_as_of": priced_on,
        "region": EC2_REGION,
        "zone_ids": zone_ids(),
        "types": [prune(described[name]) for name in names],
        "zones": {name: zones[name] for name in names},
        "prices": prices,
        "derived_prices": derived,
    }


def ec2_prices(price_table: dict[str, dict[str, float]], priced_on: str) -> dict[str, Any]:
    """The price of every type by region; of a type that a region's table lacks, where its family tells it."""
    described = moto_file("instance_types.json.gz")
    memory = {name: entry["MemoryInfo"]["SizeInMiB"] for name, entry in described.items() if is_usable(entry)}
    sold: dict[str, set[str]] = {}
    for name in memory:
        for region in price_table.get(name, {}):
            sold.setdefault(region, set()).add(name.partition(".")[0])
    regions = {}
    for region, families in sorted(sold.items()):
        there = {name: size for name, size in memory.items() if name.partition(".")[0] in families}
        raw = {name: price_table.get(name, {}).get(region, 0.0) for name in there}
        regions[region], _ = clean_prices(raw, there)
    print(f"EC2: {sum(map(len, regions.values()))} prices in {len(regions)} regions")
    return {
        "source": f"apache-libcloud {version('apache-libcloud')} (prices), moto {version('moto')} (memory of types)",
        "licence": LICENCE,
        "prices_as_of": priced_on,
        "regions": {region: prices for region, prices in regions.items() if prices},
    }


def is_usable(entry: dict[str, Any]) -> bool:
    """EC2's own filters of Karpenter: hardware virtualisation, and an architecture that Kubernetes images exist for."""
    architectures = set(entry["ProcessorInfo"]["SupportedArchitectures"])
    return "hvm" in entry["SupportedVirtualizationTypes"] and bool(architectures & {"x86_64", "arm64"})


def prune(entry: dict[str, Any]) -> Any:
    """The fields that karpy reads, in EC2's names."""
    return msgspec.to_builtins(msgspec.convert(entry, type=TypeDescription))


def ec2_zones() -> dict[str, list[str]]:
    by_type: dict[str, list[str]] = {}
    for offer in moto_file("instance_type_offerings", "availability-zone", f"{EC2_REGION}.json.gz"):
        if offer["Location"] in EC2_ZONES:
            by_type.setdefault(offer["InstanceType"], []).append(offer["Location"])
    return {name: sorted(zones) for name, zones in by_type.items()}


def zone_ids() -> dict[str, str]:
    from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend

    zones = RegionsAndZonesBackend.zones[EC2_REGION]
    return {zone.name: zone.zone_id for zone in zones if zone.name in EC2_ZONES}


def moto_file(*path: str) -> Any:
    return json.loads(gzip.decompress(files("moto").joinpath("ec2", "resources", *path).read_bytes()))


def moto_date() -> str:
    """When the installed moto was released; its files bear no date of their own."""
    installed = version("moto")
    if installed not in MOTO_RELEASES:
        raise SystemExit(f"moto {installed}: enter its release date in MOTO_RELEASES, so that the catalog can be dated")
    return MOTO_RELEASES[installed]


def azure_catalog(price_table: dict[str, dict[str, float]], priced_on: str) -> dict[str, Any]:
    return {
        "source": f"apache-libcloud {version('apache-libcloud')} (prices); sizes by name and family rule",
        "licence": LICENCE,
        "prices_as_of": priced_on,
        "region": AZURE_REGION,
        "zones": [f"{AZURE_REGION}-{number}" for number in (1, 2, 3)],
        "types": describe_sizes(price_table, AZURE_REGION),
    }


if __name__ == "__main__":
    main()
