"""Instance types as columns: which of them satisfy requirements, fit requests, and can be had.

Each type is one bit of an ``int``; a type of which different machines can be had, because offerings override capacity or overhead,
has one bit for each of them, so that what fits and what can be bought are judged together. A requirement, an amount of a resource,
a set of allowed offerings becomes a mask once, and is then combined with others by ``&``; so a question about hundreds of types
costs a few machine words. Bits are in order of price, so the lowest set bit is the cheapest type wherever prices do not depend on
the choice of offering.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Price, allocatable_groups
from karpy.labels import CORE_LABELS, LabelSpec
from karpy.requirements import NEGATIVE, Requirement, Requirements
from karpy.scheduling.offers import OfferingChoice, PricedType, reserved_offerings, to_be_had

__all__ = ["TypeColumns", "bits", "columns"]


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
        self.reserved_offerings = reserved_offerings(self.types)
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
        sold_as: dict[str, int] = {}
        for held, prices in self._offerings.items():
            if held.intersects(wanted) is None:
                for capacity_type in held[labels.CAPACITY_TYPE].values:
                    sold_as[capacity_type] = sold_as.get(capacity_type, 0) | sum(1 << bit for bit, _ in prices)
                for bit, price in prices:
                    if price < best.get(bit, math.inf) or bit not in best:
                        best[bit] = price
        overlaid = 0
        for held, having in self._overlaid_prices.items():
            if held.intersects(wanted) is None:
                overlaid |= having
        ranked = sorted((price, self.types[bit].name, bit) for bit, price in best.items())
        return OfferingChoice(tuple((self._priced(entry, overlaid), 1 << entry[2]) for entry in ranked), sold_as)

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

    def lost(self, scope: int, kept: int) -> int:
        """How many types of ``scope`` have nothing left in ``kept``."""
        return self.count(scope) - self.count(scope & kept)

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
        for offering in to_be_had(instance_type):
            grouped.setdefault(offering.requirements, []).append((bit, offering.sort_price))
    return grouped


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
