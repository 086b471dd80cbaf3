"""`Sales`: what EC2 sells in one region at the moment, at what price, and what of it is short."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final

from karpy.clock import Clock, format_time
from karpy.cloud.instancetype import InstanceTypes
from karpy_aws.api import APIs, pages
from karpy_aws.book import InstanceTypeBook, Market
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.descriptions import (
    TYPES_REQUEST,
    ZONES_REQUEST,
    TypeDescription,
    read_descriptions,
    read_zones,
)
from karpy_aws.measuredmemory import MeasuredMemory
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.offerings import Conditions
from karpy_aws.pricing import PriceBook, has_price_list, on_demand_requests, read_on_demand, read_spot, spot_request
from karpy_aws.reservations import ReservationCounts
from karpy_aws.turns import Turn
from karpy_aws.unavailable import UnavailableOfferings
from karpy_aws.zonalshift import ZonalShifts, managed_resource_request, read_zonal_shifts

__all__ = ["Sales"]

_TYPES_S: Final = 12 * 3_600.0
_ON_DEMAND_S: Final = 12 * 3_600.0
_SPOT_S: Final = 3_600.0
"""Karpenter asks every twelve hours. It is one call, and a zone whose price came late is closed until then."""
SHIFTS_S: Final = 30.0


class Sales:
    """All that instance types are made of, kept as AWS last told it. May be used from several threads."""

    def __init__(
        self,
        apis: APIs,
        clock: Clock,
        *,
        prices: PriceBook,
        isolated: bool = False,
        told: Callable[[str, Mapping[str, int]], object] = lambda _event, _counts: None,
    ) -> None:
        self._apis = apis
        self._clock = clock
        self._prices = prices
        self._isolated = isolated
        self._told = told
        self._lock = threading.Lock()
        self._shifts = ZonalShifts()
        self._zone_ids: dict[str, str] = {}
        self._described: Mapping[str, TypeDescription] = {}
        self._book = InstanceTypeBook(apis.region)
        self.unavailable = UnavailableOfferings()
        self.reservations = ReservationCounts()
        self.measured = MeasuredMemory()

    # What there is

    def types(self, setup: NodeSetup) -> InstanceTypes:
        """The instance types as a node class gets them; the same object while nothing changed.

        Raises:
            NodeClassNotReady: nodes can be in no zone.
            InvalidObject: the kubelet block has no usable value for a type.
        """
        now = self._clock.now()
        conditions = Conditions(
            shortages=self.unavailable.at(now),
            shifted_zones=self._shifts.at(now),
            reserved=self.reservations.at(now),
        )
        market = Market(prices=self._prices, conditions=conditions, measured_memory=self.measured.at(setup.images, now))
        return self._book.instance_types(setup, market)

    @property
    def described(self) -> Mapping[str, TypeDescription]:
        """What EC2 says of each type."""
        return self._described

    @property
    def are_known(self) -> bool:
        """Whether EC2 has told what it sells, and where."""
        region = self._book.region
        return bool(region.types and region.zones)

    def learn_zones(self, zones: Mapping[str, str]) -> None:
        """The ids of zones, as subnets tell them: shifts name a zone by its id."""
        with self._lock:
            self._zone_ids.update({zone: id_ for zone, id_ in zones.items() if id_})

    def is_shifted(self, zone: str) -> bool:
        """Whether traffic was shifted away from the zone."""
        return self._zone_ids.get(zone, zone) in self._shifts.at(self._clock.now())

    # Asking

    def turns(self) -> tuple[Turn, ...]:
        """What is to be asked for again, and how often."""
        asked = [
            Turn("instance types", _TYPES_S, self.refresh_types),
            Turn("zones of instance types", _TYPES_S, self.refresh_zones),
            Turn("spot prices", _SPOT_S, self.refresh_spot),
        ]
        if has_price_list(self._apis.region, isolated=self._isolated):
            asked.append(Turn("on-demand prices", _ON_DEMAND_S, self.refresh_on_demand))
        return tuple(asked)

    def refresh_types(self) -> None:
        """Raises: AWSError: what was known stays, whatever part of the answer came."""
        found = read_descriptions(pages(self._apis.ec2.describe_instance_types, TYPES_REQUEST))
        with self._lock:
            self._book.update(types=found.types)
            self._described = {each.instance_type: each for each in self._book.region.types}
        self._told("discovered instance types", {"count": len(found.types), "unreadable": len(found.problems)})

    def refresh_zones(self) -> None:
        """Raises: AWSError: what was known stays."""
        found = read_zones(pages(self._apis.ec2.describe_instance_type_offerings, ZONES_REQUEST))
        with self._lock:
            self._book.update(zones=found)
        self._told("discovered offerings for instance types", {"instance-type-count": len(found)})

    def refresh_on_demand(self) -> None:
        """Raises: AWSError: the prices stay as they are."""
        region, call = self._apis.region, self._apis.pricing.get_products
        shared, metal = (read_on_demand(pages(call, request), region) for request in on_demand_requests(region))
        if not shared or not metal:
            return  # a part of the list is no list
        with self._lock:
            self._prices = self._prices.with_on_demand(shared, metal, self._clock.now())
        self._told("updated on-demand pricing", {"instance-type-count": len(shared) + len(metal)})

    def refresh_spot(self) -> None:
        """Raises: AWSError: the prices stay as they are."""
        now = self._clock.now()
        found = read_spot(pages(self._apis.ec2.describe_spot_price_history, spot_request(format_time(now))))
        with self._lock:
            self._prices = self._prices.with_spot(found, now)
        counts = {"instance-type-count": len(found), "offering-count": sum(map(len, found.values()))}
        self._told("updated spot pricing with instance types and offerings", counts)

    def refresh_shifts(self, facts: ClusterFacts) -> None:
        """Raises:
        AWSError: the shifts stay as they are.
        InvalidObject: the end of one cannot be read.
        """
        answer = self._apis.zonal_shift.get_managed_resource(managed_resource_request(facts.arn))
        self._shifts = read_zonal_shifts(answer)
