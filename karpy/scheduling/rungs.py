"""What pods of one class may do at one rung of the relaxation ladder: constraints and topology groups, resolved together.

A rung is scratch of one solve and shared by all sizes of pods with these constraints.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from karpy.requirements import Requirement, Requirements
from karpy.scheduling.claims import Shape
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.instances import bits
from karpy.scheduling.topology import Domains, Group, GroupKind, Host, Topology
from karpy.state.snapshot import NodeView

__all__ = ["Rung"]

_MOST_OPTIONS = 64
"""How many combinations of domains are tried for one pod on one machine, when terms on several keys leave many open."""


class Rung:
    """Constraints, the groups that decide where pods with them may go, and the groups that count such pods."""

    def __init__(self, constraints: Constraints, selected_by: Sequence[Group], topology: Topology) -> None:
        self.constraints = constraints
        owned = () if topology.is_empty else topology.owned(constraints)
        selecting = frozenset(selected_by)
        blocking = tuple(group for group in selected_by if group.kind is GroupKind.INVERSE)
        deciding = (*owned, *blocking)
        self.itself = {group: group in selecting for group in deciding}
        self.host_groups = tuple(group for group in deciding if group.is_host)
        self.host_affinities = tuple(g for g in self.host_groups if g.kind is GroupKind.AFFINITY)
        self._zonal = tuple(group for group in deciding if not group.is_host)
        self._keys = tuple(dict.fromkeys(group.key for group in self._zonal))
        self._pod_masks = {group: group.domains.mask(constraints.strict.get(group.key)) for group in self._zonal}
        self._counted = tuple(group for group in selected_by if group.kind is not GroupKind.INVERSE)
        self._keeping = () if topology.is_empty else topology.inverse_of(constraints)
        self._settling = () if topology.is_empty else topology.anti_affinity_of(constraints)
        self._options: dict[Shape, tuple[int, tuple[Shape, ...]]] = {}
        self.is_free = not deciding
        """No other pod matters to where such a pod goes."""

    def version(self) -> int:
        """Grows whenever an answer about domains may have changed."""
        return sum(group.version for group in self._zonal)

    def allows_host(self, host: Host | None) -> bool:
        return all(group.allows_host(host, self.itself[group]) for group in self.host_groups)

    # Machines that are planned

    def options(self, shape: Shape) -> tuple[Shape, ...]:
        """What a machine of this shape may become with such a pod on it, best first; empty when it cannot take one."""
        if not self._zonal:
            return shape.join(self.constraints)
        version = self.version()
        known = self._options.get(shape)
        if known is None or known[0] != version:
            reachable = shape.join(self.constraints)
            found = tuple(narrowed for joined in reachable for narrowed in self._narrowed(joined))
            if len(reachable) > 1:  # several ways to reach the volumes: the least crowded first
                found = tuple(sorted(found, key=self._crowding))
            known = self._options[shape] = (version, found)
        return known[1]

    def _narrowed(self, shape: Shape) -> Iterator[Shape]:
        choices = [self._choices(key, shape) for key in self._keys]
        for picked in itertools.islice(itertools.product(*choices), _MOST_OPTIONS):
            requirements = Requirements(picked)
            narrowed = shape.template.shape(shape.requirements & requirements)
            if narrowed.mask:
                yield narrowed

    def _crowding(self, shape: Shape) -> int:
        """How many pods that should be spread are where a machine of this shape would be."""
        total = 0
        for group in self._zonal:
            if group.kind is GroupKind.SPREAD:
                mask = group.domains.mask(shape.requirements.get(group.key))
                total += sum(group.counts[bit] for bit in bits(mask))
        return total

    def _choices(self, key: str, shape: Shape) -> list[Requirement]:
        """The values of one key to narrow a machine to, best first: where fewest pods are, then where it is cheapest."""
        groups = [group for group in self._zonal if group.key == key]
        domains = groups[0].domains
        mask = domains.mask(shape.requirements.get(key))
        for group in groups:
            mask &= group.allowed(self._pod_masks[group], mask, self.itself[group])
        if not mask:
            return []
        if not self._must_settle(groups, mask):
            return [domains.requirement(key, mask)]
        return [Requirement.in_(key, name) for name in self._ranked(groups, domains, mask, key, shape)]

    def _must_settle(self, groups: Sequence[Group], mask: int) -> bool:
        """Whether the machine has to be in one known domain for such a pod.

        Spread counts by domain. A pod that keeps others away for certain would, undecided, keep them away from everywhere. The
        first of pods that want to be together says where. Otherwise any of the allowed domains will do.
        """
        settling = self._settling
        if any(group.kind is GroupKind.SPREAD or group in settling for group in groups):
            return True
        wanting = [group for group in groups if group.kind is GroupKind.AFFINITY]
        return any(not any(group.counts[bit] for bit in bits(mask)) for group in wanting)

    @staticmethod
    def _ranked(groups: Sequence[Group], domains: Domains, mask: int, key: str, shape: Shape) -> list[str]:
        spread = [group for group in groups if group.kind is GroupKind.SPREAD]

        def rank(bit: int) -> tuple[int, float, str]:
            name = domains.names[bit]
            return sum(group.counts[bit] for group in spread), shape.price_at(key, name), name

        return [domains.names[bit] for bit in sorted(bits(mask), key=rank)]

    def unsatisfied(self, shape: Shape) -> list[str]:
        """The terms that leave a new machine of this shape no place, each with its counts."""
        found = [group for group in self.host_groups if not group.allows_host(None, self.itself[group])]
        for group in self._zonal:
            mask = group.domains.mask(shape.requirements.get(group.key))
            if not group.allowed(self._pod_masks[group], mask, self.itself[group]):
                found.append(group)
        return [f"unsatisfiable topology constraint for {group.describe()}" for group in found]

    # Machines that exist

    def allows_labels(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels may take one more such pod, as far as zone-like terms go."""
        for group in self._zonal:
            bit = group.domains.index.get(labels.get(group.key, ""))
            if bit is None:
                if group.kind in (GroupKind.SPREAD, GroupKind.AFFINITY):
                    return False
            elif not group.allowed(self._pod_masks[group], 1 << bit, self.itself[group]):
                return False
        return True

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels by whose values zone-like terms tell nodes apart."""
        return self._keys

    # After a placement

    def record_claim(self, host: Host, shape: Shape, well_known: frozenset[str]) -> None:
        """A pod was put on a machine of this shape."""
        for group in (*self._counted, *self._keeping):
            if group.is_host:
                if group.counts_node(shape.requirements, shape.template.taints, well_known):
                    group.record(host, 0)
                continue
            own = shape.requirements.get(group.key)
            if own is None and group.key not in well_known:
                continue
            if group.counts_node(shape.requirements, shape.template.taints, well_known):
                group.record(host, group.domains.mask(own))

    def record_node(self, view: NodeView) -> None:
        """A pod was put on a node that exists."""
        for group in (*self._counted, *self._keeping):
            if not group.counts_node(view.requirements, view.taints, frozenset()):
                continue
            if group.is_host:
                group.record(view.name, 0)
            else:
                bit = group.domains.index.get(view.labels.get(group.key, ""))
                if bit is not None:
                    group.record(view.name, 1 << bit)


def hosts_of(groups: Iterable[Group]) -> set[Host]:
    """Machines that every one of these hostname affinities already names."""
    found: set[Host] | None = None
    for group in groups:
        found = set(group.hosts) if found is None else found & set(group.hosts)
    return found or set()
