"""The claims of pods' ephemeral volumes: each is made for one pod, and goes with it.

Source: the ephemeral volume controller of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Sequence

from karpy.clock import Clock
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import ClusterCache, controller_of, key_of
from karpy.sim.podfacts import is_active
from karpy.sim.recorder import WARNING, Recorder
from karpy.sim.workloads.objects import make_volume_claim, owner_reference

__all__ = ["EphemeralVolumes"]


class EphemeralVolumes:
    """Makes the claims that live and die with a pod. A request names a pod."""

    name = "ephemeral-volume-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._cache = cache
        self._recorder = Recorder(kube, clock, self.name)

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.POD, self._of_pod), Source(kinds.PERSISTENT_VOLUME_CLAIM, self._of_claim))

    @staticmethod
    def _of_pod(event: WatchEvent) -> Sequence[Request]:
        if event.type is EventType.DELETED:
            return ()
        return by_name(event) if any("ephemeral" in each for each in event.object["spec"].get("volumes") or ()) else ()

    @staticmethod
    def _of_claim(event: WatchEvent) -> Sequence[Request]:
        owner = controller_of(event.object) if event.type is EventType.DELETED else None
        if owner is None or owner["kind"] != "Pod":
            return ()
        return (Request(owner["name"], event.object["metadata"]["namespace"]),)

    def reconcile(self, request: Request) -> Result:
        pod = self._cache.get(kinds.POD, request.name, request.namespace)
        if pod is None or not is_active(pod):
            return DONE
        for volume in pod["spec"].get("volumes") or ():
            if "ephemeral" in volume:
                self._ensure(pod, f"{request.name}-{volume['name']}", volume["ephemeral"]["volumeClaimTemplate"])
        return DONE

    def _ensure(self, pod: RawObject, name: str, template: RawObject) -> None:
        namespace = pod["metadata"]["namespace"]
        known = self._cache.get(kinds.PERSISTENT_VOLUME_CLAIM, name, namespace)
        if known is not None:
            owner = controller_of(known)
            if owner is None or owner["uid"] != pod["metadata"]["uid"]:
                text = f"PVC {namespace}/{name} was not created for pod {'/'.join(key_of(pod))} (pod is not owner)"
                self._recorder.record(kinds.POD, pod, WARNING, "ConflictingPVC", text)
            return
        make_volume_claim(self._kube, template, name, namespace, [owner_reference(kinds.POD, pod)])
