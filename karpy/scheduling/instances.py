"""Instance types as columns: which of them satisfy requirements, fit requests, can be had, and at what price.

Each type is one bit of an ``int``. A requirement, an amount of a resource, a set of allowed offerings becomes a mask once,
and is then combined with others by ``&``; so a question about hundreds of types costs a few machine words. Bits are in order
of price, so the lowest set bit is the cheapest type wherever prices do not depend on the choice of offering.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, Price
from karpy.requirements import NEGATIVE, Requirement, Requirements

__all__ = ["OfferingChoice", "TypeColumns", "bits", "columns"]


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


class OfferingChoice(NamedTuple):
    """The offerings that some requirements allow: who has one, and types by their cheapest one.

    ``by_price`` holds (price, bit) in ascending order, ties by the type's name.
    """

    mask: int
    by_price: tuple[tuple[Price, int], ...]


class TypeColumns:
    """A catalog by columns. Everything is derived from the catalog; answers are remembered."""

    def __init__(self, types: InstanceTypes) -> None:
        self.types: tuple[InstanceType, ...] = tuple(sorted(types, key=lambda t: (_list_price(t), t.name)))
        self.all = (1 << len(self.types)) - 1
        self._by_requirement = _group_requirements(self.types)
        self._allocatable = _amounts(self.types, allocatable=True)
        self._capacity = _amounts(self.types, allocatable=False)
        self._requirement_masks: dict[Requirement, int] = {}
        self._choices: dict[Requirements, OfferingChoice] = {}
        offering_keys = {key for t in self.types for o in t.offerings for key in o.requirements}
        self.offering_keys = frozenset(offering_keys)
        self._offerings = _group_offerings(self.types)

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

    def fitting(self, name: str, amount: int) -> int:
        """Types that have ``amount`` of resource ``name`` for pods."""
        return _at_least(self._allocatable.get(name), amount, self.all)

    def fitting_all(self, amounts: Mapping[str, int]) -> int:
        mask = self.all
        for name, amount in amounts.items():
            mask &= _at_least(self._allocatable.get(name), amount, self.all)
        return mask

    def not_larger(self, name: str, amount: int) -> int:
        """Types whose whole capacity of ``name`` is at most ``amount``."""
        return self.all & ~_at_least(self._capacity.get(name), amount + 1, 0 if amount >= 0 else self.all)

    def largest(self, name: str, mask: int) -> int:
        """The greatest capacity of ``name`` among the types of ``mask``."""
        return max((self.types[bit].capacity.get(name, 0) for bit in bits(mask)), default=0)

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
        mask = sum(1 << bit for bit in best)
        ranked = sorted(best.items(), key=lambda held: (held[1], self.types[held[0]].name))
        return OfferingChoice(mask, tuple((price, bit) for bit, price in ranked))

    def allowed_values(self, key: str, mask: int, requirements: Requirements) -> tuple[str, ...]:
        """Values of an offering key (zone, capacity type) that available, allowed offerings of these types have, sorted."""
        found = set()
        for held, prices in self._offerings.items():
            if held.intersects(requirements) is None and any(mask >> bit & 1 for bit, _price in prices):
                value = held[key].single() if key in held else None
                if value is not None:
                    found.add(value)
        return tuple(sorted(found))

    def cheapest(self, mask: int, choice: OfferingChoice, limit: int) -> tuple[tuple[Price, InstanceType], ...]:
        """At most ``limit`` types of ``mask``, by price, then name."""
        taken = []
        for price, bit in choice.by_price:
            if mask >> bit & 1:
                taken.append((price, self.types[bit]))
                if len(taken) == limit:
                    break
        return tuple(taken)

    def mask_of(self, names: Iterable[str]) -> int:
        """The types of these names."""
        wanted = frozenset(names)
        return sum(1 << bit for bit, instance_type in enumerate(self.types) if instance_type.name in wanted)


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
        for offering in instance_type.offerings:
            if offering.available:
                grouped.setdefault(offering.requirements, []).append((bit, _price(offering)))
    return grouped


def _price(offering: Offering) -> Price:
    return offering.sort_price


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


def _at_least(table: _Amounts | None, amount: int, when_nothing_is_asked: int) -> int:
    if amount <= 0:
        return when_nothing_is_asked
    if table is None:
        return 0
    index = bisect.bisect_left(table[0], amount)
    return table[1][index] if index < len(table[1]) else 0
