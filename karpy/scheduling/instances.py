"""Instance types as columns: which of them satisfy requirements, fit requests, can be had, and at what price.

Each type is one bit of an ``int``; a type of which different machines can be had, because offerings override capacity or overhead,
has one bit for each of them, so that what fits and what can be bought are judged together. A requirement, an amount of a resource,
a set of allowed offerings becomes a mask once, and is then combined with others by ``&``; so a question about hundreds of types
costs a few machine words. Bits are in order of price, so the lowest set bit is the cheapest type wherever prices do not depend on
the choice of offering.
"""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, Price, allocatable_groups
from karpy.labels import CORE_LABELS, LabelSpec
from karpy.requirements import NEGATIVE, Requirement, Requirements

__all__ = ["OfferingChoice", "PriceOrder", "PricedType", "ReservedOffering", "TypeColumns", "bits", "columns"]


_MOST_LISTED = 256
"""How many lists of types are remembered for others."""

_AS_FLAGS = bytes.maketrans(b"01", b"\0\1")


def columns(types: InstanceTypes) -> TypeColumns:
    """The columns of a catalog, built once and remembered on it."""
    return types.derived(TypeColumns)


def bits(mask: int) -> Iterator[int]:
    """Indexes of the set bits, lowest first.

    >>> list(bits(0b1010))
    [1, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@attrs.frozen
class PricedType:
    """An instance type on offer, and its cheapest price per hour under the requirements at hand.

    The marks say whether a NodeOverlay has a say in the price of an offering that may be bought, or in the capacity.
    """

    name: str
    price: Price
    price_overlaid: bool = False
    capacity_overlaid: bool = False


@attrs.frozen
class ReservedOffering:
    """An offering of which there is only so much. ``bit`` is its type's, as a mask; ``key`` the label that says which it is."""

    bit: int
    reservation: str
    key: str
    units: int
    price: Price
    requirements: Requirements


class OfferingChoice:
    """The offerings that some requirements allow: the types that have one, and these by their cheapest, ties by name.

    Each entry of ``by_price`` is the type with that price, and the type's bit as a mask. A type with several bits is there once
    for each of them.
    """

    __slots__ = ("_order", "by_price", "mask")

    def __init__(self, by_price: tuple[tuple[PricedType, int], ...]) -> None:
        self.by_price = by_price
        self.mask = sum(bit for _, bit in by_price)
        self._order: PriceOrder | None = None

    @property
    def order(self) -> PriceOrder:
        if self._order is None:
            self._order = PriceOrder(self.by_price)
        return self._order


class PriceOrder:
    """Finds the cheapest type of a mask without walking the list."""

    __slots__ = ("_by_price", "_listed", "_ranks", "_reached")

    def __init__(self, by_price: tuple[tuple[PricedType, int], ...]) -> None:
        self._by_price = by_price
        self._reached = list(itertools.accumulate((bit for _, bit in by_price), operator.or_))
        """At each index the types that stand there or before."""
        ranks = {bit.bit_length() - 1: rank for rank, (_, bit) in enumerate(by_price)}
        self._ranks = [ranks.get(bit, -1) for bit in range(max(ranks, default=-1) + 1)]
        """By the type's bit where it stands."""
        self._listed: dict[int, tuple[PricedType, ...]] = {}

    def first(self, mask: int) -> tuple[PricedType, int]:
        """The cheapest type of ``mask`` and its bit. One of them must be on offer."""
        reached, low, high = self._reached, 0, len(self._reached) - 1
        while low < high:
            middle = (low + high) // 2
            if reached[middle] & mask:
                high = middle
            else:
                low = middle + 1
        return self._by_price[low]

    def all(self, mask: int) -> tuple[PricedType, ...]:
        """The types of ``mask``, all of which must be on offer, by price. Machines that may be the same share the list."""
        known = self._listed.get(mask)
        if known is not None:
            return known
        if len(self._listed) >= _MOST_LISTED:
            self._listed.clear()
        chosen = f"{mask:b}"[::-1].encode().translate(_AS_FLAGS)
        by_price = self._by_price
        found = tuple([by_price[rank][0] for rank in sorted(itertools.compress(self._ranks, chosen))])
        self._listed[mask] = found
        return found


