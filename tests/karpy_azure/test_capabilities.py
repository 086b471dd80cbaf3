from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy_azure.capabilities import Sku


def sku(**capabilities: str) -> Sku:
    return Sku("Standard_D4s_v5", capabilities)


def test_numbers_come_as_text() -> None:
    found = sku(vCPUs="4", MemoryGB="3.5")
    assert (found.vcpus, found.memory_gib, found.gpus) == (4, 3.5, 0)


@pytest.mark.parametrize("written", ["", "four"])
def test_a_missing_or_malformed_number_is_named(written: str) -> None:
    with pytest.raises(InvalidObject, match=f"Standard_D4s_v5: capability vCPUs is '{written}'"):
        _ = sku(vCPUs=written).vcpus


def test_architectures_have_their_kubernetes_names() -> None:
    assert sku(CpuArchitectureType="x64").architecture == "amd64"
    assert sku(CpuArchitectureType="Arm64").architecture == "arm64"
    with pytest.raises(InvalidObject):
        _ = sku().architecture


def test_yes_or_no_capabilities_ignore_case_and_default_to_no() -> None:
    assert sku(PremiumIO="True").has("PremiumIO")
    assert sku(PremiumIO="TRUE").has("PremiumIO")
    assert not sku(PremiumIO="False").has("PremiumIO")
    assert not sku().has("PremiumIO")


@pytest.mark.parametrize(
    ("capabilities", "gb"),
    [
        ({"CachedDiskBytes": "107374182400"}, 0),
        ({"EphemeralOSDiskSupported": "True"}, 0),
        ({"EphemeralOSDiskSupported": "True", "CachedDiskBytes": "107374182400"}, 107),
        ({"EphemeralOSDiskSupported": "True", "MaxResourceVolumeMB": "76800"}, 80),
        ({"EphemeralOSDiskSupported": "True", "CachedDiskBytes": "32212254720", "MaxResourceVolumeMB": "163840"}, 32),
        (
            {
                "EphemeralOSDiskSupported": "True",
                "NvmeDiskSizeInMiB": "112640",
                "SupportedEphemeralOSDiskPlacements": "NvmeDisk",
                "CachedDiskBytes": "32212254720",
            },
            118,
        ),
    ],
)
def test_the_first_place_for_an_ephemeral_disk_counts(capabilities: dict[str, str], gb: int) -> None:
    assert sku(**capabilities).ephemeral_os_gb == gb
