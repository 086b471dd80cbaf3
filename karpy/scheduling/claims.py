"""New machines on paper: a `Template` per pool, and `PlannedClaim`s that grow while pods are put on them.

Both are scratch objects of one solve. Requirements only narrow and requests only grow, so a planned claim that once refused
a class of pods refuses it for the rest of the solve.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, Price
from karpy.labels import LabelSpec
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.requirements import NEGATIVE, Requirement, Requirements
from karpy.resources import NODES, Resources
from karpy.scheduling.classes import PodClass
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.daemons import Daemon, DaemonGroup, daemon_groups
from karpy.scheduling.instances import TypeColumns, bits, columns
from karpy.scheduling.lots import Lot
from karpy.scheduling.offers import PricedType, PriceOrder, ReservedOffering
from karpy.scheduling.plan import Launch
from karpy.scheduling.ports import HostPort, clash
from karpy.scheduling.reservations import NOT_RESERVED, RESERVED, Reservations, is_reserved
from karpy.taints import Taint, untolerated

if TYPE_CHECKING:
    from karpy.scheduling.rungs import Options
    from karpy.scheduling.topology import Domains

__all__ = ["Fit", "PlannedClaim", "Shape", "Template", "templates_for"]

#: Known of every node once it is up; only here so that daemons which select on them are counted.
_SIMULATED = Requirements.from_labels({labels.REGISTERED: "true", labels.INITIALIZED: "true"})


class Shape:
    """A template narrowed by constraints: claims of one shape share what was worked out about it."""

    __slots__ = (
        "_domains",
        "_joined",
        "_labelled",
        "_narrowed",
        "_order",
        "_units",
        "mask",
        "min_values",
        "requirements",
        "reserved",
        "template",
    )

    def __init__(self, template: Template, requirements: Requirements) -> None:
        self.template = template
        self.requirements = requirements
        found = template.columns
        self.mask = found.allowing(requirements) & found.choice(requirements).mask
        self.min_values = tuple((r.key, r.min_values) for r in requirements.values() if r.min_values)
        self.reserved = template.reserved_for(requirements)
        """The reservations that such a machine may use, the cheapest first; empty where it is not about reserved capacity."""
        self._joined: dict[Constraints, tuple[Shape, ...]] = {}
        self._narrowed: dict[tuple[str, int], Shape] = {}
        self._domains: dict[str, int] = {}
        self._order: PriceOrder | None = None
        self._units: dict[str, Price] = {}
        self._labelled: Requirements | None = None

    @property
    def labelled(self) -> Requirements:
        """The requirements on labels that such a node has: without those that pods only do not want."""
        if self._labelled is None:
            keys, own = self.template.keys, self.requirements
            self._labelled = own if keys.issuperset(own) else Requirements(r for r in own.values() if r.key in keys)
        return self._labelled

    @property
    def order(self) -> PriceOrder:
        """The types that can be had as such a machine, by price."""
        if self._order is None:
            self._order = self.template.columns.choice(self.requirements).order
        return self._order

    @property
    def price(self) -> Price:
        """That of the cheapest such machine, however small."""
        return self.order.first(self.mask)[0].price

    def worth(self, amounts: Mapping[str, int]) -> Price:
        """What these amounts cost at least on such machines: that of the one which costs the most where it is cheapest."""
        units, most = self._units, 0.0
        for name, amount in amounts.items():
            if name not in units:
                units[name] = self._unit_price(name)
            most = max(most, amount * units[name])
        return most

    def _unit_price(self, name: str) -> Price:
        room, by_price = self.template.room, self.template.columns.choice(self.requirements).by_price
        found = ((priced.price, room(bit).get(name, 0)) for priced, bit in by_price if bit & self.mask)
        return min((price / amount for price, amount in found if amount > 0), default=0.0)

    def unreserved(self, asked: Requirements) -> int:
        """The types that would do if the machine did not have to be reserved, and only had to be what its pods asked for."""
        template = self.template
        own = template.requirements.get(labels.CAPACITY_TYPE)
        free = self.requirements.without(labels.CAPACITY_TYPE) & asked & Requirements(() if own is None else (own,))
        return template.columns.allowing(free) & template.columns.choice(free).mask

    def too_uniform(self, mask: int) -> bool:
        """Whether the types of ``mask`` differ less than some ``minValues`` asks for."""
        return any(self.template.columns.different_values(key, mask) < least for key, least in self.min_values)

    def domains_of(self, domains: Domains, key: str) -> int:
        """The values of ``key`` that such a machine may have, of those that the domains know, as a mask."""
        known = self._domains.get(key)
        if known is None:
            known = self._domains[key] = domains.mask(self.requirements.get(key))
        return known

    def is_settled(self, key: str) -> bool:
        """Whether such a machine has a certain value of ``key``."""
        own = self.requirements.get(key)
        return own is not None and own.single() is not None

    def narrowed(self, domains: Domains, key: str, mask: int) -> Shape:
        """This shape with the values of ``key`` that ``mask`` stands for."""
        known = self._narrowed.get((key, mask))
        if known is None:
            wanted = Requirements((domains.requirement(key, mask),))
            known = self._narrowed[key, mask] = self.template.shape(self.requirements & wanted)
        return known

    def join(self, constraints: Constraints) -> tuple[Shape, ...]:
        """The shapes that also satisfy ``constraints``, one for each way to reach the volumes; empty when none does."""
        known = self._joined.get(constraints)
        if known is None:
            known = self._joined[constraints] = tuple(self._join(constraints))
        return known

    def _join(self, constraints: Constraints) -> Iterator[Shape]:
        if untolerated(self.template.taints, constraints.tolerations) is not None:
            return
        for wanted in constraints.node_alternatives:
            if self.template.defines(wanted) and self.requirements.intersects(wanted) is None:
                joined = self.template.shape(self.requirements & wanted)
                if joined.mask:
                    yield joined


class Template:
    """What every new node of a pool has in common."""

    def __init__(
        self,
        pool: NodePool,
        catalog: Catalog,
        daemons: Sequence[Daemon],
        *,
        strict_min_values: bool = True,
        reservations: Reservations | None = None,
    ) -> None:
        self.pool = pool
        self.strict_min_values = strict_min_values
        self.taints: tuple[Taint, ...] = pool.taints
        self.columns: TypeColumns = columns(catalog.types[pool.name])
        self.labels: LabelSpec = self.columns.known_to(catalog.labels)
        node_class = labels.node_class_label(pool.node_class.group, pool.node_class.kind)
        named = Requirement.in_(node_class, pool.node_class.name)
        self.requirements = pool.template_requirements & Requirements((named,))
        self.keys = frozenset(self.requirements) | self.labels.well_known
        """The labels that a new node has, or may have: the pool or a type gives them. What pods ask for gives none."""
        self.reservations = reservations if self.columns.reserved_offerings else None
        self._shapes: dict[Requirements, Shape] = {}
        self._rooms: dict[int, Mapping[str, int]] = {}
        simulated = self.requirements & _SIMULATED
        self.groups: tuple[DaemonGroup, ...] = daemon_groups(
            daemons, self.columns, simulated, self.taints, self.labels.well_known
        )
        self.base = self.shape(self.requirements)
        self.starts: tuple[Shape, ...] = (self.base,) if self.reservations is None else self._reserved_first()

    def afresh(self) -> Template:
        """The same with nothing worked out about its shapes: what they know is about the domains of one solve."""
        other = copy.copy(self)
        other._shapes = {}  # noqa: SLF001
        other.base = other.shape(self.requirements)
        other.starts = tuple(other.shape(start.requirements) for start in self.starts)
        return other

    def defines(self, wanted: Requirements) -> bool:
        """Whether a new node has all labels of which ``wanted`` asks for certain values."""
        return all(key in self.keys or requirement.operator in NEGATIVE for key, requirement in wanted.items())

    def _reserved_first(self) -> tuple[Shape, ...]:
        """A new machine either takes a reservation, or is one that does not touch any."""
        if not self.base.mask & self.shape(self.requirements & RESERVED).mask:
            return (self.base,)
        return tuple(self.shape(self.requirements & kind) for kind in (RESERVED, NOT_RESERVED))

    def reserved_for(self, requirements: Requirements) -> tuple[ReservedOffering, ...]:
        """The reserved offerings that a machine with these requirements may use, where it can use nothing else."""
        if self.reservations is None or not is_reserved(requirements):
            return ()
        return tuple(o for o in self.columns.reserved_offerings if o.requirements.intersects(requirements) is None)

    def shape(self, requirements: Requirements) -> Shape:
        found = self._shapes.get(requirements)
        if found is None:
            found = self._shapes[requirements] = Shape(self, requirements)
        return found

    def fitting(self, mask: int, amounts: Mapping[str, int], names: Iterable[str]) -> int:
        """Types of ``mask`` that hold ``amounts`` of the named resources beside their daemons."""
        fits = 0
        for group in self.groups:
            held = mask & group.mask
            for name in names:
                if not held:
                    break
                held &= self.columns.fitting(name, amounts[name] + group.overhead.get(name, 0))
            fits |= held
        return fits

    def room(self, bit: int) -> Mapping[str, int]:
        """What a machine of the type with this bit has for pods beside its daemons."""
        known = self._rooms.get(bit)
        if known is None:
            overhead = next((group.overhead for group in self.groups if group.mask & bit), Resources())
            known = (self.columns.types[bit.bit_length() - 1].allocatable - overhead).amounts
            self._rooms[bit] = known
        return known

    def leaving_free(self, ports: Sequence[HostPort]) -> int:
        """Types whose daemons take none of these host ports."""
        found = 0
        for group in self.groups:
            if not clash(ports, group.ports):
                found |= group.mask
        return found

    def least_overhead(self, mask: int) -> Resources:
        """What daemons take at least, on whichever type of ``mask``."""
        parts = [group.overhead for group in self.groups if group.mask & mask]
        if not parts:
            return Resources()
        least = parts[0]
        for part in parts[1:]:
            least = least.minimum(part)
        return least


class Fit(NamedTuple):
    """What a claim would be with one more pod on it."""

    shape: Shape
    mask: int
    amounts: dict[str, int]

    @property
    def price(self) -> Price:
        return self.shape.order.first(self.mask)[0].price


class PlannedClaim:
    """A machine that will be launched, as the union of what may still become of it.

    ``rank`` is the packing's: when it is tried. ``mask`` may still have types that are full meanwhile; `settle` takes them out.
    """

    __slots__ = (
        "amounts",
        "asked",
        "is_settled",
        "is_trial",
        "mask",
        "pods",
        "ports",
        "price",
        "rank",
        "room",
        "shape",
        "spare",
    )

    def __init__(self, shape: Shape, mask: int) -> None:
        self.ports: tuple[HostPort, ...] = ()
        self.shape = shape
        self.mask = mask
        self.is_settled = True
        self.is_trial = False
        """A copy: what it would reserve is not taken from others."""
        self.amounts: dict[str, int] = {}
        self.asked = Requirements()
        """The capacity type that pods asked for, where the machine is reserved."""
        self.pods: list[Pod] = []
        self.rank: tuple[float, int] = (0, 0)
        self.price: Price = 0.0
        self.room: dict[str, int] = {}
        """What the cheapest type has left, once `appraise` was called."""
        self.spare = -1
        """The packing's: how much that is."""

    def copy(self) -> PlannedClaim:
        """The same machine, to be tried out."""
        other = PlannedClaim.__new__(PlannedClaim)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other.amounts, other.pods, other.room = dict(self.amounts), list(self.pods), dict(self.room)
        other.is_trial = True
        return other

    def fit(self, pod_class: PodClass, options: Options, *, by_size: bool = True) -> Fit | None:
        """What this becomes with such a pod, or None when there is no room.

        Of the best options for which some instance type still holds everything the cheapest; or, not ``by_size``, the one that
        is cheapest for small machines.
        """
        held = self.amounts
        grown = dict(held)
        for name, amount in pod_class.amounts:
            grown[name] = held.get(name, 0) + amount
        names = pod_class.names if self.is_settled else grown
        for alike in options:
            fits = [
                Fit(shape, mask, grown) for shape in alike if (mask := self._holding(shape, pod_class, grown, names))
            ]
            if fits:
                return fits[0] if len(fits) == 1 else min(fits, key=lambda f: f.price if by_size else f.shape.price)
        return None

    def _holding(self, shape: Shape, pod_class: PodClass, grown: Mapping[str, int], names: Iterable[str]) -> int:
        template = shape.template
        allowed = self.mask & shape.mask
        wanted = pod_class.constraints.ports
        if wanted:
            allowed &= template.leaving_free(wanted)
        if shape.reserved and template.reservations is not None:
            # What a copy holds is what the machine holds that it is a copy of.
            allowed &= -1 if self.is_trial else template.reservations.reach(self, shape.reserved)
        mask = template.fitting(allowed, grown, names)
        if not mask or not shape.min_values:
            return mask
        differing = mask
        if shape.reserved:
            asked = self.asked & _capacity_type(pod_class.constraints)
            differing = template.fitting(shape.unreserved(asked), grown, grown)
        return 0 if self._too_uniform(shape, differing) else mask

    def take(self, lot: Lot, fit: Fit) -> None:
        """Put the next of the lot here."""
        constraints = lot.pod_class.constraints
        self.shape, self.mask, self.amounts = fit.shape, fit.mask, fit.amounts
        self.is_settled = True
        self.pods += lot.take()
        self.ports += constraints.ports
        reservations = fit.shape.template.reservations
        if fit.shape.reserved and reservations is not None:
            self.asked &= _capacity_type(constraints)
            if not self.is_trial:
                reservations.hold_one(self, fit.shape.reserved, fit.mask)

    def appraise(self) -> None:
        """Work out what the cheapest type costs, and what it has left."""
        priced, bit = self.shape.order.first(self.mask)
        self.price = priced.price
        held = self.amounts
        self.room = {name: amount - held.get(name, 0) for name, amount in self.shape.template.room(bit).items()}

    def squeeze(self, lot: Lot, most: int) -> int:
        """Put the next of the lot, up to ``most`` of them, into what the cheapest type has left: neither shape nor price
        change. Returns how many there was room for."""
        room, held, amounts = self.room, self.amounts, lot.pod_class.amounts
        count = most
        for name, amount in amounts:
            if room.get(name, 0) < count * amount:
                count = room.get(name, 0) // amount
        if count <= 0:
            return 0
        for name, amount in amounts:
            room[name] -= count * amount
            held[name] = held.get(name, 0) + count * amount
        self.is_settled = False
        self.pods += lot.take(count)
        return count

    def settle(self) -> None:
        """Take the types out of the mask that are too small by now."""
        if not self.is_settled:
            self.mask = self.shape.template.fitting(self.mask, self.amounts, self.amounts)
            self.is_settled = True

    def _too_uniform(self, shape: Shape, mask: int) -> bool:
        """Whether ``minValues`` refuses a pod. As best effort it gives way for the first pod, and later keeps what it has."""
        if self.pods and not shape.template.strict_min_values:
            found = shape.template.columns
            return any(
                found.different_values(key, mask) < min(least, found.different_values(key, self.mask))
                for key, least in shape.min_values
            )
        return shape.template.strict_min_values and shape.too_uniform(mask)

    def largest_capacity(self, names: Iterable[str]) -> Resources:
        """The most that this machine may turn out to count against a pool's limits."""
        found = self.shape.template.columns
        return Resources({name: 1 if name == NODES else found.largest(name, self.mask) for name in names})

    def to_launch(self, max_types: int) -> Launch | None:
        """The machine as a value: at most ``max_types`` types, cheapest first. None when so few differ too little."""
        self.settle()
        template = self.shape.template
        found = template.columns
        requirements = self._final_requirements()
        choice = found.choice(requirements)
        priced = (*found.cheapest(self.mask, choice, max_types), *self._also_listed(choice.mask))[:max_types]
        requirements, lacking = self._lowered(requirements, priced)
        if lacking and template.strict_min_values:
            return None
        return Launch(
            pool=template.pool,
            requirements=requirements,
            min_values_relaxed=lacking,
            requests=Resources(self.amounts) + template.least_overhead(self.mask),
            instance_types=priced,
            pods=tuple(pod.key for pod in self.pods),
            pod_uids=tuple(pod.metadata.uid for pod in self.pods),
            considered=found.count(found.all),
            feasible=found.count(self.mask),
        )

    def _final_requirements(self) -> Requirements:
        """Those that it was planned with, and the reservations that it is launched into: by now nobody else wants what is left."""
        shape = self.shape
        reservations = shape.template.reservations
        if not shape.reserved or reservations is None:
            return shape.requirements
        if self.is_trial:
            return shape.requirements
        reservations.hold_more(self, shape.reserved, self.mask)
        held = reservations.held_by(self)
        keys = {offering.key for offering in shape.reserved if offering.reservation in held and offering.key}
        return shape.requirements & Requirements(Requirement.in_(key, *held) for key in sorted(keys))

    def _also_listed(self, reserved: int) -> Iterator[PricedType]:
        """Types that would do without the reservation. They have no price here; Karpenter names them too."""
        if self.shape.reserved:
            template = self.shape.template
            others = template.fitting(self.shape.unreserved(self.asked), self.amounts, self.amounts)
            others &= ~(self.mask & reserved)
            names = sorted(template.columns.types[bit].name for bit in bits(others))
            yield from (PricedType(name, math.inf) for name in names)

    def _lowered(self, requirements: Requirements, priced: Sequence[PricedType]) -> tuple[Requirements, bool]:
        """The requirements, each ``minValues`` no more than ``priced`` has, and whether that lowered any."""
        shape, found = self.shape, self.shape.template.columns
        if not shape.min_values:
            return requirements, False
        mask = found.mask_of(priced)
        held = {key: found.different_values(key, mask) for key, _least in shape.min_values}
        lowered = [
            attrs.evolve(r, min_values=min(r.min_values, held[r.key])) if r.min_values else r
            for r in requirements.values()
        ]
        return Requirements(lowered), any(held[key] < least for key, least in shape.min_values)


def _capacity_type(constraints: Constraints) -> Requirements:
    wanted = constraints.requirements.get(labels.CAPACITY_TYPE)
    return Requirements(() if wanted is None else (wanted,))


def templates_for(
    pools: Iterable[NodePool],
    catalog: Catalog,
    daemons: Sequence[Daemon],
    *,
    strict_min_values: bool = True,
    with_reservations: bool = True,
) -> tuple[Template, ...]:
    """A template for each pool that has a catalog and may grow, in the order in which they are tried."""
    usable = sorted(
        (pool for pool in pools if catalog.types.get(pool.name) and pool.may_grow), key=lambda pool: pool.order
    )
    types = {id(catalog.types[pool.name]): catalog.types[pool.name] for pool in usable}
    reservations = Reservations.of(columns(each) for each in types.values()) if with_reservations else None
    return tuple(
        Template(pool, catalog, daemons, strict_min_values=strict_min_values, reservations=reservations)
        for pool in usable
    )
