"""Where pods may go because of other pods: all spread, affinity and anti-affinity of a solve, counted (core specification 3.7)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence

from karpy import labels
from karpy.objects.pod import Pod, PodGroup
from karpy.scheduling.alike import Alike
from karpy.scheduling.classes import ReadPod
from karpy.scheduling.constraints import AffinityTerm, Constraints, Namespaces, SpreadTerm, kept_apart
from karpy.scheduling.groups import Domains, Group, GroupKind
from karpy.scheduling.running import Running, running
from karpy.scheduling.templates import Template
from karpy.state.snapshot import NodeView, Snapshot
from karpy.taints import Taint, untolerated

__all__ = ["Topology"]


class Topology:
    """All groups of one solve, with what is counted already."""

    def __init__(
        self,
        snapshot: Snapshot,
        templates: Sequence[Template],
        pods: Iterable[ReadPod],
        well_known: frozenset[str],
    ) -> None:
        self._templates = templates
        self._views = [view for view in snapshot.nodes if not view.is_leaving]
        self._alike = Alike(self._views)
        self._well_known = well_known
        self._domains: dict[str, Domains] = {}
        self._groups: dict[tuple[GroupKind, SpreadTerm | AffinityTerm], Group] = {}
        self._selecting: dict[Hashable, tuple[Group, ...]] = {}
        batch = tuple(pods)
        for constraints in dict.fromkeys(read.constraints for read in batch):
            self._make_groups(constraints)
        if batch:  # those that run matter to those who are to be placed alone
            self._count(tuple(running(snapshot.nodes, (read.pod for read in batch))), snapshot.namespaces)

    @property
    def is_empty(self) -> bool:
        """Nobody asks for anything of the kind, which is the common case and costs nothing."""
        return not self._groups

    @property
    def groups(self) -> Iterable[Group]:
        return self._groups.values()

    def domains(self, key: str) -> Domains:
        """Every value of ``key`` that a node may have, now or after a launch."""
        found = self._domains.get(key)
        if found is None:
            values = {value for template in self._templates for value in _values(template, key)}
            values.update(view.labels[key] for view in self._views if key in view.labels)
            found = self._domains[key] = Domains(() if key == labels.HOSTNAME else values)
        return found

    def owned(self, constraints: Constraints) -> tuple[Group, ...]:
        """The groups of the terms that pods of these constraints bring."""
        spreads = (*constraints.spread, *constraints.soft_spread)
        affinities = (*constraints.affinity, *constraints.soft_affinity)
        antis = (*constraints.anti_affinity, *constraints.soft_anti_affinity)
        found = [self._group(GroupKind.SPREAD, term) for term in spreads]
        found += [self._group(GroupKind.AFFINITY, term) for term in affinities]
        found += [self._group(GroupKind.ANTI_AFFINITY, term) for term in antis]
        return tuple(dict.fromkeys(found))

    def anti_affinity_of(self, constraints: Constraints) -> tuple[Group, ...]:
        """The groups of the required anti-affinities."""
        return tuple(self._group(GroupKind.ANTI_AFFINITY, term) for term in constraints.anti_affinity)

    def inverse_of(self, constraints: Constraints) -> tuple[Group, ...]:
        """The groups that keep others away from pods of these constraints. Preferences are never turned round."""
        return tuple(self._group(GroupKind.INVERSE, term) for term in constraints.anti_affinity)

    def selecting(self, pod: Pod) -> tuple[Group, ...]:
        """The groups whose term is about this pod."""
        return self._selecting_group(pod.group)

    def _selecting_group(self, pods: PodGroup) -> tuple[Group, ...]:
        found = self._selecting.get(pods)
        if found is None:
            namespace, own = pods[0], dict(pods[1])
            found = tuple(g for g in self._groups.values() if g.term.selector.selects(namespace, own))
            self._selecting[pods] = found
        return found

    def _make_groups(self, constraints: Constraints) -> None:
        self.owned(constraints)
        self.inverse_of(constraints)

    def _group(self, kind: GroupKind, term: SpreadTerm | AffinityTerm) -> Group:
        found = self._groups.get((kind, term))
        if found is None:
            domains = self.domains(term.key)
            found = Group(kind, term, domains, self._universe(term, domains))
            self._groups[kind, term] = found
        return found

    def _universe(self, term: SpreadTerm | AffinityTerm, domains: Domains) -> int:
        """The domains that exist for a term: reachable by a pool, or there already on a node that counts for it."""
        if not isinstance(term, SpreadTerm):
            return domains.all
        bears: Callable[[Sequence[Taint]], bool] = lambda taints: (  # noqa: E731
            term.tolerations is None or untolerated(taints, term.tolerations) is None
        )
        names = {v for template in self._templates if bears(template.taints) for v in _values(template, term.key)}
        probe = Group(GroupKind.SPREAD, term, domains, 0)
        for alike in self._alike.by(frozenset((term.key, *(key for wanted in term.nodes for key in wanted)))):
            view = self._views[alike[0]]
            if term.key in view.labels and probe.counts_node(view.requirements, view.taints, frozenset()):
                names.add(view.labels[term.key])
        return sum(1 << domains.index[name] for name in names if name in domains.index)

    def _count(self, nodes: Sequence[Running], namespaces: Namespaces) -> None:
        """Count the pods that run already, and the anti-affinities that they have."""
        keeping_apart = self._keeping_apart(nodes, namespaces)
        if self.is_empty:
            return
        for view, groups in keeping_apart:
            for group in groups:
                self._record_at(group, view)
        selected = {pods: self._counting(pods) for pods in dict.fromkeys(itertools.chain(*(n.groups for n in nodes)))}
        for node in nodes:
            view = node.view
            passing: dict[Group, bool] = {}
            for pods, count in node.groups.items():
                for group in selected[pods]:
                    if group not in passing:
                        passing[group] = group.counts_node(view.requirements, view.taints, frozenset())
                    if passing[group]:
                        for _ in range(count):
                            self._record_at(group, view)

    def _counting(self, pods: PodGroup) -> tuple[Group, ...]:
        """The groups that count such pods where they run."""
        return tuple(group for group in self._selecting_group(pods) if group.kind is not GroupKind.INVERSE)

    def _keeping_apart(
        self, nodes: Sequence[Running], namespaces: Namespaces
    ) -> list[tuple[NodeView, tuple[Group, ...]]]:
        """For each running pod that keeps others away, where it is and the groups of its terms."""
        known: dict[tuple[int, PodGroup], tuple[Group, ...]] = {}
        found = []
        for node in nodes:
            for pod in node.keeping_apart:
                key = (id(pod.spec.affinity), pod.group)  # pods of one workload share what they ask for
                if key not in known:
                    known[key] = self.inverse_of(kept_apart(pod, namespaces))
                found.append((node.view, known[key]))
        return found

    @staticmethod
    def _record_at(group: Group, view: NodeView) -> None:
        if group.is_host:
            group.record(view.name, 0)
        elif group.key in view.labels:
            bit = group.domains.index.get(view.labels[group.key])
            if bit is not None:
                group.record(view.name, 1 << bit)


def _values(template: Template, key: str) -> Iterable[str]:
    """The values of ``key`` that new nodes of a pool may have."""
    own = template.requirements.get(key)
    for held in template.columns.requirements_on(key):
        both = held if own is None else held & own
        if not both.complement:
            yield from both.values
    if own is not None and not own.complement:
        yield from own.values
