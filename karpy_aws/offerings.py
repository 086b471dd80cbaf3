"""The offerings of an instance type: each zone of the region, however it is sold there, and its reservations.

What EC2 sells at what price is one thing, and changes seldom; what can be had of it at this moment another. So offerings are
built once as they are when nothing is short (`OfferingTable`), and `Availability` replaces the few that are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.requirements import Requirement, Requirements
from karpy_aws import labels
from karpy_aws.compatibility import incompatibility
from karpy_aws.descriptions import TypeDescription
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects.status import CapacityReservation
from karpy_aws.pricing import Prices
from karpy_aws.reservations import ACTIVE
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

    def __init__(
        self, setup: NodeSetup, zones: Iterable[str], prices: Prices, priced: frozenset[str] = frozenset()
    ) -> None:
        """``zones`` are all of the region. Types in ``priced`` get a price from elsewhere, such as a NodeOverlay."""
        self._setup = setup
        self._zones = tuple(sorted(zones))
        self._prices = prices
        self._priced = priced
        self._partitions = tuple(partitions(setup.placement_group)) or (0,)
        self._ids = setup.zones
        self._requirements: dict[tuple[str, str, int, bool], Requirements] = {}

    def offerings(self, description: TypeDescription, zones: Sequence[str]) -> tuple[Offering, ...]:
        """As they are while nothing is short: by zone and capacity type, then by reservation. ``zones`` have the type.

        A zone that nodes cannot be in has offerings too, never to be had: what runs there already has a price.
        """
        reservations = reservations_of(description, self._setup)
        sold_as = capacity_types(description, ())
        usable = set() if incompatibility(description, self._setup) else self._ids.keys() & set(zones)
        found: list[Offering] = []
        for zone in self._zones:
            for kind in sold_as:
                price = self._prices.price(description.instance_type, zone, kind)
                is_priced = price is not None or description.instance_type in self._priced
                for partition in self._partitions:
                    where = self._where(zone, kind, partition, beside_reserved=bool(reservations))
                    found.append(Offering(zone, kind, price, zone in usable and is_priced, where))
        for reservation in reservations if self._setup.sells_reserved else ():
            found += self._reserved(reservation, is_usable=reservation.availability_zone in usable)
        return tuple(found)

    def _reserved(self, reservation: CapacityReservation, *, is_usable: bool) -> Iterator[Offering]:
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
                self._where(zone, core.RESERVED, partition) & labelled,
                reservation_id=reservation.id,
            )

    def _where(self, zone: str, kind: str, partition: int, *, beside_reserved: bool = False) -> Requirements:
        """``beside_reserved``: the type has reservations that this is not part of."""
        key = (zone, kind, partition, beside_reserved)
        if key not in self._requirements:
            found = [Requirement.in_(core.ZONE, zone), Requirement.in_(core.CAPACITY_TYPE, kind)]
            if self._ids.get(zone):
                found.append(Requirement.in_(labels.ZONE_ID, self._ids[zone]))
            if partition:
                found.append(Requirement.in_(labels.PLACEMENT_GROUP_PARTITION, str(partition)))
            if beside_reserved:
                found += [Requirement.absent(label) for label in _RESERVATION_LABELS]
            self._requirements[key] = Requirements(found)
        return self._requirements[key]


class Availability:
    """Says what can be had now of types whose offerings an `OfferingTable` built, and keeps what it made of them."""

    def __init__(self, setup: NodeSetup) -> None:
        self._group = setup.placement_group.id if setup.placement_group else ""
        self._ids = setup.zones
        self._subnets: dict[str, set[str]] = {}
        for subnet in setup.subnets:
            self._subnets.setdefault(subnet.zone, set()).add(subnet.id)
        self._reserved = frozenset(each.instance_type for each in setup.reservations)
        self._sold_out: dict[int, tuple[Offering, Offering]] = {}

    def now(self, types: Iterable[InstanceType], conditions: Conditions) -> list[InstanceType]:
        """The types with offerings as they are now: the very same types where nothing is short."""
        shut, marked = self._shut_places(conditions), conditions.shortages.instance_types
        concerned = marked | self._reserved
        return [self._type(each, conditions, shut) if shut or each.name in concerned else each for each in types]

    def _shut_places(self, conditions: Conditions) -> frozenset[tuple[str, str]]:
        """Zone and capacity type, where nothing at all can be bought so. A reservation's own count says what is left in it."""
        shortages, shifted = conditions.shortages, conditions.shifted_zones
        return frozenset(
            (zone, kind)
            for zone, subnets in self._subnets.items()
            for kind in core.CAPACITY_TYPES
            if self._ids[zone] in shifted
            or (kind != core.RESERVED and (kind in shortages.capacity_types or subnets <= shortages.subnets))
        )

    def _type(self, type_: InstanceType, conditions: Conditions, shut: frozenset[tuple[str, str]]) -> InstanceType:
        shortages, name = conditions.shortages, type_.name
        is_marked, is_same = name in shortages.instance_types, True
        offerings: list[Offering] = []
        for offering in type_.offerings:
            now = offering
            if offering.reservation_id is not None:
                left = conditions.reserved.get(offering.reservation_id, 0)
                now = _with_count(offering, left, is_shut=(offering.zone, offering.capacity_type) in shut)
            elif offering.available and (
                (offering.zone, offering.capacity_type) in shut
                or (is_marked and shortages.has(self._key(name, offering)))
            ):
                now = self._as_sold_out(offering)
            is_same = is_same and now is offering
            offerings.append(now)
        if is_same:
            return type_
        return InstanceType(
            type_.name, type_.requirements, tuple(offerings), type_.capacity, type_.overhead, type_.capacity_overlaid
        )

    def _key(self, type_: str, offering: Offering) -> OfferingKey:
        partition = offering.requirements.get(labels.PLACEMENT_GROUP_PARTITION) if self._group else None
        number = int(partition.single() or 0) if partition is not None else 0
        return OfferingKey(offering.capacity_type, type_, offering.zone, self._group, number)

    def _as_sold_out(self, offering: Offering) -> Offering:
        """Made once for each offering, which is kept with it so that its identity stays its own."""
        known = self._sold_out.get(id(offering))
        if known is None:
            sold_out = Offering(offering.zone, offering.capacity_type, offering.price, False, offering.requirements)
            known = self._sold_out[id(offering)] = offering, sold_out
        return known[1]


def _with_count(offering: Offering, left: int, *, is_shut: bool) -> Offering:
    is_left = offering.available and left > 0 and not is_shut
    return attrs.evolve(offering, available=is_left, reservation_capacity=left)
