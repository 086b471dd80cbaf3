"""`InstanceTypeBook`: the instance types of a region as each node class gets them, remembered for as long as they stay the same.

What changes seldom is built seldom. Descriptions, zones and the class decide labels and capacity; prices decide offerings; what
is short at a moment only replaces the offerings that it concerns. Whatever did not change is the very same object as before.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

import attrs

from karpy.cloud.instancetype import InstanceType, InstanceTypes
from karpy.errors import NodeClassNotReady
from karpy_aws.descriptions import TypeDescription
from karpy_aws.instancetypes import build_instance_type
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.offerings import Availability, Conditions, OfferingTable
from karpy_aws.pricing import PriceBook, Prices
from karpy_aws.typelabels import RequirementPool

__all__ = ["InstanceTypeBook", "Market", "Region"]

_MOST_SETUPS: Final = 64
"""Node classes that change leave entries behind; those not used for longest go first."""


@attrs.frozen
class Region:
    """What EC2 sells in one region: the types, and the zones that have each."""

    name: str
    types: tuple[TypeDescription, ...] = ()
    zones: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)

    def with_types(self, types: tuple[TypeDescription, ...]) -> Region:
        """The same region when they are the same, or none: an empty answer says nothing."""
        return self if not types or types == self.types else attrs.evolve(self, types=types)

    def with_zones(self, zones: Mapping[str, tuple[str, ...]]) -> Region:
        """The same region when they are the same, or none."""
        return self if not zones or zones == self.zones else attrs.evolve(self, zones=zones)

    @property
    def all_zones(self) -> frozenset[str]:
        return frozenset(zone for zones in self.zones.values() for zone in zones)


@attrs.frozen(kw_only=True)
class Market:
    """What offerings are made of. Books of prices are compared by identity: a new one is made when prices are entered."""

    prices: Prices = attrs.field(factory=PriceBook, eq=id)
    priced_elsewhere: frozenset[str] = frozenset()
    """Types that a NodeOverlay gives a price: they may be bought though AWS names none."""
    conditions: Conditions = Conditions()
    measured_memory: Mapping[str, int] = attrs.field(factory=dict)
    """Instance type → bytes that nodes with the class's images turned out to have."""

    def sells_as(self, other: Market) -> bool:
        """Whether prices are the same, whatever can be had at the moment."""
        return self.prices is other.prices and self.priced_elsewhere == other.priced_elsewhere


class InstanceTypeBook:
    """The cache that a provider asks for every solve. May be used from several threads."""

    def __init__(self, region: str) -> None:
        self._lock = threading.Lock()
        self._region = Region(region)
        self._pool = RequirementPool()
        self._shelves: dict[NodeSetup, _Shelf] = {}

    @property
    def region(self) -> Region:
        return self._region

    def update(
        self, *, types: tuple[TypeDescription, ...] = (), zones: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        """Enter what EC2 answered. An empty answer changes nothing."""
        with self._lock:
            self._region = self._region.with_types(types).with_zones(zones or {})

    def instance_types(self, setup: NodeSetup, market: Market) -> InstanceTypes:
        """All types as the setup would get them; the same object while nothing changed that they depend on.

        Raises:
            NodeClassNotReady: nodes can be in no zone.
            InvalidObject: the kubelet block has no usable value for a type; nothing is remembered then.
        """
        if not setup.subnets:
            raise NodeClassNotReady("no subnets found")
        with self._lock:
            shelf = self._shelves.pop(setup, None) or _Shelf(setup, self._pool)
            found = shelf.types(self._region, market)
            self._shelves[setup] = shelf
            if len(self._shelves) > _MOST_SETUPS:
                del self._shelves[next(iter(self._shelves))]
            return found


class _Shelf:
    """What was built for one setup, stage by stage, each with what it was built from."""

    def __init__(self, setup: NodeSetup, pool: RequirementPool) -> None:
        self._setup = setup
        self._pool = pool
        self._availability = Availability(setup)
        self._region: Region | None = None
        self._market: Market | None = None
        self._machines: dict[str, InstanceType] = {}
        """Without offerings."""
        self._priced: dict[str, InstanceType] = {}
        """With offerings as they are while nothing is short."""
        self._now = InstanceTypes()

    def types(self, region: Region, market: Market) -> InstanceTypes:
        if region is self._region and market == self._market:
            return self._now
        machines = self._machines_of(region, market)
        priced = self._priced_of(region, market, machines)
        now = InstanceTypes(self._availability.now(priced.values(), market.conditions))
        self._region, self._market, self._machines, self._priced, self._now = region, market, machines, priced, now
        return now

    def _machines_of(self, region: Region, market: Market) -> dict[str, InstanceType]:
        """Those of before, but for types whose memory was measured anew."""
        before = self._market.measured_memory if self._market and region is self._region else None
        if before == market.measured_memory:
            return self._machines
        found: dict[str, InstanceType] = {}
        for each in region.types:
            name = each.instance_type
            memory = market.measured_memory.get(name)
            is_same = before is not None and before.get(name) == memory
            found[name] = self._machines[name] if is_same else self._machine(region, each, memory)
        return found

    def _machine(self, region: Region, description: TypeDescription, memory: int | None) -> InstanceType:
        zones = region.zones.get(description.instance_type, ())
        return build_instance_type(
            description, self._setup, region=region.name, zones=zones, pool=self._pool, measured_memory=memory
        )

    def _priced_of(self, region: Region, market: Market, machines: dict[str, InstanceType]) -> dict[str, InstanceType]:
        """Those of before, but for machines that are not."""
        if self._market is None or region is not self._region or not market.sells_as(self._market):
            self._priced, self._availability = {}, Availability(self._setup)
        elif machines is self._machines:
            return self._priced
        table = OfferingTable(self._setup, region.all_zones, market.prices, market.priced_elsewhere)
        found: dict[str, InstanceType] = {}
        for each in region.types:
            name = each.instance_type
            is_same = name in self._priced and machines[name] is self._machines.get(name)
            found[name] = self._priced[name] if is_same else self._with_offerings(region, each, machines[name], table)
        return found

    def _with_offerings(
        self, region: Region, description: TypeDescription, machine: InstanceType, table: OfferingTable
    ) -> InstanceType:
        zones = region.zones.get(description.instance_type, ())
        return attrs.evolve(machine, offerings=table.offerings(description, zones))