class TypeColumns:
    """A catalog by columns. Everything is derived from the catalog; answers are remembered."""

    def __init__(self, types: InstanceTypes) -> None:
        machines = [machine for listed in types for machine in allocatable_groups(listed)]
        self.types: tuple[InstanceType, ...] = tuple(sorted(machines, key=lambda t: (_list_price(t), t.name)))
        self._siblings = _siblings(self.types) if len(machines) > len(types) else ()
        self.all = (1 << len(self.types)) - 1
        self._by_requirement = _group_requirements(self.types)
        self._allocatable = _amounts(self.types, allocatable=True)
        self._capacity = _amounts(self.types, allocatable=False)
        self._requirement_masks: dict[Requirement, int] = {}
        self._choices: dict[Requirements, OfferingChoice] = {}
        self._by_value: dict[str, dict[str, int]] = {}
        offering_keys = {key for t in types for o in t.offerings for key in o.requirements}
        self.offering_keys = frozenset(offering_keys)
        self._offerings = _group_offerings(self.types)
        self.reserved_offerings = _reserved_offerings(self.types)
        self._overlaid_prices = _overlaid_prices(self.types)
        self._at_price: dict[tuple[Price, str, int], PricedType] = {}

    def known_to(self, spec: LabelSpec) -> LabelSpec:
        """``spec`` without the keys of other clouds: a key that no type here defines will not be on a node unless a pool puts it
        there."""
        here = CORE_LABELS.well_known | self._by_requirement.keys() | self.offering_keys
        return attrs.evolve(spec, well_known=spec.well_known & here)

    def allowing(self, requirements: Requirements) -> int:
        """Types whose own requirements intersect these."""
        mask = self.all
        for requirement in requirements.values():
            if not mask:
                break
            mask &= self.allowing_one(requirement)
        return mask

    def allowing_one(self, requirement: Requirement) -> int:
        """Types that can have a value which ``requirement`` allows; a key that a type does not define never excludes it."""
        known = self._requirement_masks.get(requirement)
        if known is not None:
            return known
        negative = requirement.operator in NEGATIVE
        mask = self.all
        for held, having in self._by_requirement.get(requirement.key, {}).items():
            if not (held.intersects(requirement) or (negative and held.operator in NEGATIVE)):
                mask &= ~having
        self._requirement_masks[requirement] = mask
        return mask

    def requirements_on(self, key: str) -> tuple[Requirement, ...]:
        """The different requirements that types have on ``key``."""
        return tuple(self._by_requirement.get(key, ()))

    def fitting(self, name: str, amount: int) -> int:
        """Types that have ``amount`` of resource ``name`` for pods."""
        return _at_least(self._allocatable.get(name), amount, self.all)

    def fitting_all(self, amounts: Mapping[str, int]) -> int:
        mask = self.all
        for name, amount in amounts.items():
            mask &= _at_least(self._allocatable.get(name), amount, self.all)
        return mask

    def not_larger(self, name: str, amount: int) -> int:
        """Types whose whole capacity of ``name`` is at most ``amount``, however they are bought."""
        mask = self.all & ~_at_least(self._capacity.get(name), amount + 1, 0 if amount >= 0 else self.all)
        for together in self._siblings:
            if together & ~mask:
                mask &= ~together
        return mask

    def largest(self, name: str, mask: int) -> int:
        """The greatest capacity of ``name`` among the types of ``mask``."""
        distinct, suffixes = self._capacity.get(name, ([], []))
        for amount, having in zip(reversed(distinct), reversed(suffixes), strict=True):
            if having & mask:
                return amount
        return 0

    def rooms(self, name: str, mask: int) -> set[int]:
        """The different amounts of ``name`` that the types of ``mask`` have for pods."""
        return _distinct(self._allocatable.get(name), mask)

    def capacities(self, name: str, mask: int) -> set[int]:
        """The different capacities of ``name`` among the types of ``mask``."""
        return _distinct(self._capacity.get(name), mask)

    def choice(self, requirements: Requirements) -> OfferingChoice:
        """The available offerings that ``requirements`` allow."""
        wanted = Requirements(requirements[key] for key in sorted(self.offering_keys) if key in requirements)
        known = self._choices.get(wanted)
        if known is None:
            known = self._choices[wanted] = self._choose(wanted)
        return known

    def _choose(self, wanted: Requirements) -> OfferingChoice:
        best: dict[int, Price] = {}
        for held, prices in self._offerings.items():
            if held.intersects(wanted) is None:
                for bit, price in prices:
                    if price < best.get(bit, math.inf) or bit not in best:
                        best[bit] = price
        overlaid = 0
        for held, having in self._overlaid_prices.items():
            if held.intersects(wanted) is None:
                overlaid |= having
        ranked = sorted((price, self.types[bit].name, bit) for bit, price in best.items())
        return OfferingChoice(tuple((self._priced(entry, overlaid), 1 << entry[2]) for entry in ranked))

    def _priced(self, entry: tuple[Price, str, int], overlaid: int) -> PricedType:
        """The type of a bit at a price. Choices mostly agree on prices, so they share what is made here."""
        price, name, bit = entry
        if overlaid >> bit & 1:
            return PricedType(name, price, True, self.types[bit].capacity_overlaid)
        known = self._at_price.get(entry)
        if known is None:
            known = self._at_price[entry] = PricedType(name, price, False, self.types[bit].capacity_overlaid)
        return known

    def cheapest(self, mask: int, choice: OfferingChoice, limit: int) -> tuple[PricedType, ...]:
        """At most ``limit`` types of ``mask``, by price, then name; each once, at its cheapest."""
        allowed = choice.order.all(mask & choice.mask)
        return tuple(_each_once(allowed) if self._siblings else allowed)[:limit]

    def count(self, mask: int) -> int:
        """How many types ``mask`` has; one that has several bits counts once."""
        return mask.bit_count() - sum(max((mask & together).bit_count() - 1, 0) for together in self._siblings)

    def mask_of(self, priced: Iterable[PricedType]) -> int:
        """These types as a mask."""
        names = {found.name for found in priced}
        return sum(1 << bit for bit, instance_type in enumerate(self.types) if instance_type.name in names)

    def different_values(self, key: str, mask: int) -> int:
        """How many different values of ``key`` the types of ``mask`` have between them."""
        return sum(1 for having in self._values_of(key).values() if having & mask)

    def _values_of(self, key: str) -> dict[str, int]:
        known = self._by_value.get(key)
        if known is None:
            known = self._by_value[key] = {}
            for held, having in self._by_requirement.get(key, {}).items():
                for value in () if held.complement else held.values:
                    known[value] = known.get(value, 0) | having
        return known


