"""What can be bought of a catalog: types by their price, and reserved offerings, of which there is only so much.

Types are bits of a mask, as `karpy.scheduling.instances` numbers them.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import InstanceType, Offering, Price
from karpy.requirements import Requirements

__all__ = ["OfferingChoice", "PriceOrder", "PricedType", "ReservedOffering", "reserved_offerings", "to_be_had"]

_MOST_LISTED = 256
"""How many lists of types are remembered for others."""

_AS_FLAGS = bytes.maketrans(b"01", b"\0\1")


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
    for each of them. ``sold_as``: by capacity type the types that can be bought as that.
    """

    __slots__ = ("_order", "_sold_as", "by_price", "mask")

    def __init__(self, by_price: tuple[tuple[PricedType, int], ...], sold_as: Mapping[str, int]) -> None:
        self.by_price = by_price
        self._sold_as = sold_as
        self.mask = sum(bit for _, bit in by_price)
        self._order: PriceOrder | None = None

    @property
    def order(self) -> PriceOrder:
        if self._order is None:
            self._order = PriceOrder(self.by_price)
        return self._order

    def capacity_types(self, mask: int) -> tuple[str, ...]:
        """As what the types of ``mask`` can be bought."""
        return tuple(sorted(capacity_type for capacity_type, types in self._sold_as.items() if types & mask))


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


def to_be_had(instance_type: InstanceType) -> Iterator[Offering]:
    """The offerings that can be had now. One of a capacity type that the type itself does not come in is a slip of the catalog."""
    comes_in = instance_type.requirements.get(labels.CAPACITY_TYPE)
    for offering in instance_type.offerings:
        if offering.available and (comes_in is None or comes_in.has(offering.capacity_type)):
            yield offering


def reserved_offerings(types: Sequence[InstanceType]) -> tuple[ReservedOffering, ...]:
    """Reserved capacity that can be had, the cheapest first."""
    found = [
        ReservedOffering(
            *(1 << bit, offering.reservation_id, _naming(offering), offering.reservation_capacity),
            *(offering.sort_price, offering.requirements),
        )
        for bit, instance_type in enumerate(types)
        for offering in to_be_had(instance_type)
        if offering.reservation_id and offering.capacity_type == labels.RESERVED
    ]
    return tuple(sorted(found, key=lambda offering: (offering.price, offering.reservation, offering.bit)))


def _naming(offering: Offering) -> str:
    """The label whose value is the reservation's ID; empty where the provider has none."""
    return next((key for key, r in offering.requirements.items() if r.single() == offering.reservation_id), "")
