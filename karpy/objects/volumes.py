"""Storage as far as it decides where a pod may run: claims, volumes, classes, and how many disks a node can hold."""

from __future__ import annotations

from typing import Any

import msgspec

from karpy.errors import InvalidObject
from karpy.objects.meta import Integer, ObjectMeta, Wire
from karpy.objects.podspec import NodeSelector
from karpy.requirements import Requirement

__all__ = ["CSINode", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "VolumeAttachment"]

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


class PersistentVolumeClaimSpec(Wire, frozen=True):
    volume_name: str = ""
    storage_class_name: str | None = None


class PersistentVolumeClaimStatus(Wire, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(Wire, frozen=True):
    """A pod's wish for a volume."""

    metadata: ObjectMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()

    @property
    def is_bind_completed(self) -> bool:
        return BIND_COMPLETED in (self.metadata.annotations or {})


class VolumeNodeAffinity(Wire, frozen=True):
    required: NodeSelector | None = None


class CSIVolumeSource(Wire, frozen=True):
    driver: str = ""


class PersistentVolumeSpec(Wire, frozen=True):
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolumeSource | None = None
    local: dict[str, Any] | None = None
    host_path: dict[str, Any] | None = None
    aws_elastic_block_store: dict[str, Any] | None = None
    azure_disk: dict[str, Any] | None = None
    gce_persistent_disk: dict[str, Any] | None = None


class PersistentVolume(Wire, frozen=True):
    """A volume that exists, and the nodes that can reach it."""

    metadata: ObjectMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()

    def __post_init__(self) -> None:
        """Refuse terms that cannot be read here, rather than for every pod that uses the volume."""
        affinity = self.spec.node_affinity
        for i, term in enumerate(affinity.required.node_selector_terms if affinity and affinity.required else ()):
            for j, each in enumerate(term.match_expressions):
                try:
                    Requirement.parse(each.key, each.operator, each.values)
                except InvalidObject as error:
                    path = f"spec.nodeAffinity.required.nodeSelectorTerms[{i}].matchExpressions[{j}]"
                    raise error.at(path=path) from None

    @property
    def is_on_one_host(self) -> bool:
        """Its host's name would pin pods to a node that may be replaced: then it does not count."""
        return self.spec.local is not None or self.spec.host_path is not None


class TopologyExpression(Wire, frozen=True):
    key: str
    values: tuple[str, ...] = ()


class TopologyTerm(Wire, frozen=True):
    match_label_expressions: tuple[TopologyExpression, ...] = ()


class StorageClass(Wire, frozen=True):
    """How volumes of a kind are made, and where they can be."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()

    @property
    def is_default(self) -> bool:
        return (self.metadata.annotations or {}).get(_DEFAULT_CLASS) == "true"


class CSIAllocatable(Wire, frozen=True):
    count: Integer | None = None


class CSIDriver(Wire, frozen=True):
    name: str
    allocatable: CSIAllocatable | None = None


class CSINodeSpec(Wire, frozen=True):
    drivers: tuple[CSIDriver, ...] = ()


class CSINode(Wire, frozen=True):
    """How many volumes of each driver a node can hold."""

    metadata: ObjectMeta
    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)

    @property
    def limits(self) -> dict[str, int]:
        return {
            driver.name: driver.allocatable.count
            for driver in self.spec.drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        }


class AttachedSource(Wire, frozen=True):
    """Either a volume by its name, or one that is described in place and belongs to no claim."""

    persistent_volume_name: str = ""


class VolumeAttachmentSpec(Wire, frozen=True):
    node_name: str = ""
    source: AttachedSource = AttachedSource()


class VolumeAttachment(Wire, frozen=True):
    """A volume that is attached to a node, or is about to be, or about to be no more."""

    metadata: ObjectMeta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
