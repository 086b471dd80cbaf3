"""What a pod's volumes ask of its node: where they are or may be made, and room to attach them (core specification 2.9, 3.9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import attrs

from karpy import labels
from karpy.cloud.volumes import UnsupportedVolumes
from karpy.objects.pod import Pod
from karpy.objects.podspec import Volume
from karpy.objects.volumes import BIND_COMPLETED, PersistentVolume, PersistentVolumeClaim, StorageClass
from karpy.requirements import Requirement, Requirements
from karpy.state.snapshot import Storage

__all__ = ["Attachment", "PodVolumes", "attachments_of", "volumes_of"]

Attachment = tuple[str, str]
"""(driver, claim): one disk of a driver's limit; the same claim counts once."""

_IN_TREE = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
}
_FREE = (Requirements(),)
_SUPPORTED = UnsupportedVolumes()


@attrs.frozen
class PodVolumes:
    """``alternatives``: requirements of which one must hold. ``attachments``: the disks that the pod brings."""

    alternatives: tuple[Requirements, ...] = _FREE
    attachments: frozenset[Attachment] = frozenset()


@attrs.frozen
class _Resolved:
    """One volume: the claim's key, what it is bound to, and the class it is or would be made by."""

    key: str
    volume: PersistentVolume | None
    storage_class: StorageClass | None


def volumes_of(pod: Pod, storage: Storage, unsupported: UnsupportedVolumes = _SUPPORTED) -> PodVolumes | str:
    """What the pod's volumes ask for, or why it cannot run as things are (core specification 3.1)."""
    found = []
    for volume in pod.spec.volumes:
        resolved = _resolve(pod, volume, storage)
        if isinstance(resolved, str):
            return resolved
        if resolved is not None:
            problem = _unsupported(resolved, unsupported)
            if problem is not None:
                return problem
            found.append(resolved)
    if not found:
        return PodVolumes()
    alternatives = _combined([_alternatives(resolved) for resolved in found])
    if not alternatives:
        return f"no node can reach all of its volumes (PersistentVolumeClaims={', '.join(each.key for each in found)})"
    return PodVolumes(alternatives, frozenset(_attachments(found)))


def attachments_of(pods: Iterable[Pod], storage: Storage) -> frozenset[Attachment]:
    """The disks that pods hold on their node. What cannot be resolved does not count."""
    held: set[Attachment] = set()
    for pod in pods:
        for volume in pod.spec.volumes:
            resolved = _resolve(pod, volume, storage)
            if resolved is not None and not isinstance(resolved, str):
                held.update(_attachments([resolved]))
    return frozenset(held)


def _resolve(pod: Pod, volume: Volume, storage: Storage) -> _Resolved | str | None:
    """None for volumes that are no claims."""
    if volume.persistent_volume_claim is not None:
        name = volume.persistent_volume_claim.claim_name
        claim = storage.claims.get(f"{pod.metadata.namespace}/{name}")
        if claim is None:
            return f'getting persistent volume claim, persistentvolumeclaims "{name}" not found (PersistentVolumeClaim={name})'
        return _check(claim, storage)
    if volume.ephemeral is None:
        return None
    key = f"{pod.metadata.namespace}/{pod.metadata.name}-{volume.name}"
    claim = storage.claims.get(key)
    if claim is not None:
        return _check(claim, storage)
    asked = volume.ephemeral.storage_class_name
    found = storage.classes.get(asked) if asked else storage.default_class
    if found is None:
        return f"no storage class for ephemeral volume {volume.name!r}" + (f" (StorageClass={asked})" if asked else "")
    return _Resolved(key, None, found)


def _check(claim: PersistentVolumeClaim, storage: Storage) -> _Resolved | str:
    key = claim.metadata.key
    if claim.metadata.is_deleting:
        return f"persistentvolumeclaim is being deleted (PersistentVolumeClaim={key})"
    if claim.status.phase == "Lost":
        return f"persistentvolumeclaim bound to non-existent persistentvolume (PersistentVolumeClaim={key})"
    storage_class = storage.classes.get(claim.spec.storage_class_name or "")
    if claim.spec.volume_name:
        return _check_bound(claim, storage, storage_class)
    if not claim.spec.storage_class_name:
        return f"failed to validate pvc, unbound pvc must define a storage class (PersistentVolumeClaim={key})"
    where = f"(PersistentVolumeClaim={key}, StorageClass={claim.spec.storage_class_name})"
    if storage_class is None:
        return f"failed to validate pvc, storage class not found {where}"
    if storage_class.volume_binding_mode == "Immediate":
        return f"failed to validate pvc, pvc with immediate volume binding mode must be bound {where}"
    return _Resolved(key, None, storage_class)


