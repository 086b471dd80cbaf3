"""A small region for tests: a few types as EC2 describes them, in three zones."""

from __future__ import annotations

from typing import Any

import attrs

from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering
from karpy_aws.book import InstanceTypeBook, Market
from karpy_aws.descriptions import (
    Memory,
    Network,
    NetworkCard,
    PlacementGroups,
    Processor,
    TypeDescription,
    VCpu,
)
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects.status import Subnet
from karpy_aws.pricing import PriceBook

ZONES = {"us-west-2a": "usw2-az1", "us-west-2b": "usw2-az2", "us-west-2c": "usw2-az3"}
SUBNETS = tuple(Subnet(f"subnet-{zone[-1]}", zone, id_) for zone, id_ in ZONES.items())
ON_DEMAND = {"m5.large": 0.1, "m5.xlarge": 0.2, "c5.large": 0.09}
SPOT = {name: dict.fromkeys(ZONES, price / 2) for name, price in ON_DEMAND.items()}
PRICES = PriceBook().with_on_demand(ON_DEMAND, {"m5.metal": 5.0}, 0.0).with_spot(SPOT, 0.0)
SETUP = NodeSetup(subnets=SUBNETS)


def described(name: str = "m5.large", **fields: Any) -> TypeDescription:
    """A type of two cores and 8 GiB with three interfaces of ten addresses."""
    usual: dict[str, Any] = {
        "hypervisor": "nitro",
        "supported_usage_classes": ("on-demand", "spot"),
        "vcpu_info": VCpu(2),
        "memory_info": Memory(8_192),
        "processor_info": Processor(("x86_64",), "Intel", 3.1),
        "network_info": network(NetworkCard(0, 3)),
        "placement_group_info": PlacementGroups(("cluster", "partition", "spread")),
    }
    return TypeDescription(name, **usual | fields)


def network(*cards: NetworkCard, **fields: Any) -> Network:
    usual: dict[str, Any] = {"ipv4_addresses_per_interface": 10, "ena_support": "required", "network_cards": cards}
    return Network(**usual | fields)


TYPES = tuple(described(name) for name in sorted(ON_DEMAND))


def book(types: tuple[TypeDescription, ...] = TYPES) -> InstanceTypeBook:
    found = InstanceTypeBook("us-west-2")
    found.update(types=types, zones={each.instance_type: tuple(ZONES) for each in types})
    return found


def market(**fields: Any) -> Market:
    return attrs.evolve(Market(prices=PRICES), **fields)


def built(description: TypeDescription, setup: NodeSetup = SETUP, **fields: Any) -> InstanceType:
    """The type as a book has it."""
    found = book((description,)).instance_types(setup, market(**fields)).by_name(description.instance_type)
    assert found is not None
    return found


def for_sale(types: InstanceTypes, name: str) -> set[tuple[str, str]]:
    """Zone and capacity type of what can be had of a type."""
    found = types.by_name(name)
    assert found is not None
    return {(each.zone[-1], each.capacity_type) for each in found.offerings if each.available}


def offering(type_: InstanceType, zone: str, capacity_type: str) -> Offering:
    (found,) = (each for each in type_.offerings if (each.zone, each.capacity_type) == (zone, capacity_type))
    return found
