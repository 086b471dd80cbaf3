"""A Kubernetes API server in memory: the `karpy.kube.client.KubeClient` of a cluster that lives in this process.

Objects that it returns are the stored ones and must not be changed. All calls are safe from any thread. Time and randomness come
from outside, so that the same calls give the same cluster, down to the uids.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from karpy.clock import Clock
from karpy.kube.client import ObjectList, PatchType, RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import WatchEvent
from karpy.sim.acting import ActingClient
from karpy.sim.api import status
from karpy.sim.api.access import bootstrap
from karpy.sim.api.access.identity import Identity
from karpy.sim.api.access.rbac import Access
from karpy.sim.api.builtin import BUILTIN
from karpy.sim.api.conversion import as_version
from karpy.sim.api.deletion import Deletion
from karpy.sim.api.features import BARE, Features
from karpy.sim.api.options import DeleteOptions
from karpy.sim.api.registry import Registry
from karpy.sim.api.resources import Resource
from karpy.sim.api.scales import Scales
from karpy.sim.api.store import Collection, Store
from karpy.sim.api.subresources import Subresources
from karpy.sim.api.wire.listing import select
from karpy.sim.api.wire.requests import Target
from karpy.sim.api.writes import Writes

__all__ = ["CLUSTER_ROLE", "CLUSTER_ROLE_BINDING", "ApiServer", "LogWatch"]

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING = attrs.evolve(CLUSTER_ROLE, kind="ClusterRoleBinding", plural="clusterrolebindings")
_PRIORITIES = (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))


class ApiServer:
    """One embedded API server with its namespaces and the priority classes of the system.

    ``lock`` guards everything; who holds it sees a state that does not change. ``log_capacity``: so many changes of a resource
    can at least be watched from the past; a watch that falls further behind is told so (410). ``rbac``: identities may do only
    what roles allow them; calls on this object itself are the administrator's. ``features``: what clients find over HTTP.
    """

    def __init__(
        self,
        clock: Clock,
        seed: int = 0,
        *,
        log_capacity: int = 16_384,
        rbac: bool = False,
        features: Features = BARE,
    ) -> None:
        self.lock = threading.RLock()
        self.clock = clock
        self.features = features
        self.registry = Registry(BUILTIN)
        self.store = Store(log_capacity=log_capacity)
        self.deletion = Deletion(self.store, clock, self._undefine)
        self.writes = Writes(self.store, self.registry, clock, random.Random(seed), self.deletion)
        self.subresources = Subresources(self.store, self.writes, self.deletion, clock)
        self.scales = Scales(self.store, self.writes)
        self.access = Access(self.store, rbac=rbac)
        for resource in BUILTIN:
            self.store.collection(resource)
        for name in _NAMESPACES:
            self.create(kinds.NAMESPACE, {"metadata": {"name": name}})
        for name, value in _PRIORITIES:
            self.create(kinds.PRIORITY_CLASS, {"metadata": {"name": name}, "value": value})
        if rbac:
            for role in bootstrap.cluster_roles():
                self.create(CLUSTER_ROLE, role)
            for binding in bootstrap.bindings():
                self.create(CLUSTER_ROLE_BINDING, binding)

    def acting_as(self, who: Identity) -> ActingClient:
        """The server as ``who`` may use it."""
        return ActingClient(self, who)

    def exists(self, kind: Kind, name: str, namespace: str = "") -> bool:
        with self.lock:
            resource, _ = self.registry.of(kind)
            return self.store.collection(resource).get(_space(resource, namespace), name) is not None

    def get(self, kind: Kind, name: str, namespace: str = "") -> RawObject:
        with self.lock:
            resource, version = self.registry.of(kind)
            record = self.store.collection(resource).get(_space(resource, namespace), name)
            if record is None:
                raise status.not_found(resource, name)
            return as_version(record, resource, version)

    def list(
        self, kind: Kind, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> ObjectList:
        with self.lock:
            resource, version = self.registry.of(kind)
            query = {"labelSelector": label_selector, "fieldSelector": field_selector}
            target = Target(resource.group, version.name, resource.plural, namespace)
            records = select(self.store.collection(resource), version, target, query)
            items = tuple(as_version(record, resource, version) for record in records)
            return ObjectList(items, str(self.store.revision))

    def create(self, kind: Kind, obj: RawObject, namespace: str = "") -> RawObject:
        with self.lock:
            resource, version = self.registry.of(kind)
            return as_version(self.writes.create(resource, version, obj, namespace), resource, version)

    def replace(self, kind: Kind, obj: RawObject, *, subresource: str = "") -> RawObject:
        with self.lock:
            resource, version = self.registry.of(kind)
            if subresource == "scale":
                meta = obj["metadata"]
                space = meta.get("namespace", "")
                return self.scales.write_scale(resource, version, meta["name"], space, obj)
            record = self.writes.update(resource, version, obj, subresource=subresource)
            return as_version(record, resource, version)

    def patch(
        self,
        kind: Kind,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
    ) -> RawObject:
        with self.lock:
            resource, version = self.registry.of(kind)
            if subresource == "scale":
                return self.scales.write_scale(resource, version, name, namespace, patch, patch_type)
            record = self.writes.patch(resource, version, name, patch, patch_type, namespace, subresource=subresource)
            return as_version(record, resource, version)

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        grace_period_s: int | None = None,
        uid: str = "",
        propagation: str = "",
    ) -> None:
        with self.lock:
            resource, _ = self.registry.of(kind)
            collection = self.store.collection(resource)
            record = collection.get(_space(resource, namespace), name)
            if record is None:
                raise status.not_found(resource, name)
            options = DeleteOptions(grace_period_s=grace_period_s, uid=uid, propagation=propagation)
            self.deletion.delete(collection, record, options)

    def evict(self, name: str, namespace: str, *, grace_period_s: int | None = None, uid: str = "") -> None:
        with self.lock:
            resource, _ = self.registry.of(kinds.POD)
            options = DeleteOptions(grace_period_s=grace_period_s, uid=uid)
            self.subresources.evict(resource, name, namespace, options)

    def bind(self, name: str, namespace: str, node: str) -> None:
        with self.lock:
            resource, _ = self.registry.of(kinds.POD)
            self.subresources.bind(resource, name, namespace, node)

    def watch(self, kind: Kind, resource_version: str, namespace: str = "") -> LogWatch:
        with self.lock:
            resource, _ = self.registry.of(kind)
            revision = int(resource_version or self.store.revision)
            return LogWatch(self, kind, self.store.collection(resource), revision, namespace)

    def install_crd(self, crd: Mapping[str, Any]) -> None:
        """Serve the kind that ``crd`` defines, or serve its new definition in the place of an older one.

        Raises:
            KubeError: 422, the definition is invalid.
        """
        with self.lock:
            name = crd["metadata"]["name"]
            resource, version = self.registry.of(kinds.CRD)
            collection = self.store.collection(resource)
            old = collection.get("", name)
            if old is None:
                self.writes.create(resource, version, crd)
            else:
                self.writes.commit(collection, version, old, crd)

    def on_write(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have ``callback`` called after every write; the answer ends that.

        It is called by the writing thread, with the lock held: it must be quick, and must not call back.
        """
        with self.lock:
            return self.store.on_write(callback)

    def _undefine(self, crd: Mapping[str, Any]) -> None:
        resource = self.registry.get(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        if resource is not None:
            self.registry.remove(resource)
            self.store.drop(resource)


def _space(resource: Resource, namespace: str) -> str:
    return (namespace or "default") if resource.namespaced else ""


class LogWatch:
    """A watch in process: a position in the log of one resource."""

    __slots__ = ("_collection", "_kind", "_namespace", "_position", "_server", "_stopped")

    def __init__(self, server: ApiServer, kind: Kind, collection: Collection, revision: int, namespace: str) -> None:
        self._server = server
        self._kind = kind
        self._collection = collection
        self._namespace = namespace
        self._position = collection.log.position(revision)
        self._stopped = False

    def poll(self) -> list[WatchEvent]:
        """What has happened since the last poll; see `karpy.kube.client.Watch`."""
        log = self._collection.log
        if self._stopped:
            return []
        if log.end == self._position:
            if log.is_closed:
                raise status.gone("the resource is not served any more")
            return []
        with self._server.lock:
            changes = log.since(self._position)
            self._position = log.end
            kind, resource = self._kind, self._collection.resource
            if self._namespace:
                changes = [c for c in changes if c.record.object["metadata"].get("namespace") == self._namespace]
            if kind.version == resource.storage:
                return [change.event(kind) for change in changes]
            version = self._server.registry.of(kind)[1]
            return [WatchEvent(c.type, kind, as_version(c.record, resource, version)) for c in changes]

    def stop(self) -> None:
        self._stopped = True