def _check_bound(claim: PersistentVolumeClaim, storage: Storage, storage_class: StorageClass | None) -> _Resolved | str:
    name, key = claim.spec.volume_name, claim.metadata.key
    if not claim.is_bind_completed:
        return (
            "pvc is considered unbound because it does not contain annotation "
            f"(PersistentVolume={name}, PersistentVolumeClaim={claim.metadata.name}, annotation={BIND_COMPLETED})"
        )
    volume = storage.volumes.get(name)
    if volume is None:
        return f'getting persistent volume, persistentvolumes "{name}" not found (PersistentVolumeClaim={key})'
    if volume.metadata.is_deleting:
        return f"persistentvolume is being deleted (PersistentVolume={name})"
    return _Resolved(key, volume, storage_class)


def _unsupported(resolved: _Resolved, unsupported: UnsupportedVolumes) -> str | None:
    """Why no machine of the clouds can use the volume. One that is there already is where it is: its class no longer matters."""
    storage_class = resolved.storage_class
    claim, named = f"PersistentVolumeClaim={resolved.key}", storage_class.metadata.name if storage_class else ""
    if resolved.volume is None and storage_class is not None and unsupported.topology_keys:
        asked = (e.key for term in storage_class.allowed_topologies for e in term.match_label_expressions)
        key = next((key for key in asked if key in unsupported.topology_keys), None)
        if key is not None:
            where = f"({claim}, StorageClass={named}, TopologyKey={key})"
            return f"failed to validate pvc, storage class uses unsupported topology key {where}"
    driver = _driver(resolved)
    if driver in unsupported.provisioners:
        return f"failed to validate pvc, provisioner is not supported ({claim}, Provisioner={driver}, StorageClass={named})"
    return None


def _alternatives(resolved: _Resolved) -> tuple[Requirements, ...]:
    volume = resolved.volume
    if volume is not None:
        affinity = volume.spec.node_affinity
        terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
        return tuple(
            Requirements(
                Requirement.parse(e.key, e.operator, e.values)
                for e in term.match_expressions
                if not (volume.is_on_one_host and e.key == labels.HOSTNAME)
            )
            for term in terms
        )
    allowed = resolved.storage_class.allowed_topologies if resolved.storage_class is not None else ()
    return tuple(
        Requirements(Requirement.in_(e.key, *e.values) for e in term.match_label_expressions) for term in allowed
    )


def _combined(choices: Iterable[tuple[Requirements, ...]]) -> tuple[Requirements, ...]:
    """One alternative of each volume at a time, but for combinations that contradict themselves.

    Volumes mostly name the same places, so what is equal is kept once after each volume: a pod may have dozens of them.
    """
    agreeing: tuple[Requirements, ...] = _FREE
    for choice in filter(None, choices):
        agreeing = tuple(
            dict.fromkeys(held & more for held in agreeing for more in choice if held.intersects(more) is None)
        )
    return agreeing


def _attachments(found: Iterable[_Resolved]) -> Iterable[Attachment]:
    for resolved in found:
        driver = _driver(resolved)
        if driver:
            yield driver, resolved.key


_SOURCES: tuple[tuple[Callable[[PersistentVolume], Mapping[str, object] | None], str], ...] = (
    (lambda volume: volume.spec.aws_elastic_block_store, "ebs.csi.aws.com"),
    (lambda volume: volume.spec.azure_disk, "disk.csi.azure.com"),
    (lambda volume: volume.spec.gce_persistent_disk, "pd.csi.storage.gke.io"),
)


def _driver(resolved: _Resolved) -> str:
    """The CSI driver that attaches the volume; drivers that were once part of Kubernetes go by the name of their successor."""
    volume = resolved.volume
    if volume is not None:
        if volume.spec.csi is not None:
            return volume.spec.csi.driver
        return next((driver for source, driver in _SOURCES if source(volume) is not None), "")
    provisioner = resolved.storage_class.provisioner if resolved.storage_class is not None else ""
    return _IN_TREE.get(provisioner, provisioner)
