"""What is known of the cluster, kept current event by event: the core's only long-lived mutable object."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import attrs

from karpy.errors import InvalidObject, plain
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import ObjectMeta, decode
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodeClassRef, NodePool, at
from karpy.objects.pod import Pod
from karpy.objects.provisioner import provisioner_to_pool
from karpy.objects.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.objects.workloads import DaemonSet, Namespace, PodDisruptionBudget
from karpy.resources import Resources
from karpy.state.providerids import ByProviderId
from karpy.state.snapshot import InvalidPool, NodeView, Snapshot, Storage

__all__ = ["ClusterState"]

_POOL_READERS: Mapping[Kind, Callable[[Mapping[str, Any]], NodePool]] = {
    kinds.NODE_POOL: NodePool.from_dict,
    kinds.PROVISIONER: provisioner_to_pool,
}


class ClusterState:
    """Takes in watch events, gives out snapshots. One lock; safe to use from several threads.

    ``node_class_kinds`` are those of the active providers, the default first: a pool that does not name group and kind
    gets the first of them that has an object of the name it gives.
    """

    #: Kinds that `apply` understands, beside the node class kinds.
    KINDS = (
        kinds.POD,
        kinds.NODE,
        kinds.NODE_CLAIM,
        kinds.NODE_POOL,
        kinds.PROVISIONER,
        kinds.DAEMON_SET,
        kinds.POD_DISRUPTION_BUDGET,
        kinds.NAMESPACE,
        kinds.PERSISTENT_VOLUME_CLAIM,
        kinds.PERSISTENT_VOLUME,
        kinds.STORAGE_CLASS,
        kinds.CSI_NODE,
    )

    def __init__(self, node_class_kinds: tuple[Kind, ...] = ()) -> None:
        self.node_class_kinds = node_class_kinds
        self._lock = threading.RLock()
        self._version = 0
        self._pods: dict[str, Pod] = {}
        self._unreadable: dict[tuple[Kind, str], InvalidObject] = {}
        self._pods_on: dict[str, dict[str, Pod]] = {}
        self._pending: dict[str, Pod] = {}
        self._nodes: dict[str, Node] = {}
        self._claims: dict[str, NodeClaim] = {}
        self._claim_names = ByProviderId()
        self._node_names = ByProviderId()
        self._pools: dict[tuple[Kind, str], NodePool | InvalidPool] = {}
        self._node_classes: dict[NodeClassRef, Mapping[str, Any]] = {}
        self._daemon_sets: dict[str, DaemonSet] = {}
        self._budgets: dict[str, PodDisruptionBudget] = {}
        self._claimed: dict[str, PersistentVolumeClaim] = {}
        self._volumes: dict[str, PersistentVolume] = {}
        self._storage_classes: dict[str, StorageClass] = {}
        self._csi_nodes: dict[str, CSINode] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._marked: set[str] = set()
        self._nominated: dict[str, float] = {}
        self._assignments: dict[str, str] = {}
        self._views: dict[str, NodeView] = {}
        self._resolved_pools: tuple[NodePool, ...] | None = None
        self._snapshot: Snapshot | None = None
        # Kinds that are only kept: where, and as what.
        self._plain: Mapping[Kind, tuple[dict[str, Any], type[Any]]] = {
            kinds.POD_DISRUPTION_BUDGET: (self._budgets, PodDisruptionBudget),
            kinds.PERSISTENT_VOLUME_CLAIM: (self._claimed, PersistentVolumeClaim),
            kinds.PERSISTENT_VOLUME: (self._volumes, PersistentVolume),
            kinds.STORAGE_CLASS: (self._storage_classes, StorageClass),
            kinds.CSI_NODE: (self._csi_nodes, CSINode),
        }

    @classmethod
    def of(cls, objects: Iterable[Mapping[str, Any]], node_class_kinds: tuple[Kind, ...] = ()) -> ClusterState:
        """The state of a cluster that holds exactly these objects; kinds that do not matter are skipped."""
        state = cls(node_class_kinds)
        by_name = {(kind.group, kind.kind): kind for kind in (*cls.KINDS, *node_class_kinds)}
        for obj in objects:
            group = str(obj.get("apiVersion", "")).rpartition("/")[0]
            kind = by_name.get((group, str(obj.get("kind", ""))))
            if kind is not None:
                state.apply(WatchEvent(EventType.ADDED, kind, obj))
        if state._unreadable:
            raise next(iter(state._unreadable.values()))
        return state

    # Taking in

    def apply(self, event: WatchEvent) -> None:
        """Take in one event (its object is raw JSON). O(1); unreadable objects are remembered in `unreadable` and skipped."""
        key = _key(event.object)
        gone = event.type is EventType.DELETED
        with self._lock:
            self._version += 1
            self._snapshot = None
            try:
                if not key:
                    raise InvalidObject("found nothing", path="metadata.name", accepted="text that is not empty")
                self._take(event.kind, key, None if gone else event.object)
                self._unreadable.pop((event.kind, key), None)
            except InvalidObject as error:
                self._take(event.kind, key, None)
                # Items of lists do not say of what kind they are; the event does.
                named = f"{event.kind.kind}/{plain(key)}" if key else f"{event.kind.kind} without a name"
                self._unreadable[event.kind, key] = error.at(object_name=named)

    def retain(self, kind: Kind, keys: AbstractSet[str]) -> None:
        """Only these objects of ``kind`` exist: drop claims that were taken in when they were created and are gone since.

        Called after a list. All other objects come by watch events alone, which tell of their end.
        """
        if kind != kinds.NODE_CLAIM:
            return
        with self._lock:
            for name in [name for name in self._claims if name not in keys]:
                self._version += 1
                self._snapshot = None
                self._take_claim(name, None)

    def _take(self, kind: Kind, key: str, raw: Mapping[str, Any] | None) -> None:
        if kind == kinds.POD:
            self._take_pod(key, None if raw is None else decode(raw, Pod))
        elif kind == kinds.NODE:
            self._take_node(key, None if raw is None else decode(raw, Node))
        elif kind == kinds.NODE_CLAIM:
            self._take_claim(key, None if raw is None else NodeClaim.from_dict(raw))
        elif kind == kinds.DAEMON_SET:
            self._take_daemon_set(key, None if raw is None else decode(raw, DaemonSet))
        elif kind in self._plain:
            store, type_ = self._plain[kind]
            _put(store, key, None if raw is None else decode(raw, type_))
        elif kind == kinds.NAMESPACE:
            _put(self._namespaces, key, None if raw is None else decode(raw, Namespace).metadata.labels or {})
        else:
            self._resolved_pools = None
            # A Provisioner with an inline provider is a pool and its own node class.
            if kind in _POOL_READERS:
                _put(self._pools, (kind, key), None if raw is None else _read_pool(kind, key, raw))
            if kind in self.node_class_kinds:
                _put(self._node_classes, NodeClassRef(kind.group, kind.kind, key), raw)

    def _take_pod(self, key: str, pod: Pod | None) -> None:
        old = self._pods.get(key)
        if pod is not None:
            pod.requests  # noqa: B018  (read here, so that a pod that cannot be read is refused at the door)
        if old is not None:
            self._pending.pop(key, None)
            if pod is None or pod.metadata.uid != old.metadata.uid:
                self._assignments.pop(old.metadata.uid, None)
            if old.spec.node_name:
                self._leave_node(key, old.spec.node_name)
        if pod is None:
            self._pods.pop(key, None)
            return
        self._pods[key] = pod
        if pod.spec.node_name and not pod.is_terminal:
            self._assignments.pop(pod.metadata.uid, None)
            self._pods_on.setdefault(pod.spec.node_name, {})[key] = pod
            self._forget_view_of_node(pod.spec.node_name)
        elif pod.is_provisionable:
            self._pending[key] = pod

    def _leave_node(self, key: str, node_name: str) -> None:
        pods = self._pods_on.get(node_name, {})  # a pod that was finished when it was first seen is not there
        pods.pop(key, None)
        if not pods:
            self._pods_on.pop(node_name, None)
        self._forget_view_of_node(node_name)

    def _take_daemon_set(self, key: str, daemon_set: DaemonSet | None) -> None:
        if daemon_set is not None:
            daemon_set.to_pod().requests  # noqa: B018  (as for pods)
        _put(self._daemon_sets, key, daemon_set)

    def _take_node(self, name: str, node: Node | None) -> None:
        old = self._nodes.get(name)
        if node is not None:
            _check_readable(node)
        self._views.pop(f"node/{name}", None)
        if old is not None:
            self._node_names.remove(old.spec.provider_id, name)
            self._forget_views(old.spec.provider_id)
        _put(self._nodes, name, node)
        if node is not None:
            self._node_names.add(node.spec.provider_id, name)
            self._forget_views(node.spec.provider_id)

    def _take_claim(self, name: str, claim: NodeClaim | None) -> None:
        old = self._claims.get(name)
        if old is not None and claim is not None and _is_older(claim.metadata, old.metadata):
            return  # the watch is behind what a controller wrote and took in itself
        self._views.pop(name, None)
        if old is not None:
            self._claim_names.remove(old.provider_id, name)
            self._forget_views(old.provider_id)
        _put(self._claims, name, claim)
        if claim is not None:
            self._claim_names.add(claim.provider_id, name)
            self._forget_views(claim.provider_id)
            return
        self._marked.discard(name)
        self._nominated.pop(name, None)
        self._assignments = {uid: held for uid, held in self._assignments.items() if held != name}

    def _forget_views(self, provider_id: str) -> None:
        """Of everything that this machine is known as: by its claim's name, or by its node's where it has no claim."""
        for name in self._claim_names.all(provider_id):
            self._views.pop(name, None)
        for name in self._node_names.all(provider_id):
            self._views.pop(f"node/{name}", None)

    def _forget_view_of_node(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is not None:
            self._views.pop(f"node/{name}", None)
            self._forget_views(node.spec.provider_id)

    # Decisions that are under way

    def mark_for_deletion(self, claims: Iterable[str]) -> None:
        """These claims are about to be deleted: place nothing there, find new places for their pods."""
        self._change(claims, self._marked.add)

    def unmark_for_deletion(self, claims: Iterable[str]) -> None:
        self._change(claims, self._marked.discard)

    def nominate(self, claim: str, pod_uids: Iterable[str], *, until: float) -> None:
        """These pods were planned onto this claim, which must not be disrupted before ``until``."""
        with self._lock:
            self._assignments.update(dict.fromkeys(pod_uids, claim))
            self._nominated[claim] = max(until, self._nominated.get(claim, 0.0))
            self._change((claim,), lambda _name: None)

    def _change(self, claims: Iterable[str], change: Callable[[str], None]) -> None:
        with self._lock:
            self._version += 1
            self._snapshot = None
            for name in claims:
                change(name)
                self._views.pop(name, None)

    # Giving out

    @property
    def unreadable(self) -> Mapping[tuple[Kind, str], InvalidObject]:
        """Objects that could not be read, and why."""
        with self._lock:
            return dict(self._unreadable)

    def claim(self, name: str) -> NodeClaim | None:
        return self._claims.get(name)

    def claim_by_provider_id(self, provider_id: str) -> NodeClaim | None:
        return self._claims.get(self._claim_names.first(provider_id))

    def node_of(self, claim: NodeClaim) -> Node | None:
        """The node that joined for this claim."""
        return self._nodes.get(self._node_names.first(claim.provider_id))

    def claim_of(self, node: Node) -> NodeClaim | None:
        """The claim that this node joined for."""
        return self.claim_by_provider_id(node.spec.provider_id)

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def pods_on(self, node_name: str) -> tuple[Pod, ...]:
        """The pods bound to this node that have not finished."""
        with self._lock:
            return tuple(self._pods_on.get(node_name, {}).values())

    def node_class(self, ref: NodeClassRef) -> Mapping[str, Any] | None:
        return self._node_classes.get(ref)

    def pools(self) -> tuple[NodePool, ...]:
        """The pools that can be read, in the order in which they are tried, each with its node class named in full."""
        with self._lock:
            if self._resolved_pools is None:
                found = (self._resolved(pool) for pool in self._pools.values() if isinstance(pool, NodePool))
                self._resolved_pools = tuple(sorted(found, key=lambda pool: pool.order))
            return self._resolved_pools

    def pool(self, name: str) -> NodePool | None:
        return next((pool for pool in self.pools() if pool.name == name), None)

    def invalid_pools(self) -> tuple[InvalidPool, ...]:
        """The pools that cannot be read, and why."""
        with self._lock:
            return tuple(pool for pool in self._pools.values() if isinstance(pool, InvalidPool))

    def snapshot(self) -> Snapshot:
        """The present picture; the same object again while nothing changed."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._take_snapshot()
            return self._snapshot

    def _take_snapshot(self) -> Snapshot:
        return Snapshot(
            version=self._version,
            nodes=tuple(sorted(self._all_views(), key=_order)),
            pending=tuple(self._pending[key] for key in sorted(self._pending)),
            pools=self.pools(),
            invalid_pools=self.invalid_pools(),
            node_classes=dict(self._node_classes),
            daemon_sets=tuple(self._daemon_sets[key] for key in sorted(self._daemon_sets)),
            budgets=tuple(self._budgets[key] for key in sorted(self._budgets)),
            assignments=dict(self._assignments),
            namespaces=dict(self._namespaces),
            storage=Storage(
                claims=dict(self._claimed),
                volumes=dict(self._volumes),
                classes=dict(self._storage_classes),
                limits={name: node.limits for name, node in self._csi_nodes.items()},
            ),
        )

    def _all_views(self) -> Iterable[NodeView]:
        for name, claim in self._claims.items():
            yield self._view(name, claim, self.node_of(claim))
        for name, node in self._nodes.items():
            if self.claim_of(node) is None:
                yield self._view(f"node/{name}", None, node)

    def _view(self, key: str, claim: NodeClaim | None, node: Node | None) -> NodeView:
        view = self._views.get(key)
        if view is None:
            view = NodeView(
                node=node,
                claim=claim,
                pods=() if node is None else self.pods_on(node.name),
                marked_for_deletion=key in self._marked,
                nominated_until=self._nominated.get(key, 0.0),
            )
            self._views[key] = view
        return view

    def _kinds_for(self, pool: NodePool) -> tuple[Kind, ...]:
        """Node class kinds in the order in which a bare name is looked up: first those of the cloud whose labels the pool asks
        for; a Provisioner means those of its own time."""
        domains = {key.partition("/")[0] for key in pool.template_requirements}
        is_old = pool.origin == kinds.PROVISIONER

        def rank(kind: Kind) -> tuple[bool, bool]:
            return kind.group not in domains, is_old and "alpha" not in kind.version

        return tuple(sorted(self.node_class_kinds, key=rank))

    def _resolved(self, pool: NodePool) -> NodePool:
        """``pool`` with group and kind of its node class filled in."""
        ref = pool.node_class
        if (ref.group and ref.kind) or not self.node_class_kinds:
            return pool
        fitting = [
            NodeClassRef(kind.group, kind.kind, ref.name)
            for kind in self._kinds_for(pool)
            if ref.group in ("", kind.group) and ref.kind in ("", kind.kind) and kind not in _POOL_READERS
        ]
        if not fitting:
            return pool
        return attrs.evolve(pool, node_class=next((ref for ref in fitting if ref in self._node_classes), fitting[0]))


