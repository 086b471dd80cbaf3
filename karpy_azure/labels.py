"""The label keys that Azure defines: those of its provider, of all releases together, and AKS's own."""

from __future__ import annotations

from typing import Final

from karpy.labels import LabelSpec

__all__ = ["AZURE_LABELS"]

GROUP: Final = "karpenter.azure.com"
AKS: Final = "kubernetes.azure.com"

SKU_NAME: Final = f"{GROUP}/sku-name"
SKU_FAMILY: Final = f"{GROUP}/sku-family"
SKU_SERIES: Final = f"{GROUP}/sku-series"
SKU_VERSION: Final = f"{GROUP}/sku-version"
SKU_CPU: Final = f"{GROUP}/sku-cpu"
SKU_MEMORY: Final = f"{GROUP}/sku-memory"
SKU_ACCELERATOR: Final = f"{GROUP}/sku-accelerator"
SKU_NETWORKING_ACCELERATED: Final = f"{GROUP}/sku-networking-accelerated"
SKU_STORAGE_PREMIUM: Final = f"{GROUP}/sku-storage-premium-capable"
SKU_STORAGE_EPHEMERAL_OS: Final = f"{GROUP}/sku-storage-ephemeralos-maxsize"
SKU_STORAGE_ULTRA_SSD: Final = f"{GROUP}/sku-storage-ultra-ssd"
SKU_ENCRYPTION_AT_HOST: Final = f"{GROUP}/sku-encryptionathost-capable"
SKU_GPU_NAME: Final = f"{GROUP}/sku-gpu-name"
SKU_GPU_MANUFACTURER: Final = f"{GROUP}/sku-gpu-manufacturer"
SKU_GPU_COUNT: Final = f"{GROUP}/sku-gpu-count"
PLACEMENT_SCOPE: Final = f"{GROUP}/placement-scope"

SKU_HYPERV_GENERATION: Final = f"{GROUP}/sku-hyperv-generation"
"""Decides which images boot on a size; users may not ask for it."""

AKS_CLUSTER: Final = f"{AKS}/cluster"
AKS_MODE: Final = f"{AKS}/mode"
AKS_PRIORITY: Final = f"{AKS}/priority"
AKS_SCALE_SET_PRIORITY: Final = f"{AKS}/scalesetpriority"
AKS_OS_SKU: Final = f"{AKS}/os-sku"
AKS_FIPS: Final = f"{AKS}/fips_enabled"
AKS_SKU_CPU: Final = f"{AKS}/sku-cpu"
AKS_SKU_MEMORY: Final = f"{AKS}/sku-memory"

ZONAL: Final = "zonal"

AZURE_LABELS: Final = LabelSpec(
    well_known=frozenset(
        {
            SKU_NAME,
            SKU_FAMILY,
            SKU_SERIES,
            SKU_VERSION,
            SKU_CPU,
            SKU_MEMORY,
            SKU_ACCELERATOR,
            SKU_NETWORKING_ACCELERATED,
            SKU_STORAGE_PREMIUM,
            SKU_STORAGE_EPHEMERAL_OS,
            SKU_STORAGE_ULTRA_SSD,
            SKU_ENCRYPTION_AT_HOST,
            SKU_GPU_NAME,
            SKU_GPU_MANUFACTURER,
            SKU_GPU_COUNT,
            PLACEMENT_SCOPE,
            AKS_CLUSTER,
            AKS_MODE,
            AKS_PRIORITY,
            AKS_SCALE_SET_PRIORITY,
            AKS_OS_SKU,
            AKS_FIPS,
            AKS_SKU_CPU,
            AKS_SKU_MEMORY,
        }
    ),
    restricted_domains=frozenset({GROUP}),
    restricted=frozenset({SKU_HYPERV_GENERATION}),
)
