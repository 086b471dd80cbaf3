"""What a launch is asked for: of all that a claim allows, the instance types and offerings that a fleet may choose from.

Each filter takes what the one before left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType, Offering, holding, offerings_for
from karpy.errors import InsufficientCapacity
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy_aws import labels
from karpy_aws.placementgroups import wanted_partition
from karpy_aws.reservations import CAPACITY_BLOCK
from karpy_aws.templategroups import Reservation

__all__ = ["MOST_TYPES", "Choice", "choose", "flexibility_warning"]

MOST_TYPES: Final = 60
"""As many as a fleet takes in all zones at once."""
_FLEXIBLE: Final = 5
_METAL: Final = "metal"
_EXOTIC: Final = (
    *("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi"),
    *("aws.amazon.com/neuron", "aws.amazon.com/neuroncore"),
)


@attrs.frozen
class _Sold:
    """A type, and of its offerings those that will do: the cheapest first."""

    type: InstanceType
    offerings: tuple[Offering, ...]

    def only(self, kept: Iterable[Offering]) -> _Sold:
        """With these offerings alone. The type itself loses the others, since templates are made for what it has."""
        kept = tuple(kept)
        if len(kept) == len(self.offerings):
            return self
        return _Sold(attrs.evolve(self.type, offerings=kept), kept)

    def bought_as(self, capacity_type: str) -> tuple[Offering, ...]:
        return tuple(offering for offering in self.offerings if offering.capacity_type == capacity_type)


Market = Sequence[_Sold]


@attrs.frozen(kw_only=True)
class Choice:
    """What a fleet is asked for."""

    types: tuple[InstanceType, ...]
    """The cheapest first."""
    offerings: Mapping[str, tuple[Offering, ...]]
    """By type, those of the capacity type that was settled on: the cheapest first."""
    capacity_type: str
    tenancy: str
    partition: int | None = None
    """Of the placement group, when the claim asks for one."""


def choose(
    types: Iterable[InstanceType], wanted: Requirements, requests: Resources, *, strict_min_values: bool = True
) -> Choice:
    """What to launch of ``types`` for a claim that requires ``wanted`` and asks for ``requests``.

    Raises:
        InsufficientCapacity: nothing will do, or too little to meet ``minValues``.
    """
    left = _to_be_had(types, wanted, requests)
    for keep in _FILTERS:
        left = keep(left, wanted)
    if not left:
        raise InsufficientCapacity("all requested instance types were unavailable during launch")
    ordered = sorted(left, key=lambda sold: (sold.offerings[0].sort_price, sold.type.name))[:MOST_TYPES]
    lacking = _lacking_values(ordered, wanted) if strict_min_values else ()
    if lacking:
        told = ", ".join(lacking)
        raise InsufficientCapacity(
            f"minValues requirement is not met for label(s) {told} by the {len(ordered)} cheapest instance types"
        )
    capacity_type = _capacity_type(ordered)
    return Choice(
        types=tuple(sold.type for sold in ordered),
        offerings={sold.type.name: sold.bought_as(capacity_type) for sold in ordered},
        capacity_type=capacity_type,
        tenancy=_tenancy(wanted),
        partition=wanted_partition(wanted),
    )


def flexibility_warning(wanted: Requirements, capacity_type: str, type_count: int) -> str:
    """What to warn of when on-demand machines are launched though spot is allowed, and few types remain; empty otherwise."""
    asked = wanted.get(core.CAPACITY_TYPE)
    allows_spot = asked is None or asked.has(core.SPOT)
    if capacity_type != core.ON_DEMAND or not allows_spot or type_count >= _FLEXIBLE:
        return ""
    return (
        f"at least {_FLEXIBLE} instance types are recommended when flexible to spot but requesting on-demand, "
        f"the current provisioning request only has {type_count} instance type options"
    )


def _to_be_had(types: Iterable[InstanceType], wanted: Requirements, requests: Resources) -> Market:
    """What the claim allows, holds what it asks for, and is there."""
    allowed = (each for each in types if each.requirements.intersects(wanted) is None)
    able = (found for each in allowed if (found := holding(each, requests)) is not None)
    return [_Sold(each, offerings) for each in able if (offerings := offerings_for(each, wanted))]


# Filters


def _one_kind_of_reservation(market: Market, _wanted: Requirements) -> Market:
    """A fleet launches into one kind of reservation only: that of the cheapest offering."""
    kinds = [(offering.sort_price, _kind(offering)) for _, offering in _reserved(market)]
    return _with_reserved(market, lambda _sold, offering: _kind(offering) == min(kinds)[1]) if kinds else market


def _kind(offering: Offering) -> tuple[bool, bool]:
    """Interruptible, and a capacity block; the smaller one is preferred where prices are the same."""
    reservation = Reservation.of(offering)
    return (reservation.interruptible, reservation.kind == CAPACITY_BLOCK)


def _one_capacity_block(market: Market, _wanted: Requirements) -> Market:
    """A fleet takes a single capacity block."""
    blocks = [
        (offering.sort_price, sold.type.name, offering.zone, offering.reservation_id or "")
        for sold, offering in _reserved(market)
        if Reservation.of(offering).kind == CAPACITY_BLOCK
    ]
    if not blocks:
        return market
    _, name, zone, id_ = min(blocks)
    return _with_reserved(market, lambda sold, o: (sold.type.name, o.zone, o.reservation_id or "") == (name, zone, id_))


def _one_reservation_a_pool(market: Market, _wanted: Requirements) -> Market:
    """Of each type in each zone the reservation with the most machines left: a fleet takes every pool once."""
    best: dict[tuple[str, str], tuple[int, str]] = {}
    for sold, offering in _reserved(market):
        pool, worth = (sold.type.name, offering.zone), (-offering.reservation_capacity, offering.reservation_id or "")
        best[pool] = min(best.get(pool, worth), worth)
    if not best:
        return market
    return _with_reserved(market, lambda sold, o: best[sold.type.name, o.zone][1] == (o.reservation_id or ""))


def _nothing_exotic(market: Market, wanted: Requirements) -> Market:
    """Bare metal and accelerators are for those who ask for nothing else."""
    if _has_min_values(wanted):
        return market
    return [sold for sold in market if not _is_exotic(sold.type)] or market


def _is_exotic(instance_type: InstanceType) -> bool:
    size = instance_type.requirements.get(labels.INSTANCE_SIZE)
    is_metal = _METAL in ((size.single() if size else None) or "")
    return is_metal or any(instance_type.capacity.get(name, 0) for name in _EXOTIC)


def _no_dear_spot(market: Market, wanted: Requirements) -> Market:
    """Spot that costs more than the cheapest on-demand machine is not worth its interruptions."""
    if _has_min_values(wanted):
        return market
    on_demand = [offering.sort_price for sold in market for offering in sold.bought_as(core.ON_DEMAND)]
    if not on_demand or not any(sold.bought_as(core.SPOT) for sold in market):
        return market
    limit = min(on_demand)
    left = (
        sold.only(each for each in sold.offerings if each.capacity_type != core.SPOT or each.sort_price <= limit)
        for sold in market
    )
    return [sold for sold in left if sold.offerings]


_FILTERS: Final[tuple[Callable[[Market, Requirements], Market], ...]] = (
    _one_kind_of_reservation,
    _one_capacity_block,
    _one_reservation_a_pool,
    _nothing_exotic,
    _no_dear_spot,
)


# What filters are made of


def _reserved(market: Market) -> Iterator[tuple[_Sold, Offering]]:
    return ((sold, offering) for sold in market for offering in sold.bought_as(core.RESERVED))


def _with_reserved(market: Market, is_kept: Callable[[_Sold, Offering], bool]) -> Market:
    """With the reserved offerings for which that holds, and no others; types that have none are left out."""
    found = (sold.only(each for each in sold.bought_as(core.RESERVED) if is_kept(sold, each)) for sold in market)
    return [sold for sold in found if sold.offerings]


def _has_min_values(wanted: Requirements) -> bool:
    return any(requirement.min_values for requirement in wanted.values())


def _lacking_values(market: Market, wanted: Requirements) -> tuple[str, ...]:
    """The labels of which the types have fewer different values than the claim wants them to have."""
    return tuple(
        sorted(
            key
            for key, requirement in wanted.items()
            if requirement.min_values and len(_values(market, requirement)) < requirement.min_values
        )
    )


def _values(market: Market, wanted: Requirement) -> set[str]:
    held = (sold.type.requirements.get(wanted.key) for sold in market)
    return {value for each in held if each is not None and not each.complement for value in each.values}


# What is settled on


def _capacity_type(market: Market) -> str:
    """What was paid for already, else what is cheap, else what is dear."""
    had = {offering.capacity_type for sold in market for offering in sold.offerings}
    return next((kind for kind in (core.RESERVED, core.SPOT) if kind in had), core.ON_DEMAND)


def _tenancy(wanted: Requirements) -> str:
    asked = wanted.get(labels.INSTANCE_TENANCY)
    is_shared = asked is None or asked.has(labels.DEFAULT_TENANCY)
    return labels.DEFAULT_TENANCY if is_shared else labels.DEDICATED_TENANCY
