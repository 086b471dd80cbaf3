"""The offerings of an instance type: each zone of the region, however it is sold there, and its reservations.

What EC2 sells at what price is one thing, and changes seldom; what can be had of it at this moment another. So offerings are
built once as they are when nothing is short (`OfferingTable`), and `Availability` replaces the few that are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.requirements import Requirement, Requirements
from karpy_aws import labels
from karpy_aws.compatibility import incompatibility
from karpy_aws.descriptions import TypeDescription
from karpy_aws.objects.status import CapacityReservation
from karpy_aws.pricing import Prices
from karpy_aws.reservations import ACTIVE
from karpy_aws.setup import NodeSetup
from karpy_aws.typelabels import capacity_types, partitions, reservations_of
from karpy_aws.unavailable import OfferingKey, Shortages

__all__ = ["Availability", "Conditions", "OfferingTable"]

_RESERVED_SHARE: Final = 1e-7
"""Of the on-demand price: it is paid for whether it is used or not, but the cheaper machine should still be taken first."""
_RESERVED_UNPRICED: Final = 1e-9
_RESERVATION_LABELS: Final = (
    labels.CAPACITY_RESERVATION_ID,
    labels.CAPACITY_RESERVATION_TYPE,
    labels.CAPACITY_RESERVATION_INTERRUPTIBLE,
)


@attrs.frozen(kw_only=True)
class Conditions:
    """What decides at this moment whether an offering can be had."""

    shortages: Shortages = Shortages()
    shifted_zones: frozenset[str] = frozenset()
    """Ids of zones that nothing may be launched in."""
    reserved: Mapping[str, int] = attrs.field(factory=dict)
    """Reservation → machines left in it; nothing is left in one that is not there."""


class OfferingTable:
    """Builds the offerings of one node class. Requirements of those that are alike are one object."""

    def __init__(self, setup: NodeSetup, zones: Iterable[str], prices: Prices, priced: frozenset[str] = frozenset()) -> None:
        """``zones`` are all of the region. Types in ``priced`` get a price from elsewhere, such as a NodeOverlay."""
        self._setup = setup
        self._zones = tuple(sorted(zones))
        self._prices = prices
        self._priced = priced
        self._partitions = tuple(partitions(setup.placement_group)) or (0,)
        self._ids = setup.zones
        self._requirements: dict[tuple[str, str, int, str], Requirements] = {}

    def offerings(self, description: TypeDescription, zones: Sequence[str]) -> tuple[Offering, ...]:
        """As they are while nothing is short, sorted by zone, then capacity type; ``zones`` are those that have the type.

        A zone that nodes cannot be in has offerings too, never to be had: what runs there already has a price.
        """
        reservations = reservations_of(description, self._setup)
        sold_as = [kind for kind in capacity_types(description, self._setup, ()) if kind != core.RESERVED]
        usable = set() if incompatibility(description, self._setup) else self._ids.keys() & set(zones)
        found: list[Offering] = []
        for zone in self._zones:
            for kind in sold_as:
                found += self._sold(description.instance_type, zone, kind, zone in usable, bool(reservations))
            if self._setup.sells_reserved:
                for reservation in reservations:
                    if reservation.availability_zone == zone:
                        found += self._reserved(reservation, zone in usable)
        return tuple(found)

    def _sold(self, type_: str, zone: str, kind: str, is_usable: bool, beside_reserved: bool) -> Iterator[Offering]:
        price = self._prices.price(type_, zone, kind)
        is_available = is_usable and (price is not None or type_ in self._priced)
        for partition in self._partitions:
            where = self._where(zone, kind, partition, "none" if beside_reserved else "")
            yield Offering(zone, kind, math.nan if price is None else price, is_available, where)

    def _reserved(self, reservation: CapacityReservation, is_usable: bool) -> Iterator[Offering]:
        zone = reservation.availability_zone
        price = self._prices.price(reservation.instance_type, zone, core.ON_DEMAND)
        labelled = Requirements(
            (
                Requirement.in_(labels.CAPACITY_RESERVATION_ID, reservation.id),
                Requirement.in_(labels.CAPACITY_RESERVATION_TYPE, reservation.reservation_type),
                Requirement.in_(labels.CAPACITY_RESERVATION_INTERRUPTIBLE, str(reservation.interruptible).lower()),
            )
        )
        for partition in self._partitions:
            yield Offering(
                zone,
                core.RESERVED,
                _RESERVED_UNPRICED if price is None else price * _RESERVED_SHARE,
                is_usable and reservation.state == ACTIVE,
                self._where(zone, core.RESERVED, partition, "") & labelled,
                reservation_id=reservation.id,
            )

    def _where(self, zone: str, kind: str, partition: int, reservation: str) -> Requirements:
        """``reservation`` is ``none`` where the type has reservations that this is not part of."""
        key = (zone, kind, partition, reservation)
        if key not in self._requirements:
            found = [Requirement.in_(core.ZONE, zone), Requirement.in_(core.CAPACITY_TYPE, kind)]
            if self._ids.get(zone):
                found.append(Requirement.in_(labels.ZONE_ID, self._ids[zone]))
            if partition:
                found.append(Requirement.in_(labels.PLACEMENT_GROUP_PARTITION, str(partition)))
            if reservation:
                found += [Requirement.absent(label) for label in _RESERVATION_LABELS]
            self._requirements[key] = Requirements(found)
        return self._requirements[key]


class Availability:
    """Says what can be had now of types whose offerings an `OfferingTable` built. It keeps what it made of them for the next time."""

    def __init__(self, setup: NodeSetup) -> None:
        self._group = setup.placement_group.id if setup.placement_group else ""
        self._ids = setup.zones
        self._subnets: dict[str, list[str]] = {}
        for subnet in setup.subnets:
            self._subnets.setdefault(subnet.zone, []).append(subnet.id)
        self._reserved = frozenset(each.instance_type for each in setup.reservations)
        self._sold_out: dict[int, tuple[Offering, Offering]] = {}

    def concerned(self, conditions: Conditions, types: Collection[str]) -> Collection[str]:
        """Of ``types``, those that may not be as they were built."""
        shortages = conditions.shortages
        if shortages.capacity_types or shortages.subnets or conditions.shifted_zones:
            return types
        return shortages.instance_types | self._reserved

    def now(self, type_: InstanceType, conditions: Conditions) -> InstanceType:
        """The type with offerings as they are now; itself when nothing is short."""
        offerings = tuple(self._offering(type_.name, each, conditions) for each in type_.offerings)
        if all(new is old for new, old in zip(offerings, type_.offerings, strict=True)):
            return type_
        return attrs.evolve(type_, offerings=offerings)

    def _offering(self, type_: str, offering: Offering, conditions: Conditions) -> Offering:
        if offering.reservation_id is not None:
            left = conditions.reserved.get(offering.reservation_id, 0)
            is_left = offering.available and left > 0 and not self._is_short(type_, offering, conditions)
            return attrs.evolve(offering, available=is_left, reservation_capacity=left)
        if not offering.available or not self._is_short(type_, offering, conditions):
            return offering
        return self._as_sold_out(offering)

    def _is_short(self, type_: str, offering: Offering, conditions: Conditions) -> bool:
        zone, shortages = offering.zone, conditions.shortages
        if self._ids.get(zone) in conditions.shifted_zones:
            return True
        if not shortages:
            return False
        key = OfferingKey(offering.capacity_type, type_, zone, self._group, self._partition(offering))
        return shortages.has(key, self._subnets.get(zone, ()))

    def _partition(self, offering: Offering) -> int:
        partition = offering.requirements.get(labels.PLACEMENT_GROUP_PARTITION) if self._group else None
        return int(partition.single() or 0) if partition is not None else 0

    def _as_sold_out(self, offering: Offering) -> Offering:
        """Made once for each offering, which is kept with it so that its identity stays its own."""
        known = self._sold_out.get(id(offering))
        if known is None:
            known = offering, attrs.evolve(offering, available=False)
            self._sold_out[id(offering)] = known
        return known[1]
