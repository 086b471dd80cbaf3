"""The part of a cluster that can matter to one pod: the scheduler is asked hundreds of times about it.

Of nodes that the pod cannot tell apart those with the most room stand for all. Other pods count only where a term of this pod
selects them, or one of theirs selects it. Whatever is changed about the pod and the pools later, the answers stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import attrs
import msgspec

from karpy import labels
from karpy.labels import normalize
from karpy.objects.pod import Pod
from karpy.requirements import Requirements
from karpy.resources import PODS
from karpy.scheduling.aftermath import Aftermath, Planned
from karpy.scheduling.claims import PlannedClaim
from karpy.scheduling.constraints import AffinityTerm, Constraints, SpreadTerm, constraints_of
from karpy.scheduling.templates import Shape
from karpy.scheduling.volumes import volumes_of
from karpy.state.snapshot import NodeView

__all__ = ["focused", "keeps_away"]

_Amounts = tuple[int, ...]


def focused(aftermath: Aftermath, pod: Pod) -> Aftermath:
    """The same questions about ``pod`` can be asked of this, only faster."""
    around = _Around(aftermath, pod)
    snapshot = aftermath.snapshot
    return attrs.evolve(
        aftermath,
        snapshot=attrs.evolve(snapshot, nodes=tuple(_roomiest(aftermath, pod, around))),
        counted=attrs.evolve(snapshot, nodes=tuple(_counted(snapshot.nodes, around))),
        planned=tuple(_joinable(aftermath, pod, around)),
    )


def keeps_away(other: Pod, pod: Pod, namespaces: Mapping[str, Mapping[str, str]]) -> tuple[AffinityTerm, ...]:
    """The required anti-affinities of ``other`` that are about ``pod``."""
    affinity = other.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None or not affinity.pod_anti_affinity.required:
        return ()
    terms = _terms_about_pods(other, namespaces).anti_affinity
    namespace, own = pod.metadata.namespace, pod.metadata.labels or {}
    return tuple(term for term in terms if term.selector.selects(namespace, own))


def _terms_about_pods(pod: Pod, namespaces: Mapping[str, Mapping[str, str]]) -> Constraints:
    """A pod's constraints without those on nodes, which may contradict each other."""
    affinity = pod.spec.affinity
    if affinity is not None:
        affinity = msgspec.structs.replace(affinity, node_affinity=None)
    spec = msgspec.structs.replace(pod.spec, node_selector=None, affinity=affinity)
    return constraints_of(msgspec.structs.replace(pod, spec=spec), namespaces)


class _Around:
    """Which other pods matter to a pod, and by which labels it tells nodes apart."""

    def __init__(self, aftermath: Aftermath, pod: Pod) -> None:
        snapshot = aftermath.snapshot
        own = _terms_about_pods(pod, snapshot.namespaces)
        terms: list[SpreadTerm | AffinityTerm] = [*own.spread, *own.soft_spread, *own.affinity, *own.soft_affinity]
        terms += [*own.anti_affinity, *own.soft_anti_affinity]
        self._selectors = tuple(dict.fromkeys(term.selector for term in terms))
        self._selected: dict[Hashable, bool] = {}
        there = (other for view in snapshot.nodes for other in view.pods)
        planned = (other for claim in aftermath.machines.claims for other in claim.pods)
        inverse = {
            other.metadata.uid: keeps_away(other, pod, snapshot.namespaces)
            for other in (*there, *planned)
            if other.spec.affinity is not None
        }
        self._keeping_away = {uid for uid, found in inverse.items() if found}
        keys = {term.key for term in (*terms, *(term for found in inverse.values() for term in found))}
        self.is_about_hosts = labels.HOSTNAME in keys
        self._keys = tuple(sorted((keys | _keys_on_nodes(pod, aftermath)) - {labels.HOSTNAME}))

    def matters(self, other: Pod) -> bool:
        if other.metadata.uid in self._keeping_away:
            return True
        if not self._selectors:
            return False
        own = other.metadata.labels or {}
        key = (other.metadata.namespace, frozenset(own.items()))
        if key not in self._selected:
            self._selected[key] = any(each.selects(other.metadata.namespace, own) for each in self._selectors)
        return self._selected[key]

    def kind(self, view: NodeView) -> Hashable:
        """Equal for nodes that the pod cannot tell apart, but for their room and the pods on them."""
        return (tuple(view.labels.get(key) for key in self._keys), view.taints, view.is_leaving)


