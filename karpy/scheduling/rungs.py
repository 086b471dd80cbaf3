"""What pods of one class may do at one rung of the relaxation ladder: constraints and topology groups, resolved together.

A rung is scratch of one solve and shared by all sizes of pods with these constraints.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence

from karpy.scheduling.constraints import Constraints
from karpy.scheduling.groups import Group, GroupKind, Host
from karpy.scheduling.instances import bits
from karpy.scheduling.ledger import Recorded, counting, is_open
from karpy.scheduling.ports import HostPort
from karpy.scheduling.templates import Shape
from karpy.scheduling.topology import Topology
from karpy.state.snapshot import NodeView

__all__ = ["Likeness", "Options", "Rung", "hosts_of"]

_MOST_OPTIONS = 64
"""How many combinations of domains are tried for one pod on one machine, when terms on several keys leave many open."""


_NEED_A_DOMAIN = frozenset((GroupKind.SPREAD, GroupKind.AFFINITY))
"""What such a term asks for cannot be had on a machine without the label."""

Likeness = tuple[tuple[tuple[Group, bool], ...], tuple[HostPort, ...]]
"""What decides on single hosts: the hostname terms, each with whether such a pod counts itself, and the ports."""

Options = tuple[tuple[Shape, ...], ...]
"""What a machine may become, the best first; those that are equally good stand together."""


class Rung:
    """Constraints, the groups that decide where pods with them may go, and the groups that count such pods."""

    def __init__(
        self, constraints: Constraints, selected_by: Sequence[Group], topology: Topology, *, leads: bool = True
    ) -> None:
        """With ``leads`` a pod that others want to be near says where that is, as soon as it has a place. (Karpenter leaves it open
        where there is a choice, and the others wait for another pass.)"""
        self.constraints = constraints
        owned = () if topology.is_empty else topology.owned(constraints)
        selecting = frozenset(selected_by)
        blocking = tuple(group for group in selected_by if group.kind is GroupKind.INVERSE)
        deciding = (*owned, *blocking)
        self.itself = {group: group in selecting for group in deciding}
        self.host_groups = tuple(group for group in deciding if group.is_host)
        self.host_affinities = tuple(g for g in self.host_groups if g.kind is GroupKind.AFFINITY)
        self.likeness: Likeness = (tuple((g, self.itself[g]) for g in self.host_groups), constraints.ports)
        self._zonal = tuple(group for group in deciding if not group.is_host)
        self._beginning = tuple(g for g in self._zonal if g.kind is GroupKind.AFFINITY and self.itself[g])
        following = (g for g in selected_by if g.kind is GroupKind.AFFINITY and not g.is_host and g not in self.itself)
        self._followed = frozenset(following if leads else ())
        self.leads_others = bool(self._followed)
        by_domain = (*self._zonal, *(group for group in selected_by if group in self._followed))
        self.keys = tuple(dict.fromkeys(group.key for group in by_domain))
        """The labels by whose values zone-like terms tell nodes apart."""
        self._by_key = tuple(tuple(group for group in by_domain if group.key == key) for key in self.keys)
        self._pod_masks = {group: group.domains.mask(constraints.strict.get(group.key)) for group in self._zonal}
        self._elsewhere = _where_others_count(constraints, self._zonal)
        self._counted = tuple(group for group in selected_by if group.kind is not GroupKind.INVERSE)
        self._keeping = () if topology.is_empty else topology.inverse_of(constraints)
        self._settling = () if topology.is_empty else topology.anti_affinity_of(constraints)
        self._options: dict[Shape, tuple[int, Options]] = {}
        self._recorded: dict[Shape, tuple[tuple[Recorded, ...], tuple[Recorded, ...]]] = {}
        self.gathers = self._is_gathering()
        """Such pods want to be on one host with each other, and nothing else keeps any two of them apart."""
        self.is_free = not deciding
        """No other pod matters to where such a pod goes."""
        self.is_uncounted = not deciding and not self._counted and not self._keeping
        """Nor does such a pod matter to others."""

    def _is_gathering(self) -> bool:
        if not self.host_groups or self.constraints.ports:
            return False
        together = all(group.kind is GroupKind.AFFINITY for group in (*self.host_groups, *self._zonal))
        return together and all(self.itself[group] for group in self.host_groups)

    def version(self) -> int:
        """Grows whenever an answer about domains may have changed."""
        total = 0
        for groups in self._by_key:
            for group in groups:
                total += group.version
        return total

    def allows_host(self, host: Host | None) -> bool:
        for group in self.host_groups:  # noqa: SIM110  (asked for every pod: a generator costs more)
            if not group.allows_host(host, self.itself[group]):
                return False
        return True

    # Machines that are planned

    def options(self, shape: Shape) -> Options:
        """What a machine of this shape may become with such a pod on it; empty when it cannot take one."""
        version = self.version() if self.keys else 0
        known = self._options.get(shape)
        if known is None or known[0] != version:
            known = self._options[shape] = (version, self._find_options(shape))
        return known[1]

    def _find_options(self, shape: Shape) -> Options:
        reachable = shape.join(self.constraints)
        if not self.keys or not reachable:
            return tuple((joined,) for joined in reachable)  # in the order in which the volumes name them
        if len(reachable) == 1 and len(self.keys) == 1:
            groups, key = self._by_key[0], self.keys[0]
            mask = reachable[0].domains_of(groups[0].domains, key)
            if mask and mask & (mask - 1) == 0 and reachable[0].is_settled(key):  # the machine stays what it is
                return (reachable,) if mask & self._allowed(groups) else ()
        found = [option for joined in reachable for option in self._narrowed(joined)]
        found.sort(key=lambda option: option[0])
        return tuple(
            tuple(dict.fromkeys(narrowed for _, narrowed in alike))
            for _, alike in itertools.groupby(found, key=lambda option: option[0])
        )

    def _narrowed(self, shape: Shape) -> list[tuple[tuple[int, ...], Shape]]:
        """How crowded the domains are, key by key, and what the machine is when it is settled there."""
        found: list[tuple[tuple[int, ...], Shape]] = [((), shape)]
        for key, groups in zip(self.keys, self._by_key, strict=True):
            if key not in shape.template.keys or not shape.domains_of(groups[0].domains, key):
                if any(group.kind in _NEED_A_DOMAIN and group not in self._followed for group in groups):
                    return []
                continue  # a machine in no domain keeps nobody away from any, and has nobody follow it there
            found = [
                ((*crowds, crowd), narrowed)
                for crowds, held in found[:_MOST_OPTIONS]
                for crowd, mask in self._choices(key, groups, held)
                if (narrowed := held.narrowed(groups[0].domains, key, mask)).mask
            ]
        return found

    def _allowed(self, groups: Sequence[Group]) -> int:
        """The domains, of one key, where such a pod may go."""
        mask = -1
        for group in groups:
            if group in self.itself:
                mask &= self._reach(group)
        return mask

    def _reach(self, group: Group) -> int:
        """The domains where such a pod may go, as far as one group has a say."""
        itself = self.itself[group]
        if itself and self._elsewhere and group.populated & self._elsewhere.get(group, 0):
            itself = False  # it is not the first of its kind, though others are only where another alternative leads
        return group.reach(self._pod_masks[group], itself)

    def _choices(self, key: str, groups: Sequence[Group], shape: Shape) -> list[tuple[int, int]]:
        """Domains of one key to narrow a machine to, as masks: where fewest pods are first, each with how many there are."""
        mask = shape.domains_of(groups[0].domains, key) & self._allowed(groups)
        if not mask:
            return []
        spread = [group for group in groups if group.kind is GroupKind.SPREAD]
        if not self._must_settle(groups, mask):
            return [(0, mask)]
        crowds = [(sum(group.counts[bit] for group in spread), 1 << bit) for bit in bits(mask)]
        return sorted(crowds)

    def _must_settle(self, groups: Sequence[Group], mask: int) -> bool:
        """Whether the machine has to be in one known domain for such a pod.

        Spread counts by domain. A pod that keeps others away for certain would, undecided, keep them away from everywhere. The
        first of pods that want to be together says where, and so does the first that others want to be near. Otherwise any of the
        allowed domains will do.
        """
        settling = self._settling
        if any(group.kind is GroupKind.SPREAD or group in settling for group in groups):
            return True
        return any(
            group.kind is GroupKind.AFFINITY
            and not (group.populated if group in self._followed else group.populated & mask)
            for group in groups
        )

    def unsatisfied(self, shape: Shape) -> list[str]:
        """The terms that leave a new machine of this shape no place, each with its counts."""
        found = [group for group in self.host_groups if not group.allows_host(None, self.itself[group])]
        for group in self._zonal:
            mask = shape.domains_of(group.domains, group.key)
            if group.key not in shape.template.keys:
                if group.kind in _NEED_A_DOMAIN:
                    found.append(group)
            elif not self._reach(group) & mask:
                found.append(group)
        return [f"unsatisfiable topology constraint for {group.describe()}" for group in found]

    # Machines that exist

    def allows_labels(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels may take one more such pod, as far as zone-like terms go."""
        for group in self._zonal:
            bit = group.domains.index.get(labels.get(group.key, ""))
            if bit is None:
                if group.kind in _NEED_A_DOMAIN:
                    return False
            elif not self._reach(group) >> bit & 1:
                return False
        return True

    # After a placement

    def record_claim(self, host: Host, shape: Shape, well_known: frozenset[str], pods: int = 1) -> tuple[Recorded, ...]:
        """So many pods were put on a machine of this shape. Returns what of it is open, as long as the machine is."""
        for group in self._beginning:
            group.begin()
        known = self._recorded.get(shape)
        if known is None:
            recorded = tuple(counting((*self._counted, *self._keeping), shape, well_known))
            known = self._recorded[shape] = (recorded, tuple(each for each in recorded if is_open(each, shape)))
        for _ in range(pods):
            for group, mask in known[0]:
                group.record(host, mask)
        return known[1]

    def record_node(self, view: NodeView) -> None:
        """A pod was put on a node that exists."""
        for group in self._beginning:
            group.begin()
        for group in (*self._counted, *self._keeping):
            if not group.counts_node(view.requirements, view.taints, frozenset()):
                continue
            if group.is_host:
                group.record(view.name, 0)
            else:
                bit = group.domains.index.get(view.labels.get(group.key, ""))
                if bit is not None:
                    group.record(view.name, 1 << bit)


def _where_others_count(constraints: Constraints, groups: Iterable[Group]) -> Mapping[Group, int]:
    """For each affinity the domains that any alternative of the node affinity leads to, where there are several.

    kube-scheduler knows all of them: it does not let a pod begin in one place when others of its kind are in another.
    """
    terms = (*constraints.passed_over, *constraints.terms)
    if len(terms) == 1:
        return {}
    found = {}
    for group in groups:
        if group.kind is GroupKind.AFFINITY:
            wanted = ((constraints.selected & term).get(group.key) for term in terms)
            found[group] = functools.reduce(operator.or_, map(group.domains.mask, wanted))
    return found


def hosts_of(groups: Iterable[Group]) -> set[Host]:
    """Machines that every one of these hostname affinities already names."""
    found: set[Host] | None = None
    for group in groups:
        found = set(group.hosts) if found is None else found & set(group.hosts)
    return found or set()
