"""What a launch is asked for: of all that a claim allows, the instance types and offerings that a fleet may choose from.

Each filter takes what the one before left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import (
    InstanceType,
    Offering,
    Price,
    cheapest,
    compatible,
    holding,
    offerings_for,
    order_by_price,
)
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

Types = Sequence[InstanceType]


@attrs.frozen(kw_only=True)
class Choice:
    """What a fleet is asked for. ``wanted`` is what the claim requires, with the capacity type that was settled on."""

    types: tuple[InstanceType, ...]
    """The cheapest first."""
    wanted: Requirements
    capacity_type: str
    tenancy: str
    partition: int | None = None
    """Of the placement group, when the claim asks for one."""

    def offerings(self, instance_type: InstanceType) -> tuple[Offering, ...]:
        """The offerings of a type that will do: the cheapest first."""
        return offerings_for(instance_type, self.wanted)


def choose(
    types: Iterable[InstanceType], wanted: Requirements, requests: Resources, *, strict_min_values: bool = True
) -> Choice:
    """What to launch of ``types`` for a claim that requires ``wanted`` and asks for ``requests``.

    Raises:
        InsufficientCapacity: nothing will do, or too little to meet ``minValues``.
    """
    left: Types = tuple(types)
    for keep in _FILTERS:
        left = keep(left, wanted, requests)
        if not left:
            raise InsufficientCapacity("all requested instance types were unavailable during launch")
    ordered = order_by_price(left, wanted)[:MOST_TYPES]
    lacking = _lacking_values(ordered, wanted) if strict_min_values else ()
    if lacking:
        told = ", ".join(lacking)
        raise InsufficientCapacity(
            f"minValues requirement is not met for label(s) {told} by the {len(ordered)} cheapest instance types"
        )
    capacity_type = _capacity_type(ordered, wanted)
    return Choice(
        types=ordered,
        wanted=wanted & Requirements([Requirement.in_(core.CAPACITY_TYPE, capacity_type)]),
        capacity_type=capacity_type,
        tenancy=_tenancy(wanted),
        partition=wanted_partition(wanted),
    )


def flexibility_warning(wanted: Requirements, capacity_type: str, type_count: int) -> str:
    """What to warn of when on-demand machines are launched though spot is allowed, and few types remain; empty otherwise."""
    if capacity_type != core.ON_DEMAND or not _allows(wanted, core.SPOT) or type_count >= _FLEXIBLE:
        return ""
    return (
        f"at least {_FLEXIBLE} instance types are recommended when flexible to spot but requesting on-demand, "
        f"the current provisioning request only has {type_count} instance type options"
    )


# Filters


def _to_be_had(types: Types, wanted: Requirements, requests: Resources) -> Types:
    """What the claim allows, holds what it asks for, and is there."""
    able = (found for each in types if (found := holding(each, requests)) is not None)
    return compatible(able, wanted)


def _one_kind_of_reservation(types: Types, wanted: Requirements, _requests: Resources) -> Types:
    """A fleet launches into one kind of reservation only: that of the cheapest offering."""
    had = [(each, Reservation.of(each.offering)) for each in _reserved(types, wanted)]
    if not had:
        return types
    _, best = min(had, key=lambda each: (each[0].offering.sort_price, _preference(each[1])))
    return _with_offerings(types, [each for each, kind in had if _preference(kind) == _preference(best)])


def _preference(reservation: Reservation) -> tuple[bool, bool]:
    """The smaller one where prices are the same."""
    return (reservation.interruptible, reservation.kind == CAPACITY_BLOCK)


def _one_capacity_block(types: Types, wanted: Requirements, _requests: Resources) -> Types:
    """A fleet takes a single capacity block."""
    blocks = [each for each in _reserved(types, wanted) if Reservation.of(each.offering).kind == CAPACITY_BLOCK]
    return _with_offerings(types, [min(blocks, key=_price_and_place)]) if blocks else types


def _price_and_place(sold: _Sold) -> tuple[float, str, str, str]:
    return (sold.offering.sort_price, sold.type_name, sold.offering.zone, sold.offering.reservation_id or "")


def _one_reservation_a_pool(types: Types, wanted: Requirements, _requests: Resources) -> Types:
    """Of each type in each zone the reservation with the most machines left: a fleet takes every pool once."""
    best: dict[tuple[str, str], _Sold] = {}
    for sold in _reserved(types, wanted):
        pool = (sold.type_name, sold.offering.zone)
        if pool not in best or best[pool].offering.reservation_capacity < sold.offering.reservation_capacity:
            best[pool] = sold
    return _with_offerings(types, best.values()) if best else types


def _nothing_exotic(types: Types, wanted: Requirements, _requests: Resources) -> Types:
    """Bare metal and accelerators are for those who ask for nothing else."""
    if _has_min_values(wanted):
        return types
    return [each for each in types if not _is_exotic(each)] or types


def _is_exotic(instance_type: InstanceType) -> bool:
    size = instance_type.requirements.get(labels.INSTANCE_SIZE)
    is_metal = _METAL in ((size.single() if size else None) or "")
    return is_metal or any(instance_type.capacity.get(name, 0) for name in _EXOTIC)


def _no_dear_spot(types: Types, wanted: Requirements, _requests: Resources) -> Types:
    """Spot that costs more than the cheapest on-demand machine is not worth its interruptions."""
    if _has_min_values(wanted) or not (_allows(wanted, core.SPOT) and _allows(wanted, core.ON_DEMAND)):
        return types
    had = [offering for type_ in types for offering in offerings_for(type_, wanted)]
    on_demand = [offering.sort_price for offering in had if offering.capacity_type == core.ON_DEMAND]
    if not on_demand or not any(offering.capacity_type == core.SPOT for offering in had):
        return types
    limit = min(on_demand)
    return compatible((_without_spot_above(limit, each) for each in types), wanted)


def _without_spot_above(limit: Price, instance_type: InstanceType) -> InstanceType:
    kept = tuple(
        each for each in instance_type.offerings if each.capacity_type != core.SPOT or each.sort_price <= limit
    )
    return instance_type if len(kept) == len(instance_type.offerings) else attrs.evolve(instance_type, offerings=kept)


_FILTERS: Final[tuple[Callable[[Types, Requirements, Resources], Types], ...]] = (
    _to_be_had,
    _one_kind_of_reservation,
    _one_capacity_block,
    _one_reservation_a_pool,
    _nothing_exotic,
    _no_dear_spot,
)


# What filters are made of


@attrs.frozen
class _Sold:
    type_name: str
    offering: Offering


def _reserved(types: Types, wanted: Requirements) -> Iterator[_Sold]:
    """The reserved offerings that will do, by their ids. A claim that does not allow reserved has none."""
    for type_ in types:
        found = (each for each in offerings_for(type_, wanted) if each.capacity_type == core.RESERVED)
        for offering in sorted(found, key=lambda each: each.reservation_id or ""):
            yield _Sold(type_.name, offering)


def _with_offerings(types: Types, kept: Iterable[_Sold]) -> Types:
    """The types with these very offerings alone; those that have none of them are left out."""
    ids = {(sold.type_name, id(sold.offering)) for sold in kept}
    found = (
        attrs.evolve(each, offerings=tuple(o for o in each.offerings if (each.name, id(o)) in ids)) for each in types
    )
    return [each for each in found if each.offerings]


def _allows(wanted: Requirements, capacity_type: str) -> bool:
    asked = wanted.get(core.CAPACITY_TYPE)
    return asked is None or asked.has(capacity_type)


def _has_min_values(wanted: Requirements) -> bool:
    return any(requirement.min_values for requirement in wanted.values())


def _lacking_values(types: Types, wanted: Requirements) -> tuple[str, ...]:
    """The labels of which the types have fewer different values than the claim wants them to have."""
    return tuple(
        sorted(
            key
            for key, requirement in wanted.items()
            if requirement.min_values and len(_values(types, requirement)) < requirement.min_values
        )
    )


def _values(types: Types, wanted: Requirement) -> set[str]:
    held = (type_.requirements.get(wanted.key) for type_ in types)
    return {value for each in held if each is not None and not each.complement for value in each.values}


# What is settled on


def _capacity_type(types: Types, wanted: Requirements) -> str:
    """What was paid for already, else what is cheap, else what is dear."""
    for kind in (core.RESERVED, core.SPOT):
        bought = wanted & Requirements([Requirement.in_(core.CAPACITY_TYPE, kind)])
        if _allows(wanted, kind) and any(cheapest(each, bought) is not None for each in types):
            return kind
    return core.ON_DEMAND


def _tenancy(wanted: Requirements) -> str:
    asked = wanted.get(labels.INSTANCE_TENANCY)
    is_shared = asked is None or asked.has(labels.DEFAULT_TENANCY)
    return labels.DEFAULT_TENANCY if is_shared else labels.DEDICATED_TENANCY
