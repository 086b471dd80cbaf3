"""What a cloud sells: instance types, the offerings they come in, and the choice among them.

All are values and shared between callers. The functions at the end return new tuples.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from karpy import labels
from karpy.cloud.volumes import UnsupportedVolumes
from karpy.labels import CORE_LABELS, LabelSpec
from karpy.requirements import Requirement, Requirements
from karpy.resources import MEMORY, PODS, Resources

__all__ = [
    "Catalog",
    "InstanceType",
    "InstanceTypes",
    "Offering",
    "Overhead",
    "Price",
    "allocatable_groups",
    "as_bought",
    "compatible",
    "holding",
    "order_by_price",
]

T = TypeVar("T")

Price = float
"""US dollars per hour."""


_BEYOND_PRICE = 1e9


def is_price(price: Price) -> bool:
    """Whether it is a price that anything can be compared with: above zero, and one that could be paid.

    Nothing that a cloud sells is free, so zero is a price that somebody failed to look up.
    """
    return 0 < price < _BEYOND_PRICE


@functools.lru_cache(maxsize=4_096)
def _place(zone: str, capacity_type: str) -> Requirements:
    """What an offering asks for, as one object for all that are alike."""
    return Requirements((Requirement.in_(labels.ZONE, zone), Requirement.in_(labels.CAPACITY_TYPE, capacity_type)))


def _read_price(price: Any) -> Price:
    """The price as a number; NaN when there is none."""
    try:
        return float(price)
    except (TypeError, ValueError, OverflowError):
        return math.nan


@attrs.frozen
class Offering:
    """One way to buy an instance type: where, as what capacity, at what price, and whether it can be had now.

    A price that is missing (None), zero, negative or not a finite number is no price (see `is_price`): such an offering is never
    preferred over a priced one.

    Bought this way the machine may be another than its type says: ``capacity_override`` has the amounts that differ,
    ``overhead_override`` stands in the place of the type's overhead.
    """

    zone: str
    capacity_type: str
    price: Price = attrs.field(converter=_read_price)
    available: bool = True
    requirements: Requirements = attrs.field(
        default=attrs.Factory(
            lambda self: _place(self.zone, self.capacity_type),
            takes_self=True,
        )
    )
    reservation_id: str | None = None
    reservation_capacity: int = 0
    capacity_override: Resources | None = None
    overhead_override: Overhead | None = None
    price_overlaid: bool = False
    """The price is what a NodeOverlay makes of the cloud's."""

    @property
    def has_price(self) -> bool:
        """An overlay that takes 100 % off means what it says: paid for elsewhere."""
        return is_price(self.price) or (self.price_overlaid and self.price == 0)

    @property
    def sort_price(self) -> Price:
        """What it is compared by: dollars per hour, infinite where there is no price."""
        return self.price if self.has_price else math.inf


@attrs.frozen(cache_hash=True)
class Overhead:
    """What the node keeps for itself, and so is not there for pods."""

    kube_reserved: Resources = Resources()
    system_reserved: Resources = Resources()
    eviction_threshold: Resources = Resources()
    total: Resources = attrs.field(
        init=False,
        eq=False,
        repr=False,
        default=attrs.Factory(
            lambda self: self.kube_reserved + self.system_reserved + self.eviction_threshold, takes_self=True
        ),
    )
    """All of it together."""


@functools.lru_cache(maxsize=8_192)
def _allocatable(capacity: Resources, overhead: Overhead) -> Resources:
    """Capacity less overhead, and memory less what is set aside as huge pages; never below zero.

    A type is copied with other offerings far more often than its machine changes.
    """
    kept = overhead.total.amounts
    room = {name: amount - kept.get(name, 0) for name, amount in capacity.amounts.items()}
    huge = sum([amount for name, amount in room.items() if name.startswith("hugepages-")])
    if huge and MEMORY in room:
        room[MEMORY] -= huge
    return Resources({name: max(0, amount) for name, amount in room.items()})


@attrs.frozen
class InstanceType:
    """A machine model. ``requirements`` define every well-known key: absent where the key does not apply to it."""

    name: str
    requirements: Requirements
    offerings: tuple[Offering, ...]
    capacity: Resources
    overhead: Overhead = Overhead()
    capacity_overlaid: bool = False
    """A NodeOverlay has a say in the capacity."""
    allocatable: Resources = attrs.field(
        init=False,
        eq=False,
        default=attrs.Factory(lambda self: _allocatable(self.capacity, self.overhead), takes_self=True),
    )

    @property
    def max_pods(self) -> int:
        """How many pods the machine takes."""
        return self.capacity.get(PODS, 0)


def as_bought(instance_type: InstanceType, offering: Offering) -> InstanceType:
    """The machine that this offering gives: the type with what the offering overrides."""
    if offering.capacity_override is None and offering.overhead_override is None:
        return instance_type
    return attrs.evolve(
        instance_type,
        capacity=Resources({**instance_type.capacity, **(offering.capacity_override or {})}),
        overhead=instance_type.overhead if offering.overhead_override is None else offering.overhead_override,
    )


