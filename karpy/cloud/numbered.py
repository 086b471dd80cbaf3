"""The offerings of a catalog, numbered, so that sets of them are masks: what requirements select, and a catalog with some of it
changed."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import NamedTuple

import attrs

from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering
from karpy.objects.nodeoverlay import PriceChange
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources

__all__ = ["Edits", "NumberedOfferings", "Selection", "edited"]


class Selection(NamedTuple):
    """Offerings, as a mask; and all offerings of their types: a machine has its capacity however it was bought."""

    mask: int
    whole: int


class NumberedOfferings:
    """The offerings of a catalog, numbered in the order of its types."""

    def __init__(self, types: InstanceTypes) -> None:
        self.types = types
        self.first: list[int] = []
        total = 0
        for instance_type in types:
            self.first.append(total)
            total += len(instance_type.offerings)

    def select(self, asked: Requirements, known_of_pool: Requirements) -> Selection:
        """The offerings that ``asked`` allows, of the types that are strictly compatible with it in such a pool."""
        mask = whole = 0
        verdicts: dict[tuple[Requirement | None, ...], bool] = {}
        allowed: dict[Requirements, bool] = {}
        for index, instance_type in enumerate(self.types):
            held = tuple(instance_type.requirements.get(key) for key in asked)
            if held not in verdicts:
                own = Requirements(requirement for requirement in held if requirement is not None)
                verdicts[held] = (own & known_of_pool).compatible(asked) is None
            if not verdicts[held]:
                continue
            part = 0
            for number, offering in enumerate(instance_type.offerings):
                fits = allowed.get(offering.requirements)
                if fits is None:
                    fits = allowed[offering.requirements] = offering.requirements.intersects(asked) is None
                part |= fits << number
            if part:
                mask |= part << self.first[index]
                whole |= self.of_type(index)
        return Selection(mask, whole)

    def of_type(self, index: int) -> int:
        """The offerings of one type."""
        return ((1 << len(self.types[index].offerings)) - 1) << self.first[index]

    def split(self, mask: int) -> Iterator[tuple[int, InstanceType, int]]:
        """The types that have an offering in ``mask``: their index, themselves, and which of their own offerings these are."""
        while mask:
            lowest = (mask & -mask).bit_length() - 1
            index = bisect.bisect_right(self.first, lowest) - 1
            part = mask & self.of_type(index)
            yield index, self.types[index], part >> self.first[index]
            mask ^= part


@attrs.frozen
class Edits:
    """What is to be changed in a catalog. Nothing is in it twice."""

    prices: tuple[tuple[int, PriceChange], ...] = ()
    """Offerings, and what becomes of their price."""
    amounts: tuple[tuple[str, int, int], ...] = ()
    """A resource, an amount, and the offerings of the types that have so much of it."""


def edited(types: InstanceTypes, edits: Edits) -> InstanceTypes:
    """The catalog after the edits; itself when nothing comes of them."""
    numbered = types.derived(NumberedOfferings)
    changed = list(types)
    for mask, change in edits.prices:
        for index, _type, part in numbered.split(mask):
            changed[index] = _repriced(changed[index], part, change)
    amounts: dict[int, dict[str, int]] = {}
    for name, amount, mask in edits.amounts:
        for index, _type, _part in numbered.split(mask):
            amounts.setdefault(index, {})[name] = amount
    for index, added in amounts.items():
        capacity = Resources({**changed[index].capacity, **added})
        changed[index] = attrs.evolve(changed[index], capacity=capacity, capacity_overlaid=True)
    same = all(new is old for new, old in zip(changed, types, strict=True))
    return types if same else InstanceTypes(changed)


def _repriced(instance_type: InstanceType, part: int, change: PriceChange) -> InstanceType:
    offerings = tuple(
        _repriced_offering(offering, change) if part >> number & 1 else offering
        for number, offering in enumerate(instance_type.offerings)
    )
    same = all(new is old for new, old in zip(offerings, instance_type.offerings, strict=True))
    return instance_type if same else attrs.evolve(instance_type, offerings=offerings)


def _repriced_offering(offering: Offering, change: PriceChange) -> Offering:
    price = change.of(offering.price if offering.has_price else None)
    return offering if price is None else attrs.evolve(offering, price=price, price_overlaid=True)
