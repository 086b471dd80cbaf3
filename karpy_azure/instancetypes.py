"""A size of Azure's SKU list, made into an `InstanceType`: labels, capacity, overhead (Azure specification, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.requirements import Requirement, Requirements
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources
from karpy_azure import labels
from karpy_azure.capabilities import Sku
from karpy_azure.gpus import gpu_manufacturer
from karpy_azure.offerings import PRIORITIES
from karpy_azure.overhead import node_overhead, usable_memory

__all__ = ["RequirementPool", "build_instance_type", "is_offered"]

DEFAULT_OS_DISK_GB: Final = 128
DEFAULT_MAX_PODS: Final = 250
"""What AKS gives nodes whose pods have an overlay network of their own."""

_LEAST_VCPUS: Final = 2
_LEAST_MEMORY_GIB: Final = 3.5
_AKS_RESTRICTED: Final = frozenset(
    {
        *(
            "Standard_A0",
            "Standard_A1",
            "Standard_A1_v2",
            "Standard_B1s",
            "Standard_B1ms",
            "Standard_F1",
            "Standard_F1s",
        ),
        *("Basic_A0", "Basic_A1", "Basic_A2", "Basic_A3", "Basic_A4"),
        *("Standard_E64i_v3", "Standard_E64is_v3"),
    }
)


class RequirementPool:
    """Builds each requirement once, so that types of one catalog share what they have in common."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[tuple[str, tuple[str, ...]], Requirement] = {}

    def one_of(self, key: str, values: Iterable[object] = ()) -> Requirement:
        """``key In values``; with no value (or only None) the label must be absent."""
        texts = tuple(sorted(str(value) for value in values if value is not None))
        made = self._made.get((key, texts))
        if made is None:
            made = self._made[key, texts] = Requirement.in_(key, *texts) if texts else Requirement.absent(key)
        return made


def is_offered(sku: Sku) -> bool:
    """Whether AKS takes the size as a node: large enough, with all its cores on, not confidential, with a known GPU if any."""
    return (
        sku.vcpus >= _LEAST_VCPUS
        and sku.memory_gib >= _LEAST_MEMORY_GIB
        and sku.name not in _AKS_RESTRICTED
        and (sku.gpus == 0 or gpu_manufacturer(sku.parts) is not None)
        and sku.parts.constrained is None
        and not sku.parts.is_confidential
    )


def build_instance_type(
    sku: Sku, offerings: Sequence[Offering], *, region: str, cluster: str, pool: RequirementPool
) -> InstanceType:
    """The instance type as a node class with default settings would get it.

    ``cluster`` is the label value that names the cluster's node resource group.
    """
    maker = gpu_manufacturer(sku.parts) if sku.gpus else None
    counts = {
        CPU: sku.vcpus * 1_000,
        MEMORY: usable_memory(sku.memory_gib),
        EPHEMERAL_STORAGE: DEFAULT_OS_DISK_GB * 10**9,
        PODS: DEFAULT_MAX_PODS,
    }
    if maker is not None:
        counts[f"{maker}.com/gpu"] = sku.gpus
    found = {
        core.INSTANCE_TYPE: [sku.name],
        core.ARCH: [sku.architecture],
        core.OS: ["linux"],
        core.REGION: [region],
        core.WINDOWS_BUILD: (),
        **_offering_labels(offerings),
        **_sku_labels(sku, maker),
        **_aks_labels(sku, cluster),
    }
    return InstanceType(
        name=sku.name,
        requirements=Requirements(pool.one_of(key, values) for key, values in found.items()),
        offerings=tuple(offerings),
        capacity=Resources(counts),
        overhead=node_overhead(sku.vcpus, sku.memory_gib),
    )


def _offering_labels(offerings: Sequence[Offering]) -> dict[str, Iterable[object]]:
    kinds = {offering.capacity_type for offering in offerings}
    priorities = {PRIORITIES[kind] for kind in kinds}
    return {
        core.ZONE: {offering.zone for offering in offerings},
        core.CAPACITY_TYPE: kinds,
        labels.AKS_PRIORITY: priorities,
        labels.AKS_SCALE_SET_PRIORITY: priorities,
        labels.PLACEMENT_SCOPE: [labels.ZONAL],
    }


def _sku_labels(sku: Sku, maker: str | None) -> dict[str, Iterable[object]]:
    parts = sku.parts
    return {
        labels.SKU_NAME: [sku.name],
        labels.SKU_FAMILY: [parts.family],
        labels.SKU_SERIES: [parts.series],
        labels.SKU_VERSION: [parts.version_label],
        labels.SKU_CPU: [sku.vcpus],
        labels.SKU_MEMORY: [_memory_mib(sku)],
        labels.SKU_ACCELERATOR: [parts.accelerator or None],
        labels.SKU_GPU_NAME: [(parts.accelerator or None) if maker else None],
        labels.SKU_GPU_MANUFACTURER: [maker],
        labels.SKU_GPU_COUNT: [sku.gpus if maker else 0],
        labels.SKU_NETWORKING_ACCELERATED: [_truth(sku.has("AcceleratedNetworkingEnabled"))],
        labels.SKU_STORAGE_PREMIUM: [_truth(sku.has("PremiumIO"))],
        labels.SKU_STORAGE_EPHEMERAL_OS: [sku.ephemeral_os_gb or None],
        labels.SKU_STORAGE_ULTRA_SSD: ["false", "true"] if sku.has("UltraSSDAvailable") else ["false"],
        labels.SKU_ENCRYPTION_AT_HOST: ["true" if sku.has("EncryptionAtHostSupported") else None],
        labels.SKU_HYPERV_GENERATION: sku.hyperv_generations,
    }


def _aks_labels(sku: Sku, cluster: str) -> dict[str, Iterable[object]]:
    return {
        labels.AKS_CLUSTER: [cluster],
        labels.AKS_MODE: ["system", "user"],
        labels.AKS_OS_SKU: ["Ubuntu"],
        labels.AKS_FIPS: (),
        labels.AKS_SKU_CPU: [sku.vcpus],
        labels.AKS_SKU_MEMORY: [_memory_mib(sku)],
    }


def _memory_mib(sku: Sku) -> int:
    return int(sku.memory_gib * 1_024)


def _truth(value: bool) -> str:
    return "true" if value else "false"