def allocatable_groups(instance_type: InstanceType) -> tuple[InstanceType, ...]:
    """The different machines that can be had of a type, each with the offerings that give it; those without overrides first.

    A type that overrides nothing is the only one, as it is. Otherwise offerings that are not to be had now are in no group.
    """
    if all(o.capacity_override is None and o.overhead_override is None for o in instance_type.offerings):
        return (instance_type,)
    groups: dict[tuple[Resources | None, Overhead | None], list[Offering]] = {(None, None): []}
    for offering in instance_type.offerings:
        if offering.available:
            groups.setdefault((offering.capacity_override, offering.overhead_override), []).append(offering)
    found = tuple(
        attrs.evolve(as_bought(instance_type, members[0]), offerings=tuple(members))
        for members in groups.values()
        if members
    )
    return found or (instance_type,)


def holding(instance_type: InstanceType, requests: Resources) -> InstanceType | None:
    """The type with those offerings alone that give a machine for ``requests``; None when there is none."""
    machines = allocatable_groups(instance_type)
    fitting = [machine for machine in machines if requests.fits_in(machine.allocatable)]
    if len(fitting) == len(machines):
        return instance_type
    kept = tuple(offering for machine in fitting for offering in machine.offerings)
    return attrs.evolve(instance_type, offerings=kept) if kept else None


class InstanceTypes(Sequence[InstanceType]):
    """The catalog of one node class: an immutable sequence that derived tables may be remembered on.

    Providers give the same object again while nothing changed, so that what was computed from it is reused.
    """

    __slots__ = ("_by_name", "_derived", "_types")

    def __init__(self, types: Iterable[InstanceType] = ()) -> None:
        self._types = tuple(types)
        self._derived: dict[object, Any] = {}
        self._by_name = {instance_type.name: instance_type for instance_type in self._types}

    def __getitem__(self, index: Any) -> Any:
        return self._types[index]

    def __len__(self) -> int:
        return len(self._types)

    def __iter__(self) -> Iterator[InstanceType]:
        return iter(self._types)

    def derived(self, build: Callable[[InstanceTypes], T]) -> T:
        """``build(self)``, remembered for as long as this catalog lives."""
        if build not in self._derived:
            self._derived[build] = build(self)
        found: T = self._derived[build]
        return found

    def by_name(self, name: str) -> InstanceType | None:
        """The type of this name; None when it is not sold here."""
        return self._by_name.get(name)

    def __repr__(self) -> str:
        return f"InstanceTypes({len(self._types)} types)"


@attrs.frozen
class Catalog:
    """What can be bought: the instance types of each pool, by the pool's name, what their label keys mean, and which volumes
    they cannot use.

    Pools that share a node class share the `InstanceTypes` object.
    """

    types: Mapping[str, InstanceTypes] = attrs.field(factory=dict)
    labels: LabelSpec = CORE_LABELS
    unsupported_volumes: UnsupportedVolumes = UnsupportedVolumes()


def offerings_for(instance_type: InstanceType, wanted: Requirements) -> tuple[Offering, ...]:
    """The offerings to be had now that ``wanted`` allows, cheapest first; ties by zone, then capacity type."""
    allowed = (o for o in instance_type.offerings if o.available and o.requirements.intersects(wanted) is None)
    return tuple(sorted(allowed, key=lambda o: (o.sort_price, o.zone, o.capacity_type)))


def cheapest(instance_type: InstanceType, wanted: Requirements) -> Offering | None:
    """The cheapest offering to be had now that ``wanted`` allows, or None."""
    found = offerings_for(instance_type, wanted)
    return found[0] if found else None


def compatible(types: Iterable[InstanceType], wanted: Requirements) -> tuple[InstanceType, ...]:
    """The types that ``wanted`` allows and that can be had now."""
    return tuple(
        instance_type
        for instance_type in types
        if instance_type.requirements.intersects(wanted) is None and cheapest(instance_type, wanted) is not None
    )


def order_by_price(types: Iterable[InstanceType], wanted: Requirements) -> tuple[InstanceType, ...]:
    """``types`` by their cheapest allowed offering, ties by name; those that cannot be had come last."""

    def price(instance_type: InstanceType) -> tuple[Price, str]:
        offering = cheapest(instance_type, wanted)
        return (math.inf if offering is None else offering.sort_price, instance_type.name)

    return tuple(sorted(types, key=price))


def current_price(instance_type: InstanceType, zone: str, capacity_type: str) -> Price | None:
    """The price of an instance that runs already; whether the offering can be had now does not matter."""
    for offering in instance_type.offerings:
        if offering.zone == zone and offering.capacity_type == capacity_type and offering.has_price:
            return offering.price
    return None
