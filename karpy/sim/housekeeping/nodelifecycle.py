"""What a cluster's controllers do about nodes: taints for their condition, silence noticed, nodes without a machine removed.

Source: the node lifecycle and cloud node lifecycle controllers of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from karpy.clock import Clock, format_time, parse_time
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, PatchType, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import ClusterCache
from karpy.sim.housekeeping.zonepace import Health, Zone, ZonePace, zone_of
from karpy.sim.kubelets.nodes import NOT_READY, SILENT_RENEWAL, UNREACHABLE
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.taints import NO_EXECUTE, NO_SCHEDULE

__all__ = ["CloudNodes", "NodeLifecycle"]

LEASES = "kube-node-lease"
GRACE_S = 40.0
"""Silence after which a node counts as unreachable."""
CLOUD_CHECK_S = 5.0

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_PRESSURES = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_OWN_KEYS = frozenset({NOT_READY, UNREACHABLE, UNSCHEDULABLE, *_PRESSURES.values()})


def _ready(node: RawObject) -> str:
    return _conditions(node).get("Ready", "Unknown")


def _conditions(node: RawObject) -> dict[str, str]:
    """The status of each condition by its type."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return {each["type"]: each["status"] for each in conditions}


class NodeLifecycle:
    """Keeps each node's taints in step with its condition, and marks nodes whose kubelet has fallen silent."""

    name = "node-lifecycle"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._recorder = Recorder(kube, clock, "node-controller")
        self._zones: dict[str, tuple[Zone, bool]] = {}
        """By node, where it is and whether it is ready."""
        self._health = Health()
        self._pace = ZonePace()

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.NODE, self._of_node), Source(kinds.LEASE, self._renewed))

    def _of_node(self, event: WatchEvent) -> Sequence[Request]:
        """The node; and when it changes how fast nodes are given up on, all that are not ready."""
        name, obj = event.object["metadata"]["name"], event.object
        before = self._zones.pop(name, None)
        after = None if event.type is EventType.DELETED else (zone_of(obj), _ready(obj) == "True")
        if after is not None:
            self._zones[name] = after
        if before == after:
            return by_name(event)
        zones = {each[0] for each in (before, after) if each is not None}
        outlook = self._outlook(zones)
        for each, sign in ((before, -1), (after, 1)):
            if each is not None:
                self._health.count(each[0], sign, is_ready=each[1])
        if outlook == self._outlook(zones):
            return by_name(event)
        waiting = (each for each, (_, is_ready) in self._zones.items() if not is_ready and each != name)
        return (Request(name), *map(Request, waiting))

    def _outlook(self, zones: Iterable[Zone]) -> tuple[bool, dict[Zone, float | None]]:
        return self._health.is_lost, {zone: self._health.pause_s(zone) for zone in zones}

    @staticmethod
    def _renewed(event: WatchEvent) -> Sequence[Request]:
        metadata = event.object["metadata"]
        return (Request(metadata["name"]),) if metadata["namespace"] == LEASES else ()

    def reconcile(self, request: Request) -> Result:
        node = self._cache.get(kinds.NODE, request.name)
        if node is None:
            return DONE
        now = self._clock.now()
        deadline = self._deadline(node)
        if deadline is not None and deadline <= now and _ready(node) != "Unknown":
            self._mark_unreachable(node, now)
            return DONE  # the changed node comes back
        if _ready(node) != "True":
            self._mark_pods(node, now)
        again = [] if deadline is None or deadline <= now else [deadline - now]
        wait_s = self._sync_taints(node, now)
        if wait_s:
            again.append(wait_s)
        return Result(min(again)) if again else DONE

    def _deadline(self, node: RawObject) -> float | None:
        """When the node's silence becomes too long; None while its kubelet is known to live, or never had a lease."""
        lease = self._cache.get(kinds.LEASE, node["metadata"]["name"], LEASES)
        if lease is None or SILENT_RENEWAL in (lease["metadata"].get("annotations") or {}):
            return None
        return parse_time(lease["spec"]["renewTime"]) + GRACE_S

    def _mark_unreachable(self, node: RawObject, now: float) -> None:
        at = format_time(now)
        conditions = [
            {
                "type": each["type"],
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": at,
            }
            for each in node["status"]["conditions"]
        ]
        name = node["metadata"]["name"]
        patch = {"status": {"conditions": conditions}}
        self._kube.patch(kinds.NODE, name, patch, patch_type=PatchType.STRATEGIC, subresource="status")
        self._recorder.record(kinds.NODE, node, NORMAL, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        self._mark_pods(node, now)

    def _mark_pods(self, node: RawObject, now: float) -> None:
        """Nobody can say that the pods of a node in trouble still answer."""
        for pod in tuple(self._cache.pods_on(node["metadata"]["name"])):
            conditions = (pod.get("status") or {}).get("conditions") or ()
            if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
                self._mark_not_ready(pod, format_time(now))
                self._recorder.record(kinds.POD, pod, WARNING, "NodeNotReady", "Node is not ready")

    def _mark_not_ready(self, pod: RawObject, at: str) -> None:
        patch = {"status": {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": at}]}}
        metadata = pod["metadata"]
        try:
            self._kube.patch(
                kinds.POD,
                metadata["name"],
                patch,
                metadata["namespace"],
                patch_type=PatchType.STRATEGIC,
                subresource="status",
            )
        except KubeError as error:
            if not error.not_found:
                raise

    def _sync_taints(self, node: RawObject, now: float) -> float | None:
        """Answers how long it takes until the node's pods may be driven out, if they are to be."""
        spec = node.get("spec") or {}
        present = spec.get("taints") or []
        wanted = _wanted_taints(_conditions(node), cordoned=bool(spec.get("unschedulable")))
        held = {(each["key"], each["effect"]) for each in present if each["key"] in _OWN_KEYS}
        driving_out = {each for each in wanted if each[1] == NO_EXECUTE}
        health, wait_s = self._health, None
        if driving_out and health.is_lost:
            wanted -= driving_out
        elif driving_out and not any(effect == NO_EXECUTE for _, effect in held):
            wait_s = self._pace.wait_s(zone_of(node), health, now)
            wanted -= driving_out if wait_s != 0.0 else set()
        if held == wanted:
            return wait_s
        kept = [each for each in present if each["key"] not in _OWN_KEYS or (each["key"], each["effect"]) in wanted]
        at = format_time(now)
        added = [{"key": key, "effect": effect, "timeAdded": at} for key, effect in sorted(wanted - held)]
        metadata = node["metadata"]
        # Taints are one list: the version keeps this from undoing what someone else has just changed.
        patch = {
            "metadata": {"resourceVersion": metadata["resourceVersion"]},
            "spec": {"taints": [*kept, *added] or None},
        }
        self._kube.patch(kinds.NODE, metadata["name"], patch)
        return wait_s


def _wanted_taints(conditions: Mapping[str, str], *, cordoned: bool) -> set[tuple[str, str]]:
    wanted = {(UNSCHEDULABLE, NO_SCHEDULE)} if cordoned else set()
    wanted |= {(key, NO_SCHEDULE) for type_, key in _PRESSURES.items() if conditions.get(type_) == "True"}
    ready = conditions.get("Ready", "Unknown")
    if ready != "True":
        key = UNREACHABLE if ready == "Unknown" else NOT_READY
        wanted |= {(key, NO_SCHEDULE), (key, NO_EXECUTE)}
    return wanted


class CloudNodes:
    """Removes nodes that are not ready and whose machine the cloud does not know any more."""

    name = "cloud-node-lifecycle"

    def __init__(self, kube: KubeClient, cache: ClusterCache, machine_exists: Callable[[str], bool]) -> None:
        self._kube = kube
        self._cache = cache
        self._machine_exists = machine_exists

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.NODE, self._unready),)

    @staticmethod
    def _unready(event: WatchEvent) -> Sequence[Request]:
        if event.type is EventType.DELETED or _ready(event.object) == "True":
            return ()
        return by_name(event)

    def reconcile(self, request: Request) -> Result:
        node = self._cache.get(kinds.NODE, request.name)
        if node is None or _ready(node) == "True" or "deletionTimestamp" in node["metadata"]:
            return DONE
        provider_id = (node.get("spec") or {}).get("providerID", "")
        if not provider_id:
            return DONE  # a node that someone made by hand
        if self._machine_exists(provider_id):
            return Result(CLOUD_CHECK_S)
        try:
            self._kube.delete(kinds.NODE, request.name, uid=node["metadata"]["uid"])
        except KubeError as error:
            if not (error.not_found or error.conflict):
                raise
        return DONE
