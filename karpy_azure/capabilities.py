"""What Azure's SKU list says of a size: its name and its capabilities, which are strings by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from karpy.errors import InvalidObject
from karpy_azure.skus import SkuName, parse_sku_name

__all__ = ["Sku"]

_ARCHITECTURES: Final = {"x64": "amd64", "Arm64": "arm64"}


@attrs.frozen
class Sku:
    """One size. Properties read its capabilities and raise `InvalidObject` where a needed one is missing or malformed."""

    name: str
    capabilities: Mapping[str, str]
    parts: SkuName = attrs.field(
        init=False, eq=False, default=attrs.Factory(lambda self: parse_sku_name(self.name), takes_self=True)
    )

    @property
    def vcpus(self) -> int:
        return int(self._number("vCPUs"))

    @property
    def memory_gib(self) -> float:
        """Azure's ``MemoryGB``, which counts GiB."""
        return self._number("MemoryGB")

    @property
    def gpus(self) -> int:
        return int(self._number("GPUs", "0"))

    @property
    def architecture(self) -> str:
        """As the label ``kubernetes.io/arch`` has it."""
        named = self.capabilities.get("CpuArchitectureType", "")
        if not named:
            raise InvalidObject(f"{self.name} does not say its CpuArchitectureType")
        return _ARCHITECTURES.get(named, named)

    @property
    def hyperv_generations(self) -> tuple[str, ...]:
        """The generations of virtual hardware that it boots: "1", "2" or both."""
        named = self.capabilities.get("HyperVGenerations", "")
        return tuple(number for number in ("1", "2") if f"V{number}" in named)

    @property
    def ephemeral_os_gb(self) -> int:
        """The largest OS disk that fits its local storage, in GB; 0 when it has no place for one.

        The first place that there is counts, NVMe before cache before temporary disk, even if a later one is larger: as AKS does.
        """
        if not self.has("EphemeralOSDiskSupported"):
            return 0
        nvme = "NvmeDisk" in self.capabilities.get("SupportedEphemeralOSDiskPlacements", "")
        places = (
            self._number("NvmeDiskSizeInMiB", "0") * 2**20 if nvme else 0,
            self._number("CachedDiskBytes", "0"),
            self._number("MaxResourceVolumeMB", "0") * 2**20,
        )
        return next((int(size // 10**9) for size in places if size >= 10**9), 0)

    def has(self, capability: str) -> bool:
        """Whether a yes-or-no capability is there and true."""
        return self.capabilities.get(capability, "").lower() == "true"

    def _number(self, capability: str, default: str = "") -> float:
        written = self.capabilities.get(capability, default)
        try:
            return float(written)
        except ValueError:
            raise InvalidObject(f"{self.name}: capability {capability} is {written!r}", accepted="a number") from None
