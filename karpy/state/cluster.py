"""What is known of the cluster, kept current event by event: the core's only long-lived mutable object."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from karpy.errors import InvalidObject, plain
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.lists import Found, key_of, read_objects
from karpy.objects.meta import decode
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodeoverlay import InvalidOverlay, NodeOverlay, read_overlay
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.objects.pod import Pod
from karpy.objects.sharing import Sharing
from karpy.objects.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.objects.workloads import DaemonSet, Namespace, PodDisruptionBudget
from karpy.resources import Resources
from karpy.state.attachments import Attachments
from karpy.state.bufferbook import BufferBook
from karpy.state.buffers import BufferView
from karpy.state.daemonpods import DaemonPods
from karpy.state.machines import Machines
from karpy.state.nodeview import NodeView
from karpy.state.podtimes import PodTimes, Times
from karpy.state.pools import Pools
from karpy.state.snapshot import InvalidPool, Snapshot, Storage
from karpy.state.stores import InOrder, Store
from karpy.state.workloads import WORKLOAD_KINDS, Selectors

__all__ = ["ClusterState"]

T = TypeVar("T")


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
        kinds.VOLUME_ATTACHMENT,
        kinds.NODE_OVERLAY,
        *WORKLOAD_KINDS,
    )
    #: Kinds that `apply` understands too, and that matter only where CapacityBuffers are served.
    BUFFER_KINDS = BufferBook.KINDS

    def __init__(self, node_class_kinds: tuple[Kind, ...] = ()) -> None:
        self.node_class_kinds = node_class_kinds
        self._lock = threading.RLock()
        self._version = 0
        self._unreadable: dict[tuple[Kind, str], InvalidObject] = {}
        self._awaited: dict[Kind, None] = {}
        self._unwatched: dict[Kind, AbstractSet[str]] = {}
        """The keys that `fill` took in, of kinds whose watch has told nothing yet."""
        self._machines = Machines()
        self._pools = Pools(node_class_kinds)
        self._sharing = Sharing()
        self._pods: dict[str, Pod] = {}
        self._pending: InOrder[str, Pod] = InOrder()
        self._assignments: Store[str, str] = Store()
        self._pod_times = PodTimes()
        self._daemon_sets: InOrder[str, DaemonSet] = InOrder()
        self._daemon_pods = DaemonPods()
        self._budgets: InOrder[str, PodDisruptionBudget] = InOrder()
        self._claimed: Store[str, PersistentVolumeClaim] = Store()
        self._volumes: Store[str, PersistentVolume] = Store()
        self._storage_classes: Store[str, StorageClass] = Store()
        self._attach_limits: Store[str, Mapping[str, int]] = Store()
        self._attachments = Attachments()
        self._namespaces: Store[str, Mapping[str, str]] = Store()
        self._overlays: InOrder[str, NodeOverlay | InvalidOverlay] = InOrder()
        self._selectors = Selectors()
        self._buffers = BufferBook()
        self._snapshot: Snapshot | None = None
        self._takers: Mapping[Kind, Callable[[str, Any], None]] = {
            kinds.POD: self._take_pod,
            kinds.NODE: lambda key, obj: self._machines.take_node(key, _read(obj, Node)),
            kinds.NODE_CLAIM: self._take_claim,
            kinds.DAEMON_SET: self._take_daemon_set,
            kinds.CSI_NODE: self._take_csi_node,
            kinds.VOLUME_ATTACHMENT: lambda key, obj: self._attachments.take(key, _read(obj, VolumeAttachment)),
            kinds.NAMESPACE: self._take_namespace,
            kinds.POD_DISRUPTION_BUDGET: _keeper(self._budgets, PodDisruptionBudget),
            kinds.PERSISTENT_VOLUME_CLAIM: _keeper(self._claimed, PersistentVolumeClaim),
            kinds.PERSISTENT_VOLUME: _keeper(self._volumes, PersistentVolume),
            kinds.STORAGE_CLASS: _keeper(self._storage_classes, StorageClass),
        }

    @classmethod
    def of(cls, objects: Iterable[Mapping[str, Any]], node_class_kinds: tuple[Kind, ...] = ()) -> ClusterState:
        """The state of a cluster that holds exactly these objects; kinds that do not matter are skipped.

        Raises:
            InvalidObject: one of them cannot be read.
        """
        return _filled(cls(node_class_kinds), (Found.of(obj) for obj in objects))

    @classmethod
    def of_json(cls, documents: Iterable[bytes], node_class_kinds: tuple[Kind, ...] = ()) -> ClusterState:
        """As `of`, from JSON as the API server sends it: lists, page by page, or single objects.

        Raises:
            InvalidObject: one of them cannot be read.
        """
        return _filled(cls(node_class_kinds), (found for each in documents for found in read_objects(each)))

    # Taking in

    def apply(self, event: WatchEvent) -> None:
        """Take in one event, whose object is raw JSON, or decoded if it is of a kind of `karpy.objects` that is decoded as a whole.

        O(1); unreadable objects are remembered in `unreadable` and skipped.
        """
        key = key_of(event.object)
        gone = event.type is EventType.DELETED
        with self._lock:
            self._changed()
            try:
                if not key:
                    raise InvalidObject("found nothing", path="metadata.name", accepted="text that is not empty")
                self._take(event.kind, key, None if gone else event.object)
                if gone and event.kind == kinds.NODE_CLAIM:
                    self._machines.bury(event.object["metadata"].get("uid") or "")
                if self._unreadable:
                    self._unreadable.pop((event.kind, key), None)
            except InvalidObject as error:
                self._take(event.kind, key, None)
                # Items of lists do not say of what kind they are; the event does.
                named = f"{event.kind.kind}/{plain(key)}" if key else f"{event.kind.kind} without a name"
                self._unreadable[event.kind, key] = error.at(object_name=named)

    def expect(self, kinds: Iterable[Kind]) -> None:
        """From now on the state is synced only when each of these kinds was listed; one that is not served was."""
        with self._lock:
            self._awaited.update(dict.fromkeys(kinds))

    def retain(self, kind: Kind, keys: AbstractSet[str]) -> None:
        """Only these objects of ``kind`` exist: drop what came by other ways than by watch events, which tell of its end, and is
        gone since. That is claims that were taken in when they were created, and what `fill` took in.

        Called after a list.
        """
        with self._lock:
            self._awaited.pop(kind, None)
            gone = set(self._unwatched.pop(kind, ())) - keys
            if kind == kinds.NODE_CLAIM:
                gone.update(self._machines.claims_beside(keys))
            for key in sorted(gone):
                self._changed()
                self._take(kind, key, None)
                self._unreadable.pop((kind, key), None)

    def fill(self, kind: Kind, objects: Sequence[Mapping[str, Any]]) -> None:
        """Do without the watch of a kind that is still awaited: these are all its objects, until the watch says otherwise."""
        with self._lock:
            if kind not in self._awaited:
                return  # the watch was faster, and knows better
            for obj in objects:
                self.apply(WatchEvent(EventType.ADDED, kind, obj))
            keys = {key_of(obj) for obj in objects}
            self.retain(kind, keys)
            self._unwatched[kind] = keys

    def _take(self, kind: Kind, key: str, obj: Any) -> None:
        take = self._takers.get(kind)
        if take is not None:
            take(key, obj)
        else:
            self._take_raw(kind, key, obj)

    def _take_raw(self, kind: Kind, key: str, raw: Mapping[str, Any] | None) -> None:
        """Kinds that several rooms may keep something of, or that keep what they cannot read."""
        if kind == kinds.NODE_OVERLAY:
            self._overlays.put(key, None if raw is None else read_overlay(key, raw))
            return
        if kind in WORKLOAD_KINDS:
            self._selectors.take(kind, key, raw)
        if kind in self.BUFFER_KINDS:
            self._buffers.take(kind, key, raw)
        if kind not in WORKLOAD_KINDS and kind not in self.BUFFER_KINDS:
            self._pools.take(kind, key, raw)

    def _take_pod(self, key: str, obj: Any) -> None:
        old = self._pods.get(key)
        pod = None if obj is None else self._sharing.pod(obj)
        if old is not None and (pod is None or pod.metadata.uid != old.metadata.uid):
            self._assignments.put(old.metadata.uid, None)
            self._pod_times.forget(old.metadata.uid)
        self._pending.put(key, pod if pod is not None and pod.is_provisionable else None)
        self._daemon_pods.put(key, old, pod)
        place = pod.spec.node_name if pod is not None and not pod.is_terminal else ""
        if old is not None and old.spec.node_name not in ("", place):
            self._machines.unbind(key, old.spec.node_name)
        if pod is None:
            self._pods.pop(key, None)
            return
        self._pods[key] = pod
        if place:
            self._assignments.put(pod.metadata.uid, None)
            self._machines.bind(key, pod)

    def _take_daemon_set(self, key: str, obj: Any) -> None:
        daemon_set = _read(obj, DaemonSet)
        if daemon_set is not None:
            daemon_set.to_pod().requests  # noqa: B018  (read here, so that one that cannot be read is refused at the door)
        self._daemon_sets.put(key, daemon_set)

    def _take_csi_node(self, key: str, obj: Any) -> None:
        node = _read(obj, CSINode)
        self._attach_limits.put(key, None if node is None else node.limits)

    def _take_namespace(self, key: str, obj: Any) -> None:
        namespace = _read(obj, Namespace)
        self._namespaces.put(key, None if namespace is None else namespace.metadata.labels or {})

    def _take_claim(self, name: str, obj: Any) -> None:
        self._machines.take_claim(name, None if obj is None else NodeClaim.from_dict(obj))
        if obj is None:
            for uid in [uid for uid, held in self._assignments.picture().items() if held == name]:
                self._assignments.put(uid, None)

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
        """These pods were planned onto this claim, which must not be disrupted before ``until``; unless it is gone by now."""
        with self._lock:
            if self._machines.claim(claim) is None:
                return
            self._changed()
            self._assignments.update(dict.fromkeys(pod_uids, claim))
            self._machines.nominate(claim, until)

    # What provisioning makes of pods

    def note_waiting(self, pods: Iterable[Pod], now: float) -> None:
        """Provisioning saw that these pods wait. Those that run somewhere, or are gone, are left out."""
        with self._lock:
            for pod in pods:
                uid = pod.metadata.uid
                if self._pod_times.of(uid).acknowledged is None and self._waits(pod):
                    self._pod_times.acknowledge(uid, now)

    def note_decided(self, placed: Iterable[tuple[Pod, bool]], refused: Iterable[Pod], now: float) -> None:
        """A pass came to this: a place for some pods, and whether that is of a pool whose nodes do join; none for others."""
        with self._lock:
            for pod, in_healthy_pool in placed:
                if self._waits(pod):
                    self._pod_times.place(pod.metadata.uid, now, in_healthy_pool=in_healthy_pool)
            for pod in refused:
                if self._waits(pod):
                    self._pod_times.refuse(pod.metadata.uid, now)
                    if self._assignments.get(pod.metadata.uid) is not None:
                        self._changed()
                        self._assignments.put(pod.metadata.uid, None)

    def pod_times(self, uid: str) -> Times:
        """When what became of this pod. It is remembered until the pod is gone."""
        with self._lock:
            return self._pod_times.of(uid)

    def _waits(self, pod: Pod) -> bool:
        """Whether this very pod still waits, as far as is known now."""
        known = self._pods.get(pod.key)
        return known is not None and known.metadata.uid == pod.metadata.uid and not known.spec.node_name

    def _changed(self) -> None:
        self._version += 1
        self._snapshot = None

    # Giving out

    @property
    def awaited(self) -> tuple[Kind, ...]:
        """The kinds that were not listed yet: nothing must be decided meanwhile, as the cluster looks emptier than it is."""
        with self._lock:
            return tuple(self._awaited)

    @property
    def is_synced(self) -> bool:
        """Whether every kind that is expected was listed. Once that is so, it stays so: what happens later is told."""
        return not self._awaited

    def versions(self, kind: Kind) -> Mapping[str, str]:
        """The resource version of each node, or of each claim, as far as the state has come."""
        with self._lock:
            return self._machines.versions(kind)

    @property
    def unreadable(self) -> Mapping[tuple[Kind, str], InvalidObject]:
        """Objects that could not be read, and why."""
        with self._lock:
            return dict(self._unreadable)

    def claim(self, name: str) -> NodeClaim | None:
        with self._lock:
            return self._machines.claim(name)

    def claim_by_provider_id(self, provider_id: str) -> NodeClaim | None:
        with self._lock:
            return self._machines.claim_by_provider_id(provider_id)

    @property
    def has_claims(self) -> bool:
        with self._lock:
            return self._machines.has_claims

    def node_of(self, claim: NodeClaim) -> Node | None:
        """The node that joined for this claim."""
        with self._lock:
            return self._machines.node_by_provider_id(claim.provider_id)

    def nodes_of(self, claim: NodeClaim) -> tuple[Node, ...]:
        """All nodes that carry the claim's provider id, by name: there should be one at most."""
        with self._lock:
            return self._machines.nodes_by_provider_id(claim.provider_id)

    def claim_of(self, node: Node) -> NodeClaim | None:
        """The claim that this node joined for."""
        with self._lock:
            return self._machines.claim_by_provider_id(node.spec.provider_id)

    def node(self, name: str) -> Node | None:
        with self._lock:
            return self._machines.node(name)

    def machine(self, claim: str) -> NodeView | None:
        """The view of the machine that this claim stands for, without taking a whole snapshot."""
        with self._lock:
            return self._machines.machine(claim)

    def held_by(self, pool: str) -> Resources:
        """The capacity of the pool's machines that are not leaving, without taking a whole snapshot."""
        with self._lock:
            return self._machines.held(pool)

    def pods(self) -> tuple[Pod, ...]:
        """All pods, whatever has become of them."""
        with self._lock:
            return tuple(self._pods.values())

    def pods_on(self, node_name: str) -> tuple[Pod, ...]:
        """The pods bound to this node that have not finished."""
        with self._lock:
            return self._machines.pods_on(node_name)

    def claims_by_provider_id(self, provider_id: str) -> tuple[NodeClaim, ...]:
        """All claims that say that this machine is theirs; one of them, normally. The first speaks for it."""
        with self._lock:
            return self._machines.claims_by_provider_id(provider_id)

    def claims_of(self, node: Node) -> tuple[NodeClaim, ...]:
        """All claims that say that this node is theirs."""
        return self.claims_by_provider_id(node.spec.provider_id)

    def attachments_on(self, node_name: str) -> tuple[VolumeAttachment, ...]:
        """The volumes that are attached to this node."""
        with self._lock:
            return self._attachments.on(node_name)

    def volume_claims(self) -> Mapping[str, PersistentVolumeClaim]:
        """By ``namespace/name``."""
        with self._lock:
            return self._claimed.picture()

    def budgets(self) -> tuple[PodDisruptionBudget, ...]:
        """The budgets that can be read, by name."""
        with self._lock:
            return self._budgets.picture()

    def budget(self, key: str) -> PodDisruptionBudget | None:
        """By ``namespace/name``."""
        with self._lock:
            return self._budgets.get(key)

    def node_class(self, ref: NodeClassRef) -> Mapping[str, Any] | None:
        with self._lock:
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

    def invalid_pool(self, name: str) -> InvalidPool | None:
        """The pool, if it is there and cannot be read: then it is not gone, and what it wants is not known."""
        return next((pool for pool in self.invalid_pools() if pool.name == name), None)

    def buffers(self) -> tuple[BufferView, ...]:
        """The CapacityBuffers that are served, as they are now."""
        with self._lock:
            return self._buffers.views()

    def overlays(self) -> tuple[NodeOverlay | InvalidOverlay, ...]:
        """The overlays by name, with those that cannot be read."""
        with self._lock:
            return self._overlays.picture()

    def overlay(self, name: str) -> NodeOverlay | InvalidOverlay | None:
        with self._lock:
            return self._overlays.get(name)

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
            pending=self._pending.picture(),
            pools=self._pools.valid(),
            invalid_pools=self._pools.invalid(),
            node_classes=self._pools.node_classes(),
            daemon_sets=self._daemon_sets.picture(),
            daemon_pods=self._daemon_pods.picture(),
            budgets=self._budgets.picture(),
            assignments=self._assignments.picture(),
            namespaces=self._namespaces.picture(),
            storage=Storage(
                claims=self._claimed.picture(),
                volumes=self._volumes.picture(),
                classes=self._storage_classes.picture(),
                limits=self._attach_limits.picture(),
            ),
            workloads=self._selectors.picture(),
            overlays=self._overlays.picture(),
            buffers=self._buffers.views(),
        )


def _filled(state: ClusterState, objects: Iterable[Found]) -> ClusterState:
    by_name = {(kind.group, kind.kind): kind for kind in (*state.KINDS, *state.BUFFER_KINDS, *state.node_class_kinds)}
    for found in objects:
        kind = by_name.get((found.group, found.kind))
        if kind is not None:
            state.apply(WatchEvent(EventType.ADDED, kind, found.object))
    for error in state.unreadable.values():
        raise error
    return state


def _keeper(store: Store[str, Any] | InOrder[str, Any], type_: type[Any]) -> Callable[[str, Any], None]:
    """Of kinds that are only kept: how."""
    return lambda key, obj: store.put(key, _read(obj, type_))


def _read(obj: Any, type_: type[T]) -> T | None:
    return obj if obj is None or isinstance(obj, type_) else decode(obj, type_)
