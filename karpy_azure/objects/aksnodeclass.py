"""AKSNodeClass (``karpenter.azure.com/v1beta1`` and ``v1alpha2``), as its releases had it.

Both versions bear one name, so the fields of a manifest decide, not the version that it was served as. ``imageVersion``, which
later releases dropped, is still read: without it, machines of 2024 may never join their cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
import msgspec

from karpy.errors import InvalidObject
from karpy.objects.kinds import Kind
from karpy.objects.meta import ObjectMeta, Wire, decode, describe

__all__ = ["AKS_NODE_CLASS", "NodeClass", "read_node_class"]

AKS_NODE_CLASS: Final = Kind("karpenter.azure.com", "v1beta1", "AKSNodeClass", "aksnodeclasses", namespaced=False)
IMAGE_FAMILIES: Final = ("Ubuntu", "Ubuntu2204", "Ubuntu2404", "AzureLinux")
FIPS_MODES: Final = ("FIPS", "Disabled")
GPU_MODES: Final = ("Driver", "None")
DISK_SIZES_GB: Final = (30, 2048)
MAX_PODS: Final = (10, 250)
SUBNET_PATTERN: Final = (
    r"(?i)^/subscriptions/[^/]+/resourceGroups/[a-zA-Z0-9_\-().]{0,89}[a-zA-Z0-9_\-()]"
    r"/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+$"
)
_TAG_KEY_MAX: Final = 512
_TAG_VALUE_MAX: Final = 256
_TAG_KEY_FORBIDDEN: Final = re.compile(r"[<>%&?\\]")


class Kubelet(Wire, frozen=True):
    """Settings of the kubelet that karpy reads."""

    image_gc_high_threshold_percent: int | None = msgspec.field(name="imageGCHighThresholdPercent", default=None)
    image_gc_low_threshold_percent: int | None = msgspec.field(name="imageGCLowThresholdPercent", default=None)
    fail_swap_on: bool | None = None


class _TrustedLaunch(Wire, frozen=True):
    vtpm: bool | None = None
    secure_boot: bool | None = None


class _Security(Wire, frozen=True):
    encryption_at_host: bool | None = None
    trusted_launch: _TrustedLaunch = _TrustedLaunch()


class _Gpu(Wire, frozen=True):
    mode: str | None = None


class _Switch(Wire, frozen=True):
    enabled: bool | None = None


class _LinuxOS(Wire, frozen=True):
    swap_file_size: str | None = None


class _Spec(Wire, frozen=True):
    image_family: str | None = None
    image_version: str | None = None
    os_disk_size_gb: int | None = msgspec.field(name="osDiskSizeGB", default=None)
    vnet_subnet_id: str | None = msgspec.field(name="vnetSubnetID", default=None)
    fips_mode: str | None = None
    tags: dict[str, str] | None = None
    kubelet: Kubelet | None = None
    max_pods: int | None = None
    security: _Security = _Security()
    gpu: _Gpu = _Gpu()
    artifact_streaming: _Switch = _Switch()
    linux_os: _LinuxOS = msgspec.field(name="linuxOSConfig", default=_LinuxOS())


class _AKSNodeClass(Wire, frozen=True):
    metadata: ObjectMeta
    spec: _Spec = _Spec()


@attrs.frozen(kw_only=True)
class NodeClass:
    """A node class in the internal model. ``image_version`` is empty for the newest image, ``max_pods`` None for AKS's own."""

    name: str
    metadata: ObjectMeta = ObjectMeta()
    image_family: str = "Ubuntu"
    image_version: str = ""
    os_disk_size_gb: int = 128
    vnet_subnet_id: str = ""
    is_fips: bool = False
    tags: Mapping[str, str] = attrs.field(factory=dict)
    kubelet: Kubelet = Kubelet()
    max_pods: int | None = None
    encryption_at_host: bool = False
    trusted_launch: bool = False
    gpu_mode: str = "Driver"
    artifact_streaming: bool = False


def read_node_class(data: Mapping[str, Any]) -> NodeClass:
    """Read an AKSNodeClass of v1beta1 or v1alpha2.

    Raises:
        InvalidObject: naming the object, the field path, what was found and what is accepted.
    """
    if data.get("kind") != AKS_NODE_CLASS.kind:
        raise InvalidObject(
            f"{data.get('kind')!r} is no node class of AKS",
            path="kind",
            object_name=describe(data),
            accepted=AKS_NODE_CLASS.kind,
        )
    wire = decode(data, _AKSNodeClass)
    try:
        _check(wire.spec)
    except InvalidObject as error:
        raise error.at(path="spec", object_name=describe(data)) from None
    return _build(wire)