def _keys_on_nodes(pod: Pod, aftermath: Aftermath) -> set[str]:
    """Label keys that the pod's own constraints on nodes name, in whichever generation of their names."""
    spec = pod.spec
    found = {normalize(key) for key in spec.node_selector or {}}
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is not None:
        terms = [*(affinity.required.node_selector_terms if affinity.required else ())]
        terms += [preferred.preference for preferred in affinity.preferred]
        found |= {normalize(expression.key) for term in terms for expression in term.match_expressions}
    volumes = volumes_of(pod, aftermath.snapshot.storage)
    alternatives: Iterable[Requirements] = () if isinstance(volumes, str) else volumes.alternatives
    return found | {key for reachable in alternatives for key in reachable}


def _counted(views: Sequence[NodeView], around: _Around) -> Iterable[NodeView]:
    """Where pods that matter are, with only these on it; of the others one node of each kind, whose labels count."""
    seen: set[Hashable] = set()
    for view in views:
        mattering = tuple(filter(around.matters, view.pods))
        kind = around.kind(view)
        if mattering or kind not in seen:
            seen.add(kind)
            yield attrs.evolve(view, pods=mattering) if len(mattering) < len(view.pods) else view


def _roomiest(aftermath: Aftermath, pod: Pod, around: _Around) -> Iterable[NodeView]:
    """Nodes that may take the pod. Ports and disks are a node's own, and so may be the pods that it must not be beside."""
    staying = [view for view in aftermath.snapshot.nodes if not view.is_leaving]
    if pod.spec.volumes or _wants_ports(pod):
        return staying
    names = sorted({PODS, *pod.requests})
    room_of = _room(aftermath, names)
    kept: dict[Hashable, list[tuple[_Amounts, NodeView]]] = {}
    alone: list[NodeView] = []
    for view in staying:
        if around.is_about_hosts and any(map(around.matters, view.pods)):
            alone.append(view)
            continue
        room = room_of(view)
        rivals = kept.setdefault(around.kind(view), [])
        if not any(_covers(rival, room) for rival, _view in rivals):
            rivals[:] = [(rival, other) for rival, other in rivals if not _covers(room, rival)]
            rivals.append((room, view))
    chosen = {id(view) for view in alone} | {id(view) for rivals in kept.values() for _room, view in rivals}
    return [view for view in staying if id(view) in chosen]


def _joinable(aftermath: Aftermath, pod: Pod, around: _Around) -> Iterable[Planned]:
    """Planned machines: all with pods on them that matter; of the others those that no other of their shape outdoes."""
    best: dict[Shape, list[PlannedClaim]] = {}
    found = []
    for claim in aftermath.machines.claims:
        mattering = tuple(filter(around.matters, claim.pods))
        if not mattering and not _wants_ports(pod):
            rivals = best.setdefault(claim.shape, [])
            if any(_outdoes(rival, claim) for rival in rivals):
                continue
            rivals.append(claim)
        found.append(Planned(claim, aftermath.machines.read(mattering)))
    return found


def _outdoes(one: PlannedClaim, other: PlannedClaim) -> bool:
    """Whether whatever fits the other fits the one."""
    return not other.mask & ~one.mask and all(
        amount <= other.amounts.get(name, 0) for name, amount in one.amounts.items()
    )


def _wants_ports(pod: Pod) -> bool:
    return any(port.host_port for container in pod.spec.containers for port in container.ports)


def _room(aftermath: Aftermath, names: Sequence[str]) -> Callable[[NodeView], _Amounts]:
    """What a node has of some resources, with and without the daemons that are still to come. Of a node that is promised more than
    it has, nothing."""
    expected = aftermath.machines.expected

    def room_of(view: NodeView) -> _Amounts:
        both = (view.available, view.available - expected[view] if view in expected else view.available)
        found: list[int] = []
        for amounts in both:
            is_overfull = any(amount < 0 for amount in amounts.values())
            found += [-1 if is_overfull else amounts.get(name, 0) for name in names]
        return tuple(found)

    return room_of


def _covers(more: _Amounts, less: _Amounts) -> bool:
    return all(a >= b for a, b in zip(more, less, strict=True))
