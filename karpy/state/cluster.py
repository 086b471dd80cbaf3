"""What is known of the cluster, kept current event by event: the core's only long-lived mutable object."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from karpy.errors import InvalidObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import decode
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.objects.pod import Pod
from karpy.objects.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.objects.workloads import DaemonSet, PodDisruptionBudget
from karpy.state.machines import Machines
from karpy.state.pools import Pools
from karpy.state.snapshot import InvalidPool, Snapshot, Storage

__all__ = ["ClusterState"]


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
        self._unreadable: dict[tuple[Kind, str], InvalidObject] = {}
        self._machines = Machines()
        self._pools = Pools(node_class_kinds)
        self._pods: dict[str, Pod] = {}
        self._pending: dict[str, Pod] = {}
        self._assignments: dict[str, str] = {}
        self._daemon_sets: dict[str, DaemonSet] = {}
        self._budgets: dict[str, PodDisruptionBudget] = {}
        self._claimed: dict[str, PersistentVolumeClaim] = {}
        self._volumes: dict[str, PersistentVolume] = {}
        self._storage_classes: dict[str, StorageClass] = {}
        self._csi_nodes: dict[str, CSINode] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
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
        metadata = event.object["metadata"]
        name = metadata["name"]
        key = f"{metadata['namespace']}/{name}" if metadata.get("namespace") else name
        gone = event.type is EventType.DELETED
        with self._lock:
            self._changed()
            try:
                self._take(event.kind, key, None if gone else event.object)
                self._unreadable.pop((event.kind, key), None)
            except InvalidObject as error:
                self._take(event.kind, key, None)
                self._unreadable[event.kind, key] = error

    def retain(self, kind: Kind, keys: AbstractSet[str]) -> None:
        """Only these objects of ``kind`` exist: drop claims that were taken in when they were created and are gone since.

        Called after a list. All other objects come by watch events alone, which tell of their end.
        """
        if kind != kinds.NODE_CLAIM:
            return
        with self._lock:
            for name in self._machines.claims_beside(keys):
                self._changed()
                self._take_claim(name, None)

    def _take(self, kind: Kind, key: str, raw: Mapping[str, Any] | None) -> None:
        if kind == kinds.POD:
            self._take_pod(key, None if raw is None else decode(raw, Pod))
        elif kind == kinds.NODE:
            self._machines.take_node(key, None if raw is None else decode(raw, Node))
        elif kind == kinds.NODE_CLAIM:
            self._take_claim(key, None if raw is None else NodeClaim.from_dict(raw))
        elif kind == kinds.DAEMON_SET:
            self._take_daemon_set(key, None if raw is None else decode(raw, DaemonSet))
        elif kind in self._plain:
            store, type_ = self._plain[kind]
            _put(store, key, None if raw is None else decode(raw, type_))
        elif kind == kinds.NAMESPACE:
            _put(self._namespaces, key, None if raw is None else dict(raw["metadata"].get("labels") or {}))
        else:
            self._pools.take(kind, key, raw)

    def _take_pod(self, key: str, pod: Pod | None) -> None:
        old = self._pods.get(key)
        if pod is not None:
            pod.requests  # noqa: B018  (read here, so that a pod that cannot be read is refused at the door)
        if old is not None:
            self._pending.pop(key, None)
            if pod is None or pod.metadata.uid != old.metadata.uid:
                self._assignments.pop(old.metadata.uid, None)
            if old.spec.node_name:
                self._machines.unbind(key, old.spec.node_name)
        if pod is None:
            self._pods.pop(key, None)
            return
        self._pods[key] = pod
        if pod.spec.node_name and not pod.is_terminal:
            self._assignments.pop(pod.metadata.uid, None)
            self._machines.bind(key, pod)
        elif pod.is_provisionable:
            self._pending[key] = pod

    def _take_daemon_set(self, key: str, daemon_set: DaemonSet | None) -> None:
        if daemon_set is not None:
            daemon_set.to_pod().requests  # noqa: B018  (as for pods)
        _put(self._daemon_sets, key, daemon_set)

    def _take_claim(self, name: str, claim: NodeClaim | None) -> None:
        self._machines.take_claim(name, claim)
        if claim is None:
            self._assignments = {uid: held for uid, held in self._assignments.items() if held != name}

    # Decisions that are under way

    def mark_for_deletion(self, claims: Iterable[str]) -> None:
        """These claims are about to be deleted: place nothing there, find new places for their pods."""
        with self._lock:
            self._changed()
            self._machines.mark(claims)

    def unmark_for_deletion(self, claims: Iterable[str]) -> None:
        with self._lock:
            self._changed()
            self._machines.unmark(claims)

    def nominate(self, claim: str, pod_uids: Iterable[str], *, until: float) -> None:
        """These pods were planned onto this claim, which must not be disrupted before ``until``."""
        with self._lock:
            self._changed()
            self._assignments.update(dict.fromkeys(pod_uids, claim))
            self._machines.nominate(claim, until)

    def _changed(self) -> None:
        self._version += 1
        self._snapshot = None

    # Giving out

    @property
    def unreadable(self) -> Mapping[tuple[Kind, str], InvalidObject]:
        """Objects that could not be read, and why."""
        with self._lock:
            return dict(self._unreadable)

    def claim(self, name: str) -> NodeClaim | None:
        return self._machines.claim(name)

    def claim_by_provider_id(self, provider_id: str) -> NodeClaim | None:
        return self._machines.claim_by_provider_id(provider_id)

    def node_of(self, claim: NodeClaim) -> Node | None:
        """The node that joined for this claim."""
        return self._machines.node_by_provider_id(claim.provider_id)

    def claim_of(self, node: Node) -> NodeClaim | None:
        """The claim that this node joined for."""
        return self._machines.claim_by_provider_id(node.spec.provider_id)

    def node(self, name: str) -> Node | None:
        return self._machines.node(name)

    def pods_on(self, node_name: str) -> tuple[Pod, ...]:
        """The pods bound to this node that have not finished."""
        with self._lock:
            return self._machines.pods_on(node_name)

    def node_class(self, ref: NodeClassRef) -> Mapping[str, Any] | None:
        return self._pools.node_class(ref)

    def pools(self) -> tuple[NodePool, ...]:
        """The pools that can be read, in the order in which they are tried, each with its node class named in full."""
        with self._lock:
            return self._pools.valid()

    def pool(self, name: str) -> NodePool | None:
        return next((pool for pool in self.pools() if pool.name == name), None)

    def invalid_pools(self) -> tuple[InvalidPool, ...]:
        """The pools that cannot be read, and why."""
        with self._lock:
            return self._pools.invalid()

    def snapshot(self) -> Snapshot:
        """The present picture; the same object again while nothing changed."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._take_snapshot()
            return self._snapshot

    def _take_snapshot(self) -> Snapshot:
        return Snapshot(
            version=self._version,
            nodes=self._machines.views(),
            pending=tuple(self._pending[key] for key in sorted(self._pending)),
            pools=self._pools.valid(),
            invalid_pools=self._pools.invalid(),
            node_classes=self._pools.node_classes(),
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


def _put(store: dict[Any, Any], key: Any, value: Any) -> None:
    """Store the value, or remove the key when there is none."""
    if value is None:
        store.pop(key, None)
    else:
        store[key] = value
