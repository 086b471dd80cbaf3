"""Pods that must go because of their node: it drives them out by a taint, or it does not exist any more.

Source: the taint eviction and pod garbage controllers of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy.clock import Clock, format_time
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, PatchType, RawObject
from karpy.objects import kinds
from karpy.objects.meta import decode
from karpy.objects.node import Node
from karpy.objects.pod import Pod
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import ClusterCache
from karpy.sim.kubelets.nodes import NOT_READY, UNREACHABLE
from karpy.sim.podfacts import is_deleting, is_finished
from karpy.sim.recorder import NORMAL, Recorder
from karpy.taints import NO_EXECUTE, Taint, Toleration

__all__ = ["PodGarbage", "TaintEviction"]

DEFAULT_TOLERATION_S = 300
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
ORPHANED_S = 40.0
"""How long pods may name a node that does not exist."""


class TaintEviction:
    """Deletes pods from nodes with NoExecute taints that they do not tolerate, or no longer."""

    name = "taint-eviction"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._recorder = Recorder(kube, clock, "taint-eviction-controller")
        self._since: dict[str, dict[str, float]] = {}
        """By node, since when each of its pods bears what drives it out."""
        self._driving: set[str] = set()
        """The nodes that drive pods out."""

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.NODE, self._tainted), Source(kinds.POD, self._on_tainted))

    def _tainted(self, event: WatchEvent) -> Sequence[Request]:
        if event.type is not EventType.DELETED and _drives_out(event.object):
            self._driving.add(event.object["metadata"]["name"])
            return by_name(event)
        self._driving.discard(event.object["metadata"]["name"])
        self._since.pop(event.object["metadata"]["name"], None)  # if it is tainted again, patience begins anew
        return ()

    def _on_tainted(self, event: WatchEvent) -> Sequence[Request]:
        name = event.object["spec"].get("nodeName")
        return (Request(name),) if name in self._driving else ()

    def reconcile(self, request: Request) -> Result:
        node = self._cache.get(kinds.NODE, request.name)
        if node is None or not _drives_out(node):
            return DONE
        taints = [taint for taint in decode(node, Node).spec.taints if taint.effect == NO_EXECUTE]
        now = self._clock.now()
        later = []
        since = self._since.setdefault(request.name, {})
        for pod in tuple(self._cache.pods_on(request.name)):
            if is_deleting(pod):
                continue
            bears_s = _bears_for(taints, _with_defaults(decode(pod, Pod).spec.tolerations))
            if bears_s is None:
                continue
            due = since.setdefault(pod["metadata"]["uid"], now) + bears_s
            if bears_s <= 0 or due <= now:
                self._evict(pod)
            else:
                later.append(due)
        return Result(min(later) - now) if later else DONE

    def _evict(self, pod: RawObject) -> None:
        metadata = pod["metadata"]
        message = f"Marking for deletion Pod {metadata['namespace']}/{metadata['name']}"
        self._recorder.record(kinds.POD, pod, NORMAL, "TaintManagerEviction", message)
        why = "Taint manager: deleting due to NoExecute taint"
        _disrupt(self._kube, pod, "DeletionByTaintManager", why, self._clock.now())
        _delete_pod(self._kube, pod, grace_period_s=None)


def _drives_out(node: RawObject) -> bool:
    return any(taint["effect"] == NO_EXECUTE for taint in (node.get("spec") or {}).get("taints") or ())


def _with_defaults(tolerations: Sequence[Toleration]) -> Sequence[Toleration]:
    """Pods that do not say otherwise bear a node in trouble for five minutes; real clusters write that into every pod."""
    missing = [
        Toleration(key, "Exists", effect=NO_EXECUTE, toleration_seconds=DEFAULT_TOLERATION_S)
        for key in (NOT_READY, UNREACHABLE)
        if not any(each.key in (None, "", key) and each.effect in (None, "", NO_EXECUTE) for each in tolerations)
    ]
    return [*tolerations, *missing] if missing else tolerations


def _bears_for(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float | None:
    """Seconds for which all taints are tolerated; None is for ever, 0 not at all."""
    shortest: float | None = None
    for taint in taints:
        bearing = [each for each in tolerations if each.tolerates(taint)]
        if not bearing:
            return 0.0
        for toleration in bearing:
            seconds = toleration.toleration_seconds
            if seconds is not None:
                shortest = max(float(seconds), 0.0) if shortest is None else min(shortest, max(float(seconds), 0.0))
    return shortest


def _disrupt(kube: KubeClient, pod: RawObject, reason: str, message: str, now: float, **more: Any) -> None:
    """Say in the pod's status that it goes for no fault of its own; ``more`` are other fields of its status."""
    metadata = pod["metadata"]
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastProbeTime": None,
        "lastTransitionTime": format_time(now),
    }
    try:
        kube.patch(
            kinds.POD,
            metadata["name"],
            {"metadata": {"uid": metadata["uid"]}, "status": {**more, "conditions": [condition]}},
            metadata["namespace"],
            patch_type=PatchType.STRATEGIC,
            subresource="status",
        )
    except KubeError as error:
        if not (error.not_found or error.conflict):
            raise


