"""New machines on paper: a `Template` per pool, and `PlannedClaim`s that grow while pods are put on them.

Both are scratch objects of one solve. Requirements only narrow and requests only grow, so a planned claim that once refused
a class of pods refuses it for the rest of the solve.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, Price
from karpy.labels import LabelSpec
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.requirements import Requirement, Requirements
from karpy.resources import NODES, Resources
from karpy.scheduling.classes import PodClass
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.daemons import Daemon, DaemonGroup, daemon_groups
from karpy.scheduling.instances import PricedType, TypeColumns, columns
from karpy.scheduling.plan import Launch
from karpy.scheduling.ports import HostPort, clash
from karpy.taints import Taint, untolerated

__all__ = ["PlannedClaim", "Shape", "Template", "templates_for"]

#: Known of every node once it is up; only here so that daemons which select on them are counted.
_SIMULATED = Requirements.from_labels({labels.REGISTERED: "true", labels.INITIALIZED: "true"})


class Shape:
    """A template narrowed by constraints: claims of one shape share what was worked out about it."""

    __slots__ = ("_joined", "_prices", "mask", "min_values", "requirements", "template")

    def __init__(self, template: Template, requirements: Requirements) -> None:
        self.template = template
        self.requirements = requirements
        found = template.columns
        self.mask = found.allowing(requirements) & found.choice(requirements).mask
        self.min_values = tuple((r.key, r.min_values) for r in requirements.values() if r.min_values)
        self._joined: dict[Constraints, tuple[Shape, ...]] = {}
        self._prices: dict[tuple[str, str], Price] = {}

    def too_uniform(self, mask: int) -> bool:
        """Whether the types of ``mask`` differ less than some ``minValues`` asks for."""
        return any(self.template.columns.different_values(key, mask) < least for key, least in self.min_values)

    def price_at(self, key: str, value: str) -> Price:
        """The cheapest type that this shape could be if it were narrowed to one value of a key."""
        known = self._prices.get((key, value))
        if known is None:
            narrowed = self.template.shape(self.requirements & Requirements((Requirement.in_(key, value),)))
            choice = self.template.columns.choice(narrowed.requirements)
            best = self.template.columns.cheapest(narrowed.mask, choice, 1)
            known = self._prices[key, value] = best[0].price if best else math.inf
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
            if self.requirements.compatible(wanted, self.template.labels.well_known) is None:
                joined = self.template.shape(self.requirements & wanted)
                if joined.mask:
                    yield joined


class Template:
    """What every new node of a pool has in common."""

    def __init__(self, pool: NodePool, catalog: Catalog, daemons: Sequence[Daemon], strict_min_values: bool) -> None:
        self.pool = pool
        self.strict_min_values = strict_min_values
        self.taints: tuple[Taint, ...] = pool.taints
        self.columns: TypeColumns = columns(catalog.types[pool.name])
        self.labels: LabelSpec = self.columns.known_to(catalog.labels)
        node_class = labels.node_class_label(pool.node_class.group, pool.node_class.kind)
        named = Requirement.in_(node_class, pool.node_class.name)
        self.requirements = pool.template_requirements & Requirements((named,))
        self._shapes: dict[Requirements, Shape] = {}
        simulated = self.requirements & _SIMULATED
        self.groups: tuple[DaemonGroup, ...] = daemon_groups(
            daemons, self.columns, simulated, self.taints, self.labels.well_known
        )
        self.base = self.shape(self.requirements)

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


class PlannedClaim:
    """A machine that will be launched, as the union of what may still become of it.

    ``rank`` says when it is tried: the number of its pods, then a number that settles ties.
    """

    __slots__ = ("amounts", "mask", "pods", "ports", "rank", "shape")

    def __init__(self, shape: Shape, mask: int) -> None:
        self.ports: tuple[HostPort, ...] = ()
        self.shape = shape
        self.mask = mask
        self.amounts: dict[str, int] = {}
        self.pods: list[Pod] = []
        self.rank = (0, 0)

    def copy(self) -> PlannedClaim:
        """The same machine, to be tried out."""
        other = PlannedClaim.__new__(PlannedClaim)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other.amounts, other.pods = dict(self.amounts), list(self.pods)
        return other

    def add(self, pod: Pod, pod_class: PodClass, options: Iterable[Shape]) -> bool:
        """Put one pod here as the first of ``options`` for which some instance type still holds everything."""
        amounts = self.amounts
        grown = {name: amounts.get(name, 0) + amount for name, amount in pod_class.amounts}
        wanted = pod_class.constraints.ports
        for shape in options:
            template = shape.template
            allowed = self.mask & shape.mask
            if wanted:
                allowed &= template.leaving_free(wanted)
            mask = template.fitting(allowed, grown, grown)
            if mask and not (shape.min_values and self._too_uniform(shape, mask)):
                amounts.update(grown)
                self.mask = mask
                self.shape = shape
                self.pods.append(pod)
                self.ports += pod_class.constraints.ports
                return True
        return False

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
        template = self.shape.template
        found = template.columns
        choice = found.choice(self.shape.requirements)
        priced = found.cheapest(self.mask, choice, max_types)
        requirements, lacking = self._lowered(priced)
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
            considered=len(found.types),
            feasible=self.mask.bit_count(),
        )

    def _lowered(self, priced: Sequence[PricedType]) -> tuple[Requirements, bool]:
        """The requirements, each ``minValues`` no more than ``priced`` has, and whether that lowered any."""
        shape, found = self.shape, self.shape.template.columns
        if not shape.min_values:
            return shape.requirements, False
        mask = found.mask_of(priced)
        held = {key: found.different_values(key, mask) for key, _least in shape.min_values}
        lowered = [
            attrs.evolve(r, min_values=min(r.min_values, held[r.key])) if r.min_values else r
            for r in shape.requirements.values()
        ]
        return Requirements(lowered), any(held[key] < least for key, least in shape.min_values)


def templates_for(
    pools: Iterable[NodePool], catalog: Catalog, daemons: Sequence[Daemon], *, strict_min_values: bool = True
) -> tuple[Template, ...]:
    """A template for each pool that has a catalog and may grow, in the order in which they are tried."""
    usable = (pool for pool in pools if catalog.types.get(pool.name) and pool.may_grow)
    return tuple(
        Template(pool, catalog, daemons, strict_min_values) for pool in sorted(usable, key=lambda pool: pool.order)
    )
