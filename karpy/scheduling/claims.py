"""New machines on paper: a `Template` per pool, and `PlannedClaim`s that grow while pods are put on them.

Both are scratch objects of one solve. Requirements only narrow and requests only grow, so a planned claim that once refused
a class of pods refuses it for the rest of the solve.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from karpy import labels
from karpy.cloud.instancetype import Catalog
from karpy.labels import LabelSpec
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.requirements import Requirement, Requirements
from karpy.resources import NODES, Resources
from karpy.scheduling.classes import Constraints, PodClass
from karpy.scheduling.daemons import Daemon, DaemonGroup, daemon_groups
from karpy.scheduling.instances import TypeColumns, columns
from karpy.scheduling.plan import Launch, PricedType
from karpy.taints import Taint, untolerated

__all__ = ["PlannedClaim", "Shape", "Template", "templates_for"]

#: Known of every node once it is up; only here so that daemons which select on them are counted.
_SIMULATED = Requirements.from_labels({labels.REGISTERED: "true", labels.INITIALIZED: "true"})


class Shape:
    """A template narrowed by constraints: claims of one shape share what was worked out about it."""

    __slots__ = ("_joined", "mask", "requirements", "template")

    def __init__(self, template: Template, requirements: Requirements) -> None:
        self.template = template
        self.requirements = requirements
        found = template.columns
        self.mask = found.allowing(requirements) & found.choice(requirements).mask
        self._joined: dict[Constraints, Shape | None] = {}

    def join(self, constraints: Constraints) -> Shape | None:
        """The shape that also satisfies ``constraints``, or None when none can."""
        if constraints not in self._joined:
            self._joined[constraints] = self._join(constraints)
        return self._joined[constraints]

    def _join(self, constraints: Constraints) -> Shape | None:
        if untolerated(self.template.taints, constraints.tolerations) is not None:
            return None
        wanted = constraints.requirements
        if self.requirements.compatible(wanted, self.template.labels.well_known) is not None:
            return None
        joined = self.template.shape(self.requirements & wanted)
        return joined if joined.mask else None


class Template:
    """What every new node of a pool has in common."""

    def __init__(self, pool: NodePool, catalog: Catalog, daemons: Sequence[Daemon]) -> None:
        self.pool = pool
        self.labels: LabelSpec = catalog.labels
        self.taints: tuple[Taint, ...] = pool.taints
        self.columns: TypeColumns = columns(catalog.types[pool.name])
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

    __slots__ = ("amounts", "mask", "pods", "rank", "shape")

    def __init__(self, shape: Shape, mask: int) -> None:
        self.shape = shape
        self.mask = mask
        self.amounts: dict[str, int] = {}
        self.pods: list[Pod] = []
        self.rank = (0, 0)

    def add(self, pod: Pod, pod_class: PodClass) -> bool:
        """Put one pod here if some instance type can still hold everything."""
        joined = self.shape.join(pod_class.constraints)
        if joined is None:
            return False
        amounts = self.amounts
        grown = {name: amounts.get(name, 0) + amount for name, amount in pod_class.amounts}
        mask = self.shape.template.fitting(self.mask & joined.mask, grown, grown)
        if not mask:
            return False
        amounts.update(grown)
        self.mask = mask
        self.shape = joined
        self.pods.append(pod)
        return True

    def largest_capacity(self, names: Iterable[str]) -> Resources:
        """The most that this machine may turn out to count against a pool's limits."""
        found = self.shape.template.columns
        return Resources({name: 1 if name == NODES else found.largest(name, self.mask) for name in names})

    def to_launch(self, max_types: int) -> Launch:
        """The machine as a value: at most ``max_types`` types, cheapest first."""
        template = self.shape.template
        found = template.columns
        choice = found.choice(self.shape.requirements)
        priced = found.cheapest(self.mask, choice, max_types)
        return Launch(
            pool=template.pool,
            requirements=self.shape.requirements,
            requests=Resources(self.amounts) + template.least_overhead(self.mask),
            instance_types=tuple(PricedType(instance_type.name, price) for price, instance_type in priced),
            pods=tuple(pod.key for pod in self.pods),
            pod_uids=tuple(pod.metadata.uid for pod in self.pods),
            considered=len(found.types),
            feasible=self.mask.bit_count(),
        )


def templates_for(pools: Iterable[NodePool], catalog: Catalog, daemons: Sequence[Daemon]) -> tuple[Template, ...]:
    """A template for each pool that has a catalog and may grow, in the order in which they are tried."""
    usable = (pool for pool in pools if catalog.types.get(pool.name) and pool.may_grow)
    return tuple(Template(pool, catalog, daemons) for pool in sorted(usable, key=lambda pool: pool.order))