def _key(raw: Any) -> str:
    """``namespace/name`` of a raw object, or its name alone; empty when it has none that can be read."""
    metadata = raw.get("metadata") if isinstance(raw, Mapping) else None
    if not isinstance(metadata, Mapping):
        return ""
    namespace, name = metadata.get("namespace") or "", metadata.get("name")
    if not (isinstance(name, str) and isinstance(namespace, str)):
        return ""
    return f"{namespace}/{name}" if namespace and name else name


def _order(view: NodeView) -> tuple[bool, str, str]:
    """Initialized machines first, then by name; a node and a claim may have the same one."""
    return (not view.is_initialized, view.name, view.claim.name if view.claim is not None else "")


def _read_pool(kind: Kind, name: str, raw: Mapping[str, Any]) -> NodePool | InvalidPool:
    try:
        return _POOL_READERS[kind](raw)
    except InvalidObject as error:
        return InvalidPool(name, kind, raw, error.at(object_name=f"{kind.kind}/{plain(name)}"))


def _is_older(new: ObjectMeta, known: ObjectMeta) -> bool:
    """Whether ``new`` is an earlier version of the same object, as far as versions can be compared."""
    versions = (new.resource_version, known.resource_version)
    return new.uid == known.uid and all(map(str.isdigit, versions)) and int(versions[0]) < int(versions[1])


def _check_readable(node: Node) -> None:
    """Refuse a node at the door whose amounts cannot be read, rather than fail in the middle of a snapshot."""
    for field in ("capacity", "allocatable"):
        at(f"status.{field}", Resources.parse, getattr(node.status, field) or {})


def _put(store: dict[Any, Any], key: Any, value: Any) -> None:
    """Store the value, or remove the key when there is none."""
    if value is None:
        store.pop(key, None)
    else:
        store[key] = value
