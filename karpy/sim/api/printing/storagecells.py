"""The cells of volumes and of what provides them, in printed tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy.sim.api.printing.cellparts import NONE, UNSET, Object, created, parts

__all__ = ["attachment", "capacity", "claim", "csi_driver", "csi_node", "storage_class", "volume"]


def storage_class(obj: Object, now: float) -> list[Any]:
    meta = obj["metadata"]
    default = (meta.get("annotations") or {}).get("storageclass.kubernetes.io/is-default-class") == "true"
    name = f"{meta['name']} (default)" if default else meta["name"]
    middle = [obj.get("provisioner", ""), obj.get("reclaimPolicy", "Delete"), obj.get("volumeBindingMode", "Immediate")]
    return [name, *middle, bool(obj.get("allowVolumeExpansion")), created(obj, now)]


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _modes(modes: Sequence[str] | None) -> str:
    return ",".join(_MODES.get(mode, mode) for mode in modes or ())


def volume(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    claim = spec.get("claimRef")
    bound = f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    head = [name, (spec.get("capacity") or {}).get("storage", ""), _modes(spec.get("accessModes"))]
    middle = [spec.get("persistentVolumeReclaimPolicy", ""), phase, bound, spec.get("storageClassName", "")]
    attributes = spec.get("volumeAttributesClassName") or UNSET
    return [*head, *middle, attributes, status.get("reason", ""), created(obj, now), spec.get("volumeMode", UNSET)]


def claim(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    volume = spec.get("volumeName", "")
    held = (
        [(status.get("capacity") or {}).get("storage", ""), _modes(status.get("accessModes"))] if volume else ["", ""]
    )
    attributes = spec.get("volumeAttributesClassName") or UNSET
    tail = [spec.get("storageClassName", ""), attributes, created(obj, now), spec.get("volumeMode", UNSET)]
    return [name, phase, volume, *held, *tail]


def csi_node(obj: Object, now: float) -> list[Any]:
    name, spec, _ = parts(obj)
    return [name, len(spec.get("drivers") or ()), created(obj, now)]


def csi_driver(obj: Object, now: float) -> list[Any]:
    name, spec, _ = parts(obj)
    flags = [spec.get("attachRequired", True), spec.get("podInfoOnMount", False), spec.get("storageCapacity", False)]
    audiences = ",".join(each.get("audience", "") for each in spec.get("tokenRequests") or ())
    modes = ",".join(spec.get("volumeLifecycleModes") or ())
    return [name, *flags, audiences or UNSET, spec.get("requiresRepublish", False), modes or NONE, created(obj, now)]


def capacity(obj: Object, _now: float) -> list[Any]:
    return [obj["metadata"]["name"], obj.get("storageClassName", ""), obj.get("capacity", UNSET)]


def attachment(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    volume_name = (spec.get("source") or {}).get("persistentVolumeName", "")
    place = [spec.get("attacher", ""), volume_name, spec.get("nodeName", "")]
    return [name, *place, bool(status.get("attached")), created(obj, now)]