def _siblings(types: Sequence[InstanceType]) -> tuple[int, ...]:
    """The bits of each type that has several."""
    held: dict[str, int] = {}
    for bit, machine in enumerate(types):
        held[machine.name] = held.get(machine.name, 0) | 1 << bit
    return tuple(mask for mask in held.values() if mask.bit_count() > 1)


def _each_once(allowed: Iterable[PricedType]) -> Iterator[PricedType]:
    """The first of each name."""
    seen: set[str] = set()
    for priced in allowed:
        if priced.name not in seen:
            seen.add(priced.name)
            yield priced


def _list_price(instance_type: InstanceType) -> Price:
    return min((o.sort_price for o in instance_type.offerings if o.available), default=math.inf)


def _group_requirements(types: Sequence[InstanceType]) -> dict[str, dict[Requirement, int]]:
    """Per key: each requirement that some type has on it, and who has it."""
    grouped: dict[str, dict[Requirement, int]] = {}
    for bit, instance_type in enumerate(types):
        for key, requirement in instance_type.requirements.items():
            holders = grouped.setdefault(key, {})
            holders[requirement] = holders.get(requirement, 0) | 1 << bit
    return grouped


def _group_offerings(types: Sequence[InstanceType]) -> dict[Requirements, list[tuple[int, Price]]]:
    """Each set of requirements that some available offering has: the types that have it, with their price."""
    grouped: dict[Requirements, list[tuple[int, Price]]] = {}
    for bit, instance_type in enumerate(types):
        for offering in _to_be_had(instance_type):
            grouped.setdefault(offering.requirements, []).append((bit, _price(offering)))
    return grouped


