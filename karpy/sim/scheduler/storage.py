"""What the scheduler knows of storage: claims, volumes, classes, and how many volumes a node can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import attrs

from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import decode
from karpy.objects.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import Key, key_of

__all__ = ["SELECTED_NODE", "Claim", "Storage", "Volume"]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
_SINGLE_POD = "ReadWriteOncePod"

# In-tree kinds of volumes are served by these drivers, and their limits are the drivers'.
_MIGRATED: Mapping[str, tuple[str, str]] = {
    "awsElasticBlockStore": ("ebs.csi.aws.com", "volumeID"),
    "azureDisk": ("disk.csi.azure.com", "diskURI"),
    "gcePersistentDisk": ("pd.csi.storage.gke.io", "pdName"),
}
_MIGRATED_PROVISIONERS: Mapping[str, str] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
}


@attrs.frozen(eq=False)
class Claim:
    """A volume claim."""

    key: Key
    raw: RawObject
    read: PersistentVolumeClaim

    @property
    def is_bound(self) -> bool:
        return bool(self.read.spec.volume_name) and self.read.is_bind_completed

    @property
    def is_for_one_pod(self) -> bool:
        return _SINGLE_POD in (self.raw.get("spec") or {}).get("accessModes", ())

    @property
    def selected_node(self) -> str | None:
        found: str | None = (self.raw["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        return found


@attrs.frozen(eq=False)
class Volume:
    """A volume that exists."""

    raw: RawObject
    read: PersistentVolume

    @property
    def attachment(self) -> tuple[str, str] | None:
        """The driver that attaches it and by what name; None for one that is not attached to machines."""
        spec = self.raw.get("spec") or {}
        if spec.get("csi"):
            return spec["csi"].get("driver", ""), spec["csi"].get("volumeHandle", "")
        for kind, (driver, field) in _MIGRATED.items():
            if kind in spec:
                return driver, str(spec[kind].get(field, ""))
        return None


def driver_of(provisioner: str) -> str:
    """The driver behind a storage class's provisioner."""
    return _MIGRATED_PROVISIONERS.get(provisioner, provisioner)


class Storage:
    """Follows the objects of storage. ``generation`` grows with every change."""

    KINDS: ClassVar[tuple[Kind, ...]] = (
        kinds.PERSISTENT_VOLUME_CLAIM,
        kinds.PERSISTENT_VOLUME,
        kinds.STORAGE_CLASS,
        kinds.CSI_NODE,
    )

    def __init__(self) -> None:
        self._claims: dict[Key, Claim] = {}
        self._volumes: dict[str, Volume] = {}
        self._classes: dict[str, StorageClass] = {}
        self._limits: dict[str, Mapping[str, int]] = {}
        self.generation = 0

    def take(self, event: WatchEvent) -> None:
        """Take in an object of one of `KINDS`."""
        self.generation += 1
        key, obj = key_of(event.object), event.object
        gone = event.type is EventType.DELETED
        tables: Mapping[Kind, tuple[dict[Any, Any], Any]] = {
            kinds.PERSISTENT_VOLUME_CLAIM: (self._claims, key),
            kinds.PERSISTENT_VOLUME: (self._volumes, key[1]),
            kinds.STORAGE_CLASS: (self._classes, key[1]),
            kinds.CSI_NODE: (self._limits, key[1]),
        }
        table, word = tables[event.kind]
        if gone:
            table.pop(word, None)
        elif event.kind is kinds.PERSISTENT_VOLUME_CLAIM:
            table[word] = Claim(key, obj, decode(obj, PersistentVolumeClaim))
        elif event.kind is kinds.PERSISTENT_VOLUME:
            table[word] = Volume(obj, decode(obj, PersistentVolume))
        elif event.kind is kinds.STORAGE_CLASS:
            table[word] = decode(obj, StorageClass)
        else:
            table[word] = decode(obj, CSINode).limits

    def claim(self, namespace: str, name: str) -> Claim | None:
        return self._claims.get((namespace, name))

    def volume(self, name: str) -> Volume | None:
        return self._volumes.get(name)

    def volumes(self) -> Iterator[Volume]:
        return iter(self._volumes.values())

    def limits(self, node: str) -> Mapping[str, int]:
        """How many volumes of each driver the node can hold."""
        return self._limits.get(node, {})

    def class_of(self, claim: Claim) -> StorageClass | None:
        name = claim.read.spec.storage_class_name
        return self._classes.get(name) if name else None

    def waits_for_pod(self, claim: Claim) -> bool:
        """Whether the claim gets its volume only when the scheduler has chosen a node for its pod."""
        found = self.class_of(claim)
        return found is not None and found.volume_binding_mode == "WaitForFirstConsumer"

    def attachments(self, namespace: str, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """The driver and the volume behind each claim; for a claim without a volume, the claim stands for it."""
        for name in names:
            claim = self.claim(namespace, name)
            if claim is None:
                continue
            volume = self.volume(claim.read.spec.volume_name) if claim.read.spec.volume_name else None
            if volume is not None:
                attachment = volume.attachment
                if attachment is not None:
                    yield attachment
                continue
            found = self.class_of(claim)
            if found is not None and found.provisioner:
                yield driver_of(found.provisioner), f"{found.provisioner}-{namespace}/{name}"
