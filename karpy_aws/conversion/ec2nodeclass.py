"""EC2NodeClass between v1beta1 and v1, by the rules of Karpenter's conversion webhook, which Karpenter 1.1 left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from karpy.quantity import parse_units
from karpy_aws.conversion.notes import Converted, Note, carried_metadata, left_to_do
from karpy_aws.objects.commonschema import has_class_size
from karpy_aws.objects.ec2nodeclass import read_ec2_node_class
from karpy_aws.objects.ec2nodeclassschema import ec2_node_class_spec
from karpy_aws.objects.schemacheck import with_defaults

__all__ = ["UBUNTU_ANNOTATION", "from_unchecked", "newer_node_class", "older_node_class"]

UBUNTU_ANNOTATION: Final = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu"
"""What v1 needed in the place of family Ubuntu, which it does not know; a class without real images is not launched from."""
PLACEHOLDER_IMAGE: Final = "ami-placeholder"
_UBUNTU_DISK: Final = {
    "deviceName": "/dev/sda1",
    "rootVolume": True,
    "ebs": {"encrypted": True, "volumeType": "gp3", "volumeSize": "20Gi"},
}
_GIB: Final = 2**30
_NEWER_FIELDS: Final = (
    *("capacityReservationSelectorTerms", "placementGroupSelector", "networkInterfaces", "connectionTracking"),
    *("cpuOptions", "ipPrefixCount"),
)


def newer_node_class(older: Mapping[str, Any], kubelet: Mapping[str, Any] | None = None) -> Converted:
    """The v1 form of a v1beta1 class. ``kubelet`` is the block of the NodePools that refer to it.

    Raises:
        InvalidObject: the class cannot be read.
    """
    read_ec2_node_class({**older, "apiVersion": "karpenter.k8s.aws/v1beta1"})
    return from_unchecked(older, kubelet)


def from_unchecked(older: Mapping[str, Any], kubelet: Mapping[str, Any] | None) -> Converted:
    """The same of a class that may lack something still."""
    notes: list[Note] = []
    spec = with_defaults(older["spec"], ec2_node_class_spec("v1beta1"))
    if older["spec"].get("metadataOptions") is None:
        notes.append(Note("spec.metadataOptions", "the defaults of v1beta1 are written out: those of v1 shut pods out"))
    metadata = carried_metadata(older["metadata"])
    if spec.get("amiFamily") == "Ubuntu":
        injected = _replace_ubuntu(spec, notes)
        metadata["annotations"] = {**metadata.get("annotations", {}), UBUNTU_ANNOTATION: ",".join(injected)}
    elif spec.get("amiFamily") and not spec.get("amiSelectorTerms"):
        spec["amiSelectorTerms"] = [{"alias": f"{spec.pop('amiFamily').lower()}@latest"}]
    if spec.get("blockDeviceMappings"):
        spec["blockDeviceMappings"] = _with_v1_sizes(spec["blockDeviceMappings"], notes)
    if kubelet:
        spec["kubelet"] = dict(kubelet)
    manifest = _manifest("v1", metadata, spec, older)
    return Converted(manifest=manifest, notes=(*notes, *left_to_do(manifest, ec2_node_class_spec("v1"))))


def _replace_ubuntu(spec: dict[str, Any], notes: list[Note]) -> list[str]:
    """Make the class one that v1 takes; what that needed comes back."""
    injected = ["amiFamily"]
    spec["amiFamily"] = "AL2"
    notes.append(Note("spec.amiFamily", "Ubuntu is written as AL2, whose start-up its images understand"))
    if not spec.get("blockDeviceMappings"):
        spec["blockDeviceMappings"] = [_UBUNTU_DISK]
        injected.append("blockDeviceMappings")
        notes.append(Note("spec.blockDeviceMappings", "the default disk of Ubuntu is written out"))
    if not spec.get("amiSelectorTerms"):
        spec["amiSelectorTerms"] = [{"id": PLACEHOLDER_IMAGE}]
        injected.append("incompatible")
        notes.append(Note("spec.amiSelectorTerms", "v1 finds no Ubuntu images by itself: select them", by_hand=True))
    return injected


def _with_v1_sizes(devices: Sequence[Mapping[str, Any]], notes: list[Note]) -> list[dict[str, Any]]:
    """The devices with sizes in a form that v1 takes; other quantities become whole GiB, rounded up."""
    found = []
    for index, device in enumerate(devices):
        ebs = {key: value for key, value in (device.get("ebs") or {}).items() if value is not None}
        size = ebs.get("volumeSize")
        if size is not None and not has_class_size(size):
            ebs["volumeSize"] = f"{-(-parse_units(size) // _GIB)}Gi"
            where = f"spec.blockDeviceMappings[{index}].ebs.volumeSize"
            notes.append(Note(where, f"{size} is written as {ebs['volumeSize']}"))
        found.append({**device, "ebs": ebs})
    return found


def older_node_class(newer: Mapping[str, Any]) -> Converted:
    """The v1beta1 form of a v1 class; its kubelet block comes back apart, for the NodePools that refer to it.

    Raises:
        InvalidObject: the class cannot be read.
    """
    family = read_ec2_node_class(newer).ami_family
    notes: list[Note] = []
    spec = with_defaults(newer["spec"], ec2_node_class_spec("v1"))
    metadata = carried_metadata(newer["metadata"])
    annotations = dict(metadata.get("annotations", {}))
    injected = annotations.pop(UBUNTU_ANNOTATION, "").split(",")
    if "amiFamily" in injected:
        _restore_ubuntu(spec, injected)
        metadata["annotations"] = annotations
    else:
        spec["amiFamily"] = family
        spec["amiSelectorTerms"] = _older_terms(spec.get("amiSelectorTerms") or [], family, notes)
    kubelet = spec.pop("kubelet", None)
    lost = [field for field in _NEWER_FIELDS if spec.pop(field, None) is not None]
    notes.extend(Note(f"spec.{field}", "is left out: v1beta1 does not have it") for field in lost)
    if not spec["amiSelectorTerms"]:
        del spec["amiSelectorTerms"]
    if not metadata.get("annotations"):
        metadata.pop("annotations", None)
    manifest = _manifest("v1beta1", metadata, spec, newer)
    left = left_to_do(manifest, ec2_node_class_spec("v1beta1"))
    return Converted(manifest=manifest, notes=(*notes, *left), kubelet=kubelet)


def _restore_ubuntu(spec: dict[str, Any], injected: list[str]) -> None:
    spec["amiFamily"] = "Ubuntu"
    if "blockDeviceMappings" in injected:
        spec.pop("blockDeviceMappings", None)
    if "incompatible" in injected:
        spec["amiSelectorTerms"] = []


def _older_terms(terms: list[dict[str, Any]], family: str, notes: list[Note]) -> list[dict[str, Any]]:
    """Those that v1beta1 can say. An alias is no term there: the family alone stands for its latest images."""
    found = []
    for index, term in enumerate(terms):
        where = f"spec.amiSelectorTerms[{index}]"
        alias, parameter = term.get("alias"), term.get("ssmParameter")
        if alias and (family == "Custom" or not alias.endswith("@latest")):
            notes.append(Note(where, f"alias {alias} is left out: v1beta1 takes the latest images of a family"))
        if parameter:
            notes.append(Note(where, "ssmParameter is left out: v1beta1 does not have it"))
        kept = {key: value for key, value in term.items() if key not in ("alias", "ssmParameter")}
        if kept:
            found.append(kept)
    return found


def _manifest(
    version: str, metadata: Mapping[str, Any], spec: Mapping[str, Any], source: Mapping[str, Any]
) -> dict[str, Any]:
    manifest = {
        "apiVersion": f"karpenter.k8s.aws/{version}",
        "kind": "EC2NodeClass",
        "metadata": dict(metadata),
        "spec": dict(spec),
    }
    return {**manifest, "status": source["status"]} if source.get("status") else manifest
