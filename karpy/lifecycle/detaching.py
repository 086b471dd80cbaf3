"""Volumes have to be off a node before its machine ends: else the pods that move wait for them (core specification 4.12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karpy.lifecycle.draining import has_to_leave
from karpy.objects.pod import Pod
from karpy.objects.volumes import PersistentVolumeClaim, VolumeAttachment

__all__ = ["awaited_attachments"]


def awaited_attachments(
    attachments: Iterable[VolumeAttachment],
    pods: Iterable[Pod],
    claims: Mapping[str, PersistentVolumeClaim],
    *,
    now: float,
) -> tuple[VolumeAttachment, ...]:
    """The attachments to wait for. Pods that stay to the end (``pods`` are all of the node) keep theirs."""
    kept = {name for pod in pods if _stays(pod, now) for name in _volumes_of(pod, claims)}
    return tuple(each for each in attachments if (name := each.spec.source.persistent_volume_name) and name not in kept)


def _stays(pod: Pod, now: float) -> bool:
    return not pod.is_terminal and not has_to_leave(pod, now)


def _volumes_of(pod: Pod, claims: Mapping[str, PersistentVolumeClaim]) -> Iterable[str]:
    """The names of the volumes that the pod's claims are bound to."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            name = f"{pod.metadata.name}-{volume.name}"
        else:
            continue
        claim = claims.get(f"{pod.metadata.namespace}/{name}")
        if claim is not None and claim.spec.volume_name:
            yield claim.spec.volume_name
