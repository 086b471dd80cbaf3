"""A frozen picture of the cluster: what deciders look at.

Pictures share the views of machines that did not change between them, so little is worked out again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from karpy.cloud.provider import RawNodeClass
from karpy.errors import InvalidObject
from karpy.objects.kinds import Kind
from karpy.objects.nodeoverlay import InvalidOverlay, NodeOverlay
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.objects.pod import Pod, PodGroup
from karpy.objects.volumes import PersistentVolume, PersistentVolumeClaim, StorageClass
from karpy.objects.workloads import DaemonSet, PodDisruptionBudget
from karpy.state.buffers import BufferView
from karpy.state.fleets import Fleet, Fleets
from karpy.state.nodeview import NodeView
from karpy.state.workloads import Workloads

__all__ = ["Fleet", "InvalidPool", "NodeView", "Nodes", "Snapshot", "Storage"]


class Nodes(tuple[NodeView, ...]):  # noqa: SLOT001  (what is remembered needs a place)
    """Views in their order. What is looked up in them is remembered as long as they are."""

    @functools.cached_property
    def leaving(self) -> tuple[NodeView, ...]:
        return tuple(view for view in self if view.is_leaving)

    @functools.cached_property
    def fleets(self) -> Mapping[str, Fleet]:
        """The machines of each pool that has some."""
        fleets = Fleets()
        for view in self:
            fleets.change(None, view)
        return fleets.picture()

    @functools.cached_property
    def by_name(self) -> Mapping[str, NodeView]:
        """The first of each name."""
        return {view.name: view for view in reversed(self)}

    @functools.cached_property
    def by_claim(self) -> Mapping[str, NodeView]:
        return {view.claim.name: view for view in reversed(self) if view.claim is not None}


def _is_timed(pod: Pod) -> bool:
    return pod.metadata.is_deleting or pod.protected_s not in (None, math.inf)


def _nodes(views: Iterable[NodeView]) -> Nodes:
    return views if isinstance(views, Nodes) else Nodes(views)


@attrs.frozen
class InvalidPool:
    """A pool that cannot be read. The others go on; it gets a condition."""

    name: str
    origin: Kind
    raw: Mapping[str, Any]
    error: InvalidObject


@attrs.frozen(kw_only=True, eq=False)
class Storage:
    """Claims by ``namespace/name``; volumes and classes by name; per node how many disks of each driver it can hold."""

    claims: Mapping[str, PersistentVolumeClaim] = attrs.field(factory=dict)
    volumes: Mapping[str, PersistentVolume] = attrs.field(factory=dict)
    classes: Mapping[str, StorageClass] = attrs.field(factory=dict)
    limits: Mapping[str, Mapping[str, int]] = attrs.field(factory=dict)

    @property
    def default_class(self) -> StorageClass | None:
        """The newest of the classes that are marked as the default; ties by name."""
        marked = [found for found in self.classes.values() if found.is_default]
        return max(marked, key=lambda found: (found.metadata.created, found.metadata.name), default=None)


@attrs.frozen(kw_only=True, eq=False)
class Snapshot:
    """The cluster at one instant. ``version`` grows with every change that the state has taken in.

    ``now`` matters to pods alone that do not want to be disturbed for a while (see `at`). ``assignments`` says which claim each
    pending pod was planned onto earlier (pod uid → claim name); ``namespaces`` are the labels of each; ``buffers`` are the
    CapacityBuffers that are served; ``daemon_pods`` are the newest pods of DaemonSets, by the uid of the set.
    """

    version: int = 0
    now: float = -math.inf
    nodes: Nodes = attrs.field(default=Nodes(), converter=_nodes)
    pending: tuple[Pod, ...] = ()
    pools: tuple[NodePool, ...] = ()
    invalid_pools: tuple[InvalidPool, ...] = ()
    node_classes: Mapping[NodeClassRef, RawNodeClass] = attrs.field(factory=dict)
    overlays: tuple[NodeOverlay | InvalidOverlay, ...] = ()
    daemon_sets: tuple[DaemonSet, ...] = ()
    daemon_pods: Mapping[str, Pod] = attrs.field(factory=dict)
    budgets: tuple[PodDisruptionBudget, ...] = ()
    assignments: Mapping[str, str] = attrs.field(factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    storage: Storage = attrs.field(factory=Storage)
    workloads: Workloads = attrs.field(factory=Workloads)
    buffers: tuple[BufferView, ...] = ()

    @classmethod
    def from_objects(cls, objects: Iterable[Mapping[str, Any]], node_class_kinds: Iterable[Kind] = ()) -> Snapshot:
        """The picture of a cluster that consists of these API objects, as ``kubectl get -o yaml`` prints them.

        Kinds that do not matter are skipped.

        Raises:
            InvalidObject: a pod or node cannot be read.
        """
        from karpy.state.cluster import ClusterState

        return ClusterState.of(objects, tuple(node_class_kinds)).snapshot()

    @classmethod
    def from_json(cls, documents: Iterable[bytes], node_class_kinds: Iterable[Kind] = ()) -> Snapshot:
        """As `from_objects`, from JSON as the API server sends it: lists, page by page or whole, or single objects.

        Nothing is made of what karpy does not read, so this is many times faster and smaller.

        Raises:
            InvalidObject: an object, or a document, cannot be read.
        """
        from karpy.state.cluster import ClusterState

        return ClusterState.of_json(documents, tuple(node_class_kinds)).snapshot()

    def at(self, now: float) -> Snapshot:
        """The same cluster, looked at at that time, as far as it matters to `to_place`: a pod that must not be disturbed for a
        while may be by then, and one that is stuck in its end will not come back. (Without a time it is the beginning.)"""
        leaving = (pod for view in self.nodes.leaving for pod in view.pods)
        return attrs.evolve(self, now=now) if any(_is_timed(pod) for pod in leaving) else self

    @functools.cached_property
    def to_place(self) -> tuple[Pod, ...]:
        """Pods that want a place: those that kube-scheduler gave up, and those that leave with their node.

        A pod that nothing may evict stays where it is until it ends, so no place is looked for (core specification 3.1).
        """
        leaving = (pod for view in self.nodes.leaving for pod in view.reschedulable_pods)
        return (*self.pending, *(pod for pod in leaving if self.may_be_evicted(pod)))

    @functools.cached_property
    def headroom(self) -> tuple[Pod, ...]:
        """The virtual pods of all buffers: room for them is kept ready, after all of `to_place` have theirs."""
        return tuple(pod for buffer in self.buffers for pod in buffer.pods)

    def may_be_evicted(self, pod: Pod, now: float | None = None) -> bool:
        """No annotation forbids it now, and neither now nor later a budget, or that several budgets are about it."""
        now = self.now if now is None else now
        if pod.is_protected(now) or pod.is_stuck(now):
            return False
        if pod.tolerates_disruption:
            return True
        held = self.budgets_of(pod)
        return len(held) < 2 and not any(budget.never_lets_go(pod) for budget in held)

    @functools.cached_property
    def _budgets_in(self) -> Mapping[str, Sequence[PodDisruptionBudget]]:
        by_namespace: dict[str, list[PodDisruptionBudget]] = {}
        for budget in self.budgets:
            by_namespace.setdefault(budget.metadata.namespace, []).append(budget)
        return by_namespace

    def budgets_of(self, pod: Pod) -> Sequence[PodDisruptionBudget]:
        """The budgets that are about this pod."""
        held = self._held.get(pod.group)
        if held is None:
            inside = self._budgets_in.get(pod.metadata.namespace, ())
            held = self._held[pod.group] = tuple(budget for budget in inside if budget.selects(pod))
        return held

    @functools.cached_property
    def _held(self) -> dict[PodGroup, Sequence[PodDisruptionBudget]]:
        """The budgets of pods that selectors cannot tell apart, as far as they were asked for."""
        return {}

    def node(self, name: str) -> NodeView | None:
        """The view of this name: a node's, or a claim's that has not joined."""
        return self.nodes.by_name.get(name)

    def machine(self, claim: str) -> NodeView | None:
        """The view of the machine that this claim stands for."""
        return self.nodes.by_claim.get(claim)

    def fleet(self, pool: str) -> Fleet:
        """The machines of this pool."""
        return self.nodes.fleets.get(pool, Fleet())

    def pool(self, name: str) -> NodePool | None:
        return next((pool for pool in self.pools if pool.name == name), None)

    def without(self, names: Iterable[str]) -> Snapshot:
        """The same cluster if these nodes were gone; all else is shared."""
        gone = frozenset(names)
        return attrs.evolve(self, nodes=Nodes(view for view in self.nodes if view.name not in gone))
