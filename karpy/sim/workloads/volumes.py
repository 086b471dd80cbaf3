"""Volume claims: each gets a volume that exists and suits it, or a new one where its pod is going to run.

Source: the persistent volume controller of Kubernetes with an external provisioner behind every storage class. Volumes here are
made at once, and in the zone of the chosen node.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from karpy import labels
from karpy.clock import Clock
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import ClusterCache
from karpy.sim.podfacts import is_deleting
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.sim.scheduler.storage import SELECTED_NODE
from karpy.sim.scheduler.volumes import NO_PROVISIONER, capacity_of, suits

__all__ = ["VolumeBinder"]

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_WAITING = "waiting for first consumer to be created before binding"


class VolumeBinder:
    """Binds claims to volumes, makes volumes for classes that can, and takes volumes away when their claim is gone.

    A request with a namespace names a claim, one without a volume.
    """

    name = "persistentvolume-binder"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._cache = cache
        self._recorder = Recorder(kube, clock, "persistentvolume-controller")

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(kinds.PERSISTENT_VOLUME_CLAIM, self._of_claim),
            Source(kinds.PERSISTENT_VOLUME, self._of_volume),
            Source(kinds.STORAGE_CLASS, self._of_class),
            Source(kinds.NODE, lambda _: ()),
        )

    def _of_claim(self, event: WatchEvent) -> Sequence[Request]:
        volume = event.object["spec"].get("volumeName")
        if event.type is EventType.DELETED:
            return (Request(volume),) if volume else ()
        return by_name(event)

    def _of_volume(self, event: WatchEvent) -> Sequence[Request]:
        reference = event.object["spec"].get("claimRef")
        if reference:
            return (*by_name(event), Request(*_promised(reference)))
        return (*by_name(event), *self._unbound(event.object["spec"].get("storageClassName") or ""))

    def _of_class(self, event: WatchEvent) -> Sequence[Request]:
        return self._unbound(event.object["metadata"]["name"])

    def _unbound(self, storage_class: str) -> Sequence[Request]:
        return tuple(
            Request(claim["metadata"]["name"], claim["metadata"]["namespace"])
            for claim in self._cache.all(kinds.PERSISTENT_VOLUME_CLAIM)
            if not _is_bound(claim) and (claim["spec"].get("storageClassName") or "") == storage_class
        )

    def reconcile(self, request: Request) -> Result:
        if not request.namespace:
            self._look_after(request.name)
            return DONE
        claim = self._cache.get(kinds.PERSISTENT_VOLUME_CLAIM, request.name, request.namespace)
        if claim is None or is_deleting(claim):
            return DONE
        if _is_bound(claim):
            self._check_bound(claim)
            return DONE
        volume = self._existing_volume(claim)
        if volume is not None:
            self._bind(claim, volume)
        else:
            self._provision(claim)
        return DONE

    def _check_bound(self, claim: RawObject) -> None:
        """A claim whose volume was deleted is lost."""
        volume = self._cache.get(kinds.PERSISTENT_VOLUME, claim["spec"]["volumeName"])
        if volume is None and (claim.get("status") or {}).get("phase") == "Bound":
            self._patch_claim(claim, {"status": {"phase": "Lost"}}, "status")
            text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self._recorder.record(kinds.PERSISTENT_VOLUME_CLAIM, claim, WARNING, "ClaimLost", text)

    def _class_of(self, claim: RawObject) -> RawObject | None:
        name = claim["spec"].get("storageClassName")
        return self._cache.get(kinds.STORAGE_CLASS, name) if name else None

    def _existing_volume(self, claim: RawObject) -> RawObject | None:
        """The volume promised to the claim; else, unless the claim waits for its pod, the smallest that suits."""
        wanted = claim["spec"].get("volumeName")
        storage_class = self._class_of(claim)
        waits = storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        fitting = [
            volume
            for volume in self._cache.all(kinds.PERSISTENT_VOLUME)
            if (not wanted or volume["metadata"]["name"] == wanted)
            and suits(volume, claim)
            and (wanted or not waits or volume["spec"].get("claimRef"))
        ]
        return min(fitting, key=_preference) if fitting else None

    def _provision(self, claim: RawObject) -> None:
        storage_class = self._class_of(claim)
        metadata = claim["metadata"]
        if storage_class is None or claim["spec"].get("volumeName"):
            return
        selected = (metadata.get("annotations") or {}).get(SELECTED_NODE)
        if storage_class.get("volumeBindingMode") == "WaitForFirstConsumer" and selected is None:
            self._recorder.record(kinds.PERSISTENT_VOLUME_CLAIM, claim, NORMAL, "WaitForFirstConsumer", _WAITING)
            return
        if storage_class.get("provisioner") in (None, "", NO_PROVISIONER):
            return
        volume = _new_volume(claim, storage_class, self._place_for(claim, storage_class, selected))
        try:
            made = self._kube.create(kinds.PERSISTENT_VOLUME, volume)
        except KubeError as error:
            if not error.already_exists:
                raise
            return  # it was made a moment ago; the watch will tell
        text = f"Successfully provisioned volume {made['metadata']['name']}"
        self._recorder.record(kinds.PERSISTENT_VOLUME_CLAIM, claim, NORMAL, "ProvisioningSucceeded", text)
        self._bind(claim, made)

    def _place_for(self, claim: RawObject, storage_class: RawObject, selected: str | None) -> Mapping[str, str]:
        """The labels of the place where the volume is made."""
        if selected is not None:
            node = self._cache.get(kinds.NODE, selected)
            zone = ((node or {}).get("metadata") or {}).get("labels", {}).get(labels.ZONE)
            return {labels.ZONE: zone} if zone else {}
        terms = storage_class.get("allowedTopologies") or ()
        allowed = [
            (each["key"], value)
            for term in terms
            for each in term.get("matchLabelExpressions") or ()
            for value in each["values"]
        ]
        nodes = self._cache.all(kinds.NODE)
        zones = sorted({zone for node in nodes if (zone := (node["metadata"].get("labels") or {}).get(labels.ZONE))})
        choices = allowed or [(labels.ZONE, zone) for zone in zones]
        return dict([choices[zlib.crc32(claim["metadata"]["uid"].encode()) % len(choices)]]) if choices else {}

    def _bind(self, claim: RawObject, volume: RawObject) -> None:
        name, metadata = volume["metadata"]["name"], claim["metadata"]
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        if (volume["spec"].get("claimRef") or {}).get("uid") != metadata["uid"]:
            promise = {"metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}}, "spec": {"claimRef": reference}}
            self._kube.patch(kinds.PERSISTENT_VOLUME, name, promise)
        self._set_phase(volume, "Bound")
        marks = {BIND_COMPLETED: "yes", **({} if claim["spec"].get("volumeName") else {BOUND_BY_CONTROLLER: "yes"})}
        self._patch_claim(claim, {"metadata": {"annotations": marks}, "spec": {"volumeName": name}})
        spec = volume["spec"]
        status = {"phase": "Bound", "accessModes": spec.get("accessModes"), "capacity": spec.get("capacity")}
        self._patch_claim(claim, {"status": status}, "status")

    def _patch_claim(self, claim: RawObject, patch: Mapping[str, Any], subresource: str = "") -> None:
        metadata = claim["metadata"]
        self._kube.patch(
            kinds.PERSISTENT_VOLUME_CLAIM, metadata["name"], patch, metadata["namespace"], subresource=subresource
        )

    # Volumes

    def _look_after(self, name: str) -> None:
        volume = self._cache.get(kinds.PERSISTENT_VOLUME, name)
        if volume is None or is_deleting(volume):
            return
        reference = volume["spec"].get("claimRef")
        if not reference:
            self._set_phase(volume, "Available")
            return
        claim = self._cache.get(kinds.PERSISTENT_VOLUME_CLAIM, *_promised(reference))
        if (volume.get("status") or {}).get("phase") not in ("Bound", "Released"):
            return  # promised, not bound yet
        if claim is not None and claim["metadata"]["uid"] == reference.get("uid"):
            return
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            self._delete(volume)
        else:
            self._set_phase(volume, "Released")

    def _delete(self, volume: RawObject) -> None:
        metadata = volume["metadata"]
        try:
            self._kube.delete(kinds.PERSISTENT_VOLUME, metadata["name"], uid=metadata["uid"])
        except KubeError as error:
            if not (error.not_found or error.conflict):
                raise

    def _set_phase(self, volume: RawObject, phase: str) -> None:
        if (volume.get("status") or {}).get("phase") != phase:
            patch = {"status": {"phase": phase}}
            self._kube.patch(kinds.PERSISTENT_VOLUME, volume["metadata"]["name"], patch, subresource="status")


def _promised(reference: RawObject) -> tuple[str, str]:
    """Name and namespace of the claim that a volume is kept for; users may leave out either, and it fits no claim then."""
    return reference.get("name", ""), reference.get("namespace", "")


def _is_bound(claim: RawObject) -> bool:
    marks = claim["metadata"].get("annotations") or {}
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in marks


def _preference(volume: RawObject) -> tuple[bool, int, str]:
    """What was promised to the claim comes first."""
    return not volume["spec"].get("claimRef"), capacity_of(volume), volume["metadata"]["name"]


def _new_volume(claim: RawObject, storage_class: RawObject, place: Mapping[str, str]) -> RawObject:
    spec, metadata = claim["spec"], claim["metadata"]
    name = f"pvc-{metadata['uid']}"
    made: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: storage_class["provisioner"]}},
        "spec": {
            "capacity": {"storage": ((spec.get("resources") or {}).get("requests") or {}).get("storage", "1Gi")},
            "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
            "volumeMode": spec.get("volumeMode", "Filesystem"),
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "storageClassName": storage_class["metadata"]["name"],
            "csi": {"driver": storage_class["provisioner"], "volumeHandle": name},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        },
    }
    if place:
        terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [place[key]]} for key in place]}]
        made["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return made
