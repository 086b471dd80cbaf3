"""The API server as a process sees it through its gate: a `karpy.kube.client.KubeClient` whose calls may meet faults."""

from __future__ import annotations

from typing import Any

from karpy.errors import KubeError
from karpy.kube.client import KubeClient, ObjectList, PatchType, RawObject, Watch
from karpy.objects.kinds import POD, Kind
from karpy.objects.watchevent import WatchEvent
from karpy.sim.faults import Fault
from karpy.sim.processes.gate import Gate

__all__ = ["GatedKube"]

LONGEST_LATE_S = 5.0


class GatedKube:
    """``kube`` through ``gate``."""

    def __init__(self, kube: KubeClient, gate: Gate) -> None:
        self._kube = kube
        self._gate = gate

    def get(self, kind: Kind, name: str, namespace: str = "") -> RawObject:
        return self._gate.call(lambda: self._kube.get(kind, name, namespace), "get", kind, name, namespace)

    def list(
        self, kind: Kind, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> ObjectList:
        def act() -> ObjectList:
            return self._kube.list(kind, namespace, label_selector=label_selector, field_selector=field_selector)

        return self._gate.call(act, "list", kind, "", namespace)

    def create(self, kind: Kind, obj: RawObject, namespace: str = "") -> RawObject:
        meta = obj.get("metadata") or {}
        name = meta.get("name") or meta.get("generateName", "")
        return self._gate.call(
            lambda: self._kube.create(kind, obj, namespace), "create", kind, name, namespace, body=obj
        )

    def replace(self, kind: Kind, obj: RawObject, *, subresource: str = "") -> RawObject:
        meta = obj["metadata"]
        return self._gate.call(
            lambda: self._kube.replace(kind, obj, subresource=subresource),
            *("replace", kind, meta["name"], meta.get("namespace", ""), obj, subresource),
        )

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
        def act() -> RawObject:
            return self._kube.patch(kind, name, patch, namespace, patch_type=patch_type, subresource=subresource)

        return self._gate.call(act, "patch", kind, name, namespace, patch, subresource)

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
        def act() -> None:
            self._kube.delete(kind, name, namespace, grace_period_s=grace_period_s, uid=uid, propagation=propagation)

        self._gate.call(act, "delete", kind, name, namespace)

    def evict(self, name: str, namespace: str, *, grace_period_s: int | None = None, uid: str = "") -> None:
        def act() -> None:
            self._kube.evict(name, namespace, grace_period_s=grace_period_s, uid=uid)

        self._gate.call(act, "evict", POD, name, namespace, subresource="eviction")

    def bind(self, name: str, namespace: str, node: str) -> None:
        self._gate.call(lambda: self._kube.bind(name, namespace, node), "bind", POD, name, namespace, node, "binding")

    def watch(self, kind: Kind, resource_version: str, namespace: str = "") -> Watch:
        watch = self._gate.call(
            lambda: self._kube.watch(kind, resource_version, namespace), "watch", kind, "", namespace
        )
        return _GatedWatch(watch, self._gate)


class _GatedWatch:
    """A watch that may break, or tell late; what it tells stays in order."""

    def __init__(self, watch: Watch, gate: Gate) -> None:
        self._watch = watch
        self._gate = gate
        self._held: list[WatchEvent] = []
        self._until = 0.0

    def poll(self) -> list[WatchEvent]:
        events = self._watch.poll()
        if events:
            self._deliver(events)
        elif not self._held:
            return events
        if self._until > self._gate.boundary.clock.now():
            return []
        self._gate.late.pop(self, None)
        told, self._held = self._held, []
        return told

    def _deliver(self, events: list[WatchEvent]) -> None:
        boundary = self._gate.boundary
        fault, number = boundary.fault_of_delivery()
        if fault is Fault.DROP:
            self.stop()
            if boundary.drawn(number, 0, 1) < 0.5:
                raise KubeError("the watch fell too far behind", code=410, reason="Expired")
            raise KubeError("the connection was reset", code=503, reason="ServiceUnavailable")
        self._held += events
        if fault is Fault.LATE:
            self._until = boundary.clock.now() + boundary.drawn(number, 0, LONGEST_LATE_S)
            self._gate.late[self] = self._until

    def stop(self) -> None:
        self._gate.late.pop(self, None)
        self._held = []
        self._watch.stop()
