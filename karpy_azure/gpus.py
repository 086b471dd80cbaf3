"""Which GPU sizes AKS has drivers for, and who made their GPUs."""

from __future__ import annotations

from typing import Final

from karpy_azure.skus import SkuName

__all__ = ["gpu_manufacturer"]

NVIDIA: Final = "nvidia"
AMD: Final = "amd"

_BY_SERIES: Final = {
    ("NC", ""): NVIDIA,
    ("NCr", ""): NVIDIA,
    ("NCs_v2", ""): NVIDIA,
    ("NCs_v3", ""): NVIDIA,
    ("NCrs_v3", ""): NVIDIA,
    ("NCas_v3", "T4"): NVIDIA,
    ("NCads_v4", "A100"): NVIDIA,
    ("NCads_v4", "A10"): NVIDIA,
    ("NCads_v5", "H100"): NVIDIA,
    ("NCadis_v5", "H100"): NVIDIA,
    ("NCds_v6", "RTXPRO6000BSE"): NVIDIA,
    ("NClds_v6", "RTXPRO6000BSE"): NVIDIA,
    ("NDs", ""): NVIDIA,
    ("NDrs", ""): NVIDIA,
    ("NDrs_v2", ""): NVIDIA,
    ("NDasr_v4", ""): NVIDIA,
    ("NDamsr_v4", "A100"): NVIDIA,
    ("NDisr_v5", "H100"): NVIDIA,
    ("NDisr_v6", "GB300"): NVIDIA,
    ("NVs_v3", ""): NVIDIA,
    ("NVads_v5", "A10"): NVIDIA,
    ("NVadms_v5", "A10"): NVIDIA,
    ("NVads_v5", "V710"): AMD,
    ("NDis_v5", ""): AMD,  # MI300X, which the grammar leaves out
    ("NDisr_v5", ""): AMD,
}


def gpu_manufacturer(name: SkuName) -> str | None:
    """The maker, or None for a size that AKS has no driver for (or that has no GPU)."""
    return _BY_SERIES.get((name.series, name.accelerator))
