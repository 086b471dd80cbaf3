"""Volumes of pods are attached to their nodes, and taken off a little after the last pod that used them has ended.

Source: the attach/detach controller of Kubernetes, with a CSI driver behind every volume that can be attached.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from karpy.clock import Clock
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.meta import decode
from karpy.objects.volumes import PersistentVolume
from karpy.objects.watchevent import WatchEvent
from karpy.sim.cache import ClusterCache
from karpy.sim.podfacts import is_finished
from karpy.sim.scheduler.storage import Volume

__all__ = ["AttachDetach"]

DETACH_S = 3.0
"""From a pod's end until its volume is unmounted and off the machine."""


class AttachDetach:
    """A request names a node."""

    name = "attachdetach-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._idle_since: dict[str, float] = {}
        """When an attachment was first seen that no pod needs."""

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.POD, _node_of_pod), Source(kinds.VOLUME_ATTACHMENT, _node_of_attachment))

    def reconcile(self, request: Request) -> Result:
        wanted = dict(self._wanted(request.name))
        there = {
            each["metadata"]["name"]
            for each in self._cache.all(kinds.VOLUME_ATTACHMENT)
            if each["spec"].get("nodeName") == request.name
        }
        for name in sorted(wanted.keys() - there):
            self._attach(name, wanted[name])
        return self._detach(sorted(there - wanted.keys()), wanted)

    def _wanted(self, node: str) -> Iterator[tuple[str, RawObject]]:
        """The attachments that the pods of a node need, by name."""
        for pod in self._cache.pods_on(node):
            if is_finished(pod):
                continue
            for claim in _claims_of(pod):
                volume = self._volume_of(claim, pod["metadata"]["namespace"])
                attachment = volume.attachment if volume is not None else None
                if volume is not None and attachment is not None:
                    driver, handle = attachment
                    name = f"csi-{hashlib.sha256(f'{handle}{driver}{node}'.encode()).hexdigest()}"
                    yield name, _attachment(name, driver, volume.raw["metadata"]["name"], node)

    def _volume_of(self, claim_name: str, namespace: str) -> Volume | None:
        claim = self._cache.get(kinds.PERSISTENT_VOLUME_CLAIM, claim_name, namespace)
        name = (claim["spec"].get("volumeName") or "") if claim is not None else ""
        raw = self._cache.get(kinds.PERSISTENT_VOLUME, name) if name else None
        return None if raw is None else Volume(raw, decode(raw, PersistentVolume))

    def _attach(self, name: str, obj: RawObject) -> None:
        self._idle_since.pop(name, None)
        try:
            self._kube.create(kinds.VOLUME_ATTACHMENT, obj)
            self._kube.patch(kinds.VOLUME_ATTACHMENT, name, {"status": {"attached": True}}, subresource="status")
        except KubeError as error:
            if not (error.already_exists or error.not_found):
                raise

    def _detach(self, names: Sequence[str], wanted: Mapping[str, RawObject]) -> Result:
        """Take off what has been idle for long enough."""
        for name in wanted:
            self._idle_since.pop(name, None)
        now, left_s = self._clock.now(), []
        for name in names:
            due = self._idle_since.setdefault(name, now) + DETACH_S
            if due > now:
                left_s.append(due - now)
                continue
            del self._idle_since[name]
            try:
                self._kube.delete(kinds.VOLUME_ATTACHMENT, name)
            except KubeError as error:
                if not error.not_found:
                    raise
        return Result(min(left_s)) if left_s else DONE


def _claims_of(pod: RawObject) -> Iterator[str]:
    """The names of the volume claims that a pod uses."""
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _attachment(name: str, driver: str, volume: str, node: str) -> RawObject:
    return {
        "apiVersion": kinds.VOLUME_ATTACHMENT.api_version,
        "kind": kinds.VOLUME_ATTACHMENT.kind,
        "metadata": {"name": name},
        "spec": {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": volume}},
    }


def _node_of_pod(event: WatchEvent) -> tuple[Request, ...]:
    node = event.object["spec"].get("nodeName")
    return (Request(node),) if node and any(_claims_of(event.object)) else ()


def _node_of_attachment(event: WatchEvent) -> tuple[Request, ...]:
    return (Request(event.object["spec"]["nodeName"]),)
