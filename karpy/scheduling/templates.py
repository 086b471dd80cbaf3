"""What a new node of a pool may be: a `Template` per pool, and the `Shape`s that constraints narrow it to.

Both are scratch objects of one solve.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence

from karpy import labels
from karpy.cloud.instancetype import Catalog, Price
from karpy.labels import LabelSpec
from karpy.objects.nodepool import NodePool
from karpy.requirements import NEGATIVE, Requirement, Requirements
from karpy.resources import Resources
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.daemons import Daemon, DaemonGroup, daemon_groups
from karpy.scheduling.groups import Domains
from karpy.scheduling.instances import TypeColumns, columns
from karpy.scheduling.offers import PriceOrder, ReservedOffering
from karpy.scheduling.ports import HostPort, clash
from karpy.scheduling.reservations import NOT_RESERVED, RESERVED, is_reserved
from karpy.taints import Taint, untolerated

__all__ = ["Shape", "Template", "templates_for"]

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
        with_reservations: bool = True,
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
        self.takes_reservations = with_reservations and bool(self.columns.reserved_offerings)
        self._shapes: dict[Requirements, Shape] = {}
        self._rooms: dict[int, Mapping[str, int]] = {}
        simulated = self.requirements & _SIMULATED
        self.groups: tuple[DaemonGroup, ...] = daemon_groups(
            daemons, self.columns, simulated, self.taints, self.labels.well_known
        )
        self.base = self.shape(self.requirements)
        self.starts: tuple[Shape, ...] = self._reserved_first() if self.takes_reservations else (self.base,)

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
        if not self.takes_reservations or not is_reserved(requirements):
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
    return tuple(
        Template(pool, catalog, daemons, strict_min_values=strict_min_values, with_reservations=with_reservations)
        for pool in usable
    )