def _build(wire: _AKSNodeClass) -> NodeClass:
    spec = wire.spec
    launch = spec.security.trusted_launch
    return NodeClass(
        name=wire.metadata.name,
        metadata=wire.metadata,
        image_family=spec.image_family or "Ubuntu",
        image_version=spec.image_version or "",
        os_disk_size_gb=128 if spec.os_disk_size_gb is None else spec.os_disk_size_gb,
        vnet_subnet_id=spec.vnet_subnet_id or "",
        is_fips=spec.fips_mode == "FIPS",
        tags=spec.tags or {},
        kubelet=spec.kubelet or Kubelet(),
        max_pods=spec.max_pods,
        encryption_at_host=bool(spec.security.encryption_at_host),
        trusted_launch=bool(launch.vtpm or launch.secure_boot),
        gpu_mode=spec.gpu.mode or "Driver",
        artifact_streaming=bool(spec.artifact_streaming.enabled),
    )


def _check(spec: _Spec) -> None:
    _one_of("imageFamily", spec.image_family, IMAGE_FAMILIES)
    _one_of("fipsMode", spec.fips_mode, FIPS_MODES)
    _one_of("gpu.mode", spec.gpu.mode, GPU_MODES)
    _within("osDiskSizeGB", spec.os_disk_size_gb, DISK_SIZES_GB)
    _within("maxPods", spec.max_pods, MAX_PODS)
    if spec.vnet_subnet_id is not None and not re.match(SUBNET_PATTERN, spec.vnet_subnet_id):
        raise InvalidObject(
            f"{spec.vnet_subnet_id!r} is no subnet",
            path="vnetSubnetID",
            accepted="/subscriptions/…/resourceGroups/…/providers/Microsoft.Network/virtualNetworks/…/subnets/…",
        )
    _check_tags(spec.tags or {})
    _check_kubelet(spec.kubelet or Kubelet())
    _check_fips(spec)
    if spec.linux_os.swap_file_size and (spec.kubelet is None or spec.kubelet.fail_swap_on is not False):
        raise InvalidObject("swap needs it to be false", path="kubelet.failSwapOn", accepted="false")


def _check_tags(tags: Mapping[str, str]) -> None:
    for key, value in tags.items():
        if not key or len(key) > _TAG_KEY_MAX or _TAG_KEY_FORBIDDEN.search(key):
            raise InvalidObject(
                f"key {key[:40]!r}", path="tags", accepted=f"1 to {_TAG_KEY_MAX} characters, none of < > % & ? \\"
            )
        if len(value) > _TAG_VALUE_MAX:
            raise InvalidObject(
                f"it has {len(value)} characters", path=f"tags.{key}", accepted=f"at most {_TAG_VALUE_MAX} characters"
            )


def _check_kubelet(kubelet: Kubelet) -> None:
    high, low = kubelet.image_gc_high_threshold_percent, kubelet.image_gc_low_threshold_percent
    _within("kubelet.imageGCHighThresholdPercent", high, (0, 100))
    _within("kubelet.imageGCLowThresholdPercent", low, (0, 100))
    if high is not None and low is not None and high <= low:
        raise InvalidObject(
            f"{high} is not above the low threshold {low}",
            path="kubelet.imageGCHighThresholdPercent",
            accepted="more than imageGCLowThresholdPercent",
        )


def _check_fips(spec: _Spec) -> None:
    """Which images exist in a FIPS build, with and without trusted launch."""
    if spec.fips_mode != "FIPS":
        return
    launch = spec.security.trusted_launch
    trusted = bool(launch.vtpm or launch.secure_boot)
    if spec.image_family == "Ubuntu2404":
        raise InvalidObject("there is no FIPS image of Ubuntu2404", path="imageFamily", accepted="another family")
    if spec.image_family == "Ubuntu2204" and not trusted:
        raise InvalidObject(
            "the FIPS image of Ubuntu2204 needs trusted launch",
            path="security.trustedLaunch",
            accepted="vtpm or secureBoot true",
        )
    if spec.image_family == "AzureLinux" and trusted:
        raise InvalidObject(
            "the FIPS image of AzureLinux has no trusted launch", path="security.trustedLaunch", accepted="not set"
        )


def _one_of(path: str, value: str | None, accepted: Iterable[str]) -> None:
    choices = tuple(accepted)
    if value is not None and value not in choices:
        raise InvalidObject(f"{value!r} is not known", path=path, accepted=", ".join(choices))


def _within(path: str, value: int | None, bounds: tuple[int, int]) -> None:
    least, most = bounds
    if value is not None and not least <= value <= most:
        raise InvalidObject(f"{value} is out of range", path=path, accepted=f"an integer from {least} to {most}")
