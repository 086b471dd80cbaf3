"""A frozen picture of the cluster: what deciders look at.

Pictures share the views of machines that did not change between them, so little is worked out again.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from karpy import labels
from karpy.cloud.provider import RawNodeClass
from karpy.errors import InvalidObject
from karpy.objects.kinds import Kind
from karpy.objects.node import Node
from karpy.objects.nodeclaim import INSTANCE_TERMINATING, NodeClaim
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.objects.pod import Pod, PodGroup
from karpy.objects.volumes import PersistentVolume, PersistentVolumeClaim, StorageClass
from karpy.objects.workloads import DaemonSet, PodDisruptionBudget
from karpy.requirements import Requirements
from karpy.resources import NODES, Resources, total
from karpy.taints import Taint, is_ephemeral

__all__ = ["InvalidPool", "NodeView", "Nodes", "Snapshot", "Storage"]


@attrs.frozen(kw_only=True, eq=False)
class NodeView:
    """One machine as the core sees it: its Node, its NodeClaim, or both, and the pods on it (core specification 6.1).

    Until a claim is registered its own labels and taints count, then the node's. Until it is initialized, what the node
    does not report yet is taken from the claim, and taints that go away by themselves are overlooked.
    """

    node: Node | None = None
    claim: NodeClaim | None = None
    pods: tuple[Pod, ...] = ()
    marked_for_deletion: bool = False
    nominated_until: float = 0.0
    # Worked out when the view is made, since every picture asks for it.
    name: str = attrs.field(init=False)
    """The node's name, or the claim's before it has joined."""
    provider_id: str = attrs.field(init=False)
    is_registered: bool = attrs.field(init=False)
    is_initialized: bool = attrs.field(init=False)
    is_leaving: bool = attrs.field(init=False)
    """Marked, or being deleted: nothing new is placed here, and its pods want another place."""
    labels: Mapping[str, str] = attrs.field(init=False)
    taints: tuple[Taint, ...] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        derive = object.__setattr__
        node, claim = self.node, self.claim
        assert node is not None or claim is not None, "a view has a node or a claim"
        derive(self, "is_registered", claim is None or (node is not None and claim.is_registered))
        derive(self, "is_initialized", claim is None or (node is not None and claim.is_initialized))
        derive(self, "is_leaving", _is_leaving(self))
        derive(self, "name", _name(self))
        derive(self, "provider_id", (node.spec.provider_id if node is not None else "") or _provider_id(claim))
        derive(self, "labels", _labels(self))
        derive(self, "taints", _taints(self))

    # Worked out when a decision first asks.

    @functools.cached_property
    def requirements(self) -> Requirements:
        return Requirements.from_labels(self.labels)

    @functools.cached_property
    def capacity(self) -> Resources:
        return _capacity(self)

    @functools.cached_property
    def allocatable(self) -> Resources:
        return _allocatable(self)

    @functools.cached_property
    def used(self) -> Resources:
        return total(pod.requests for pod in self.pods)

    @functools.cached_property
    def daemon_used(self) -> Resources:
        return total(pod.requests for pod in self.pods if pod.is_owned_by_daemon_set)

    @functools.cached_property
    def available(self) -> Resources:
        """What is left for pods; daemons that are still to come are not taken off."""
        return self.allocatable - self.used

    @functools.cached_property
    def pod_groups(self) -> Mapping[PodGroup, int]:
        """How many of the active pods are alike in all that selectors see."""
        return Counter(pod.group for pod in self.pods if pod.is_active)

    @functools.cached_property
    def keeping_apart(self) -> tuple[Pod, ...]:
        """The active pods that refuse to be where certain others are."""
        return tuple(pod for pod in self.pods if _keeps_apart(pod) and pod.is_active)

    @property
    def pool(self) -> str:
        return self.labels.get(labels.NODEPOOL, "")

    @property
    def is_managed(self) -> bool:
        return self.claim is not None

    @property
    def reschedulable_pods(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if pod.is_reschedulable)


def _keeps_apart(pod: Pod) -> bool:
    anti = pod.spec.affinity.pod_anti_affinity if pod.spec.affinity is not None else None
    return anti is not None and bool(anti.required)


def _name(view: NodeView) -> str:
    node, claim = view.node, view.claim
    if node is not None and (view.is_registered or claim is None):
        return node.name
    return claim.name if claim is not None else ""


def _provider_id(claim: NodeClaim | None) -> str:
    return claim.provider_id if claim is not None else ""


def _is_leaving(view: NodeView) -> bool:
    if view.marked_for_deletion:
        return True
    if view.claim is not None:
        return view.claim.metadata.is_deleting or view.claim.is_true(INSTANCE_TERMINATING)
    return view.node is not None and view.node.metadata.is_deleting


def _labels(view: NodeView) -> Mapping[str, str]:
    if view.node is not None and view.is_registered:
        own = view.node.labels
        # A node without the label still is that host.
        return own if labels.HOSTNAME in own else {labels.HOSTNAME: view.node.name, **own}
    return view.claim.labels if view.claim is not None else {}


def _taints(view: NodeView) -> tuple[Taint, ...]:
    claim = view.claim
    if view.node is not None and view.is_registered:
        taints = view.node.spec.taints
    else:
        taints = claim.taints if claim is not None else ()
    if claim is None or view.is_initialized:
        return taints
    passing = claim.startup_taints
    return tuple(taint for taint in taints if not is_ephemeral(taint) and not any(taint.matches(p) for p in passing))


def _capacity(view: NodeView) -> Resources:
    reported = view.node.status.capacity if view.node is not None else None
    expected = view.claim.capacity if view.claim is not None else Resources()
    return _fill(reported, expected, view) + {NODES: 1}


def _allocatable(view: NodeView) -> Resources:
    reported = view.node.status.allocatable if view.node is not None else None
    claim = view.claim
    # Before the launch nothing is known but what the claim was planned to hold.
    expected = Resources() if claim is None else (claim.allocatable or claim.requests)
    return _fill(reported, expected, view)


def _fill(reported: Mapping[str, Any] | None, expected: Resources, view: NodeView) -> Resources:
    amounts = Resources.parse(reported or {})
    if view.is_initialized:
        return amounts
    return Resources({**expected, **{name: amount for name, amount in amounts.items() if amount}})


class Nodes(tuple[NodeView, ...]):  # noqa: SLOT001  (what is remembered needs a place)
    """Views in their order. What is looked up in them is remembered as long as they are."""

    @functools.cached_property
    def leaving(self) -> tuple[NodeView, ...]:
        return tuple(view for view in self if view.is_leaving)

    @functools.cached_property
    def by_name(self) -> Mapping[str, NodeView]:
        """The first of each name."""
        return {view.name: view for view in reversed(self)}

    @functools.cached_property
    def by_claim(self) -> Mapping[str, NodeView]:
        return {view.claim.name: view for view in reversed(self) if view.claim is not None}


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

    ``assignments`` says which claim each pending pod was planned onto earlier (pod uid → claim name); ``namespaces`` are the
    labels of each.
    """

    version: int = 0
    nodes: Nodes = attrs.field(default=Nodes(), converter=_nodes)
    pending: tuple[Pod, ...] = ()
    pools: tuple[NodePool, ...] = ()
    invalid_pools: tuple[InvalidPool, ...] = ()
    node_classes: Mapping[NodeClassRef, RawNodeClass] = attrs.field(factory=dict)
    daemon_sets: tuple[DaemonSet, ...] = ()
    budgets: tuple[PodDisruptionBudget, ...] = ()
    assignments: Mapping[str, str] = attrs.field(factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    storage: Storage = attrs.field(factory=Storage)

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

    @functools.cached_property
    def to_place(self) -> tuple[Pod, ...]:
        """Pods that want a place: those that kube-scheduler gave up, and those that leave with their node.

        A pod that nothing may evict stays where it is until it ends, so no place is looked for (core specification 3.1).
        """
        leaving = (pod for view in self.nodes.leaving for pod in view.reschedulable_pods)
        return (*self.pending, *(pod for pod in leaving if self._may_be_evicted(pod)))

    def _may_be_evicted(self, pod: Pod) -> bool:
        """Now or later: no annotation forbids it, nor a budget, nor that several budgets are about it."""
        if pod.is_do_not_disrupt or pod.tolerates_disruption:
            return not pod.is_do_not_disrupt
        held = self.budgets_of(pod)
        return len(held) < 2 and not any(budget.never_lets_go(pod) for budget in held)

    @functools.cached_property
    def _budgets_in(self) -> Mapping[str, Sequence[PodDisruptionBudget]]:
        by_namespace: dict[str, list[PodDisruptionBudget]] = {}
        for budget in self.budgets:
            by_namespace.setdefault(budget.metadata.namespace, []).append(budget)
        return by_namespace

    def budgets_of(self, pod: Pod) -> list[PodDisruptionBudget]:
        """The budgets that are about this pod."""
        return [budget for budget in self._budgets_in.get(pod.metadata.namespace, ()) if budget.selects(pod)]

    def node(self, name: str) -> NodeView | None:
        """The view of this name: a node's, or a claim's that has not joined."""
        return self.nodes.by_name.get(name)

    def machine(self, claim: str) -> NodeView | None:
        """The view of the machine that this claim stands for."""
        return self.nodes.by_claim.get(claim)

    def pool(self, name: str) -> NodePool | None:
        return next((pool for pool in self.pools if pool.name == name), None)

    def without(self, names: Iterable[str]) -> Snapshot:
        """The same cluster if these nodes were gone; all else is shared."""
        gone = frozenset(names)
        return attrs.evolve(self, nodes=Nodes(view for view in self.nodes if view.name not in gone))