def _delete_pod(kube: KubeClient, pod: RawObject, grace_period_s: int | None) -> None:
    metadata = pod["metadata"]
    try:
        kube.delete(
            kinds.POD, metadata["name"], metadata["namespace"], grace_period_s=grace_period_s, uid=metadata["uid"]
        )
    except KubeError as error:
        if not (error.not_found or error.conflict):
            raise


class PodGarbage:
    """Removes pods that nobody will end: whose node does not exist or was declared out of service, or that never had one.

    A request without a namespace names a node, one with a namespace a pod.
    """

    name = "pod-garbage-collector"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._missing_since: dict[str, float] = {}

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.NODE, self._of_node), Source(kinds.POD, self._of_pod))

    @staticmethod
    def _of_node(event: WatchEvent) -> Sequence[Request]:
        return by_name(event) if event.type is EventType.DELETED or _is_out_of_service(event.object) else ()

    def _of_pod(self, event: WatchEvent) -> Sequence[Request]:
        if event.type is EventType.DELETED:
            return ()
        name = event.object["spec"].get("nodeName")
        if not name:
            return by_name(event) if is_deleting(event.object) else ()
        node = self._cache.get(kinds.NODE, name)
        return (Request(name),) if node is None or _is_out_of_service(node) else ()

    def reconcile(self, request: Request) -> Result:
        if request.namespace:
            self._end_unscheduled(request)
            return DONE
        pods = tuple(self._cache.pods_on(request.name))
        node = self._cache.get(kinds.NODE, request.name)
        if node is not None:
            self._missing_since.pop(request.name, None)
            if _is_out_of_service(node):
                self._end([pod for pod in pods if is_deleting(pod)])
            return DONE
        if not pods:
            self._missing_since.pop(request.name, None)
            return DONE
        now = self._clock.now()
        due = self._missing_since.setdefault(request.name, now) + ORPHANED_S
        if due > now:
            return Result(due - now)
        self._end(pods, "PodGC: node no longer exists")
        return DONE

    def _end_unscheduled(self, request: Request) -> None:
        """A pod that was deleted before it had a node has nothing to wait for."""
        pod = self._cache.get(kinds.POD, request.name, request.namespace)
        if pod is not None and not pod["spec"].get("nodeName") and is_deleting(pod):
            self._end([pod])

    def _end(self, pods: Sequence[RawObject], why: str = "") -> None:
        for pod in pods:
            if not is_finished(pod):
                self._fail(pod, why)
            if pod["metadata"].get("deletionGracePeriodSeconds") != 0:
                _delete_pod(self._kube, pod, grace_period_s=0)

    def _fail(self, pod: RawObject, why: str) -> None:
        """Whoever counts how pods end must see that this one did not succeed."""
        now = self._clock.now()
        if why:
            _disrupt(self._kube, pod, "DeletionByPodGC", why, now, phase="Failed")
        elif pod["metadata"].get("finalizers"):
            metadata = pod["metadata"]
            patch = {"metadata": {"uid": metadata["uid"]}, "status": {"phase": "Failed"}}
            try:
                self._kube.patch(kinds.POD, metadata["name"], patch, metadata["namespace"], subresource="status")
            except KubeError as error:
                if not (error.not_found or error.conflict):
                    raise


def _is_out_of_service(node: RawObject) -> bool:
    return any(taint["key"] == OUT_OF_SERVICE for taint in (node.get("spec") or {}).get("taints") or ())