def _to_be_had(instance_type: InstanceType) -> Iterator[Offering]:
    """The offerings that can be had now. One of a capacity type that the type itself does not come in is a slip of the catalog."""
    comes_in = instance_type.requirements.get(labels.CAPACITY_TYPE)
    for offering in instance_type.offerings:
        if offering.available and (comes_in is None or comes_in.has(offering.capacity_type)):
            yield offering


def _reserved_offerings(types: Sequence[InstanceType]) -> tuple[ReservedOffering, ...]:
    """Reserved capacity that can be had, the cheapest first."""
    found = [
        ReservedOffering(
            *(1 << bit, offering.reservation_id, _naming(offering), offering.reservation_capacity),
            *(offering.sort_price, offering.requirements),
        )
        for bit, instance_type in enumerate(types)
        for offering in _to_be_had(instance_type)
        if offering.reservation_id and offering.capacity_type == labels.RESERVED
    ]
    return tuple(sorted(found, key=lambda offering: (offering.price, offering.reservation, offering.bit)))


def _naming(offering: Offering) -> str:
    """The label whose value is the reservation's ID; empty where the provider has none."""
    return next((key for key, r in offering.requirements.items() if r.single() == offering.reservation_id), "")


def _price(offering: Offering) -> Price:
    return offering.sort_price


def _overlaid_prices(types: Sequence[InstanceType]) -> dict[Requirements, int]:
    """Each set of requirements that some available offering with an overlaid price has: the types that have it."""
    grouped: dict[Requirements, int] = {}
    for bit, instance_type in enumerate(types):
        for offering in instance_type.offerings:
            if offering.price_overlaid and offering.available:
                grouped[offering.requirements] = grouped.get(offering.requirements, 0) | 1 << bit
    return grouped


_Amounts = tuple[list[int], list[int]]
"""Distinct amounts in ascending order; at each index the mask of the types that have at least so much."""


def _amounts(types: Sequence[InstanceType], *, allocatable: bool) -> dict[str, _Amounts]:
    holders: dict[str, dict[int, int]] = {}
    for bit, instance_type in enumerate(types):
        for name, amount in (instance_type.allocatable if allocatable else instance_type.capacity).items():
            by_amount = holders.setdefault(name, {})
            by_amount[amount] = by_amount.get(amount, 0) | 1 << bit
    table = {}
    for name, by_amount in holders.items():
        distinct = sorted(by_amount)
        suffixes, mask = [0] * len(distinct), 0
        for index in range(len(distinct) - 1, -1, -1):
            mask |= by_amount[distinct[index]]
            suffixes[index] = mask
        table[name] = (distinct, suffixes)
    return table


def _distinct(table: _Amounts | None, mask: int) -> set[int]:
    amounts, suffixes = table or ([], [])
    above = (*suffixes[1:], 0)[: len(suffixes)]
    return {amount for amount, having, more in zip(amounts, suffixes, above, strict=True) if having & ~more & mask}


def _at_least(table: _Amounts | None, amount: int, when_nothing_is_asked: int) -> int:
    if amount <= 0:
        return when_nothing_is_asked
    if table is None:
        return 0
    index = bisect.bisect_left(table[0], amount)
    return table[1][index] if index < len(table[1]) else 0
