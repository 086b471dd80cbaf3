"""The world of an EC2 conformance vector, as the readers of `karpy_aws` see it, and what is compared of their answers."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from karpy.clock import parse_time
from karpy.cloud.instancetype import InstanceTypes, Price
from karpy.requirements import Requirement
from karpy.resources import Resources
from karpy_aws.book import InstanceTypeBook, Market
from karpy_aws.capacity import VM_MEMORY_OVERHEAD_PERCENT
from karpy_aws.descriptions import read_descriptions
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects import NodeClass
from karpy_aws.offerings import Conditions
from karpy_aws.unavailable import OfferingKey, UnavailableOfferings

NOW = parse_time("2026-08-21T12:00:00Z")
"""Where the clock of the vectors stands."""

FROM_OTHER_TABLES = ("vpc.amazonaws.com/pod-eni", "vpc.amazonaws.com/PrivateIPv4Address")
"""Resources that only Karpenter's own tables know; a NodeOverlay can add them."""


def lines(shared: Path, name: str) -> Iterator[dict[str, Any]]:
    with (shared / "data" / "vectors" / "aws" / name).open() as file:
        yield from map(json.loads, file)


@functools.cache
def catalog(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "data" / "vectors" / "aws" / "catalog.json").read_bytes())
    found["described"] = {entry["InstanceType"]: entry for entry in found["InstanceTypes"]}
    return found


class InventedPrices:
    """The catalog's, with those that the vector replaces. No price at all is null."""

    def __init__(self, world: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        self.on_demand = known["OnDemandPrices"] | world.get("onDemandPrices", {})
        self.spot = known["SpotPrices"]
        self.replaced = world.get("spotPrices", {})

    def price(self, instance_type: str, zone: str, capacity_type: str) -> Price | None:
        if capacity_type == "spot":
            zones = self.spot.get(instance_type, {}) | self.replaced.get(instance_type, {})
            return zones.get(zone)
        return self.on_demand.get(instance_type)


def setup(node_class: NodeClass, options: Mapping[str, Any]) -> NodeSetup:
    return NodeSetup.of(
        node_class,
        expressions=options.get("nodeClassCEL", False),
        memory_overhead_percent=float(options.get("vmMemoryOverheadPercent", VM_MEMORY_OVERHEAD_PERCENT)),
        reserved_enis=options.get("reservedENIs", 0),
        sells_reserved=options.get("reservedCapacity", True),
    )


def instance_types(
    shared: Path, world: Mapping[str, Any], setup: NodeSetup, now: Conditions | None = None, region: str = ""
) -> InstanceTypes:
    """The types of a vector's world, as the setup gets them; under other conditions ``now`` than those of the start."""
    known = catalog(shared)
    names = world["instanceTypes"]
    described = read_descriptions([{"InstanceTypes": [known["described"][name] for name in names]}])
    assert not described.problems
    offered = known["Offerings"] | world.get("offerings", {})
    book = InstanceTypeBook(region or known["Region"])
    book.update(types=described.types, zones={name: tuple(offered.get(name, ())) for name in names})
    return book.instance_types(setup, Market(prices=InventedPrices(world, known), conditions=now or conditions(world)))


def conditions(world: Mapping[str, Any]) -> Conditions:
    return Conditions(
        shortages=shortages(world).at(NOW),
        shifted_zones=frozenset(world.get("shiftedZones") or ()),
        reserved=world.get("reservationCounts") or {},
    )


def shortages(world: Mapping[str, Any]) -> UnavailableOfferings:
    """The memory of what ran out, with the marks that were set beforehand."""
    memory = UnavailableOfferings()
    for mark in world.get("unavailable", ()):
        if "subnet" in mark:
            memory.mark_subnet(mark["subnet"], NOW)
        elif "instanceType" in mark:
            key = OfferingKey(
                mark["capacityType"],
                mark["instanceType"],
                mark["zone"],
                mark.get("placementGroup", ""),
                int(mark.get("partition") or 0),
            )
            memory.mark(key, NOW)
        else:
            memory.mark_capacity_type(mark["capacityType"], NOW)
    return memory


def told(requirement: Requirement) -> list[str]:
    """A requirement as the vectors write it."""
    return ["In", *sorted(requirement.values)] if requirement.values else ["DoesNotExist"]


def amounts(quantities: Mapping[str, str] | Resources) -> dict[str, int]:
    """What there is some of. Karpenter lets what is left fall below zero, where karpy stops."""
    parsed = quantities if isinstance(quantities, Resources) else Resources.parse(quantities)
    return {name: amount for name, amount in parsed.items() if amount > 0 and name not in FROM_OTHER_TABLES}


def whole_bytes(quantities: Mapping[str, str]) -> dict[str, str]:
    """What is left, without the fraction of a byte that Karpenter keeps and karpy does not."""
    return {
        name: str(int(text[:-1]) // 1_000) if name == "memory" and text.endswith("m") else text
        for name, text in quantities.items()
    }
