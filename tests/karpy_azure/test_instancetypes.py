"""Known facts of known sizes, and which sizes AKS takes as nodes."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest

from karpy import labels as core
from karpy.cloud.instancetype import InstanceTypes
from karpy.resources import Resources
from karpy_azure import labels
from karpy_azure.capabilities import Sku
from karpy_azure.instancetypes import RequirementPool, build_instance_type, is_offered
from karpy_azure.offerings import OfferingTable

PLAIN = {"vCPUs": "4", "MemoryGB": "16", "CpuArchitectureType": "x64"}


@pytest.mark.parametrize(
    ("name", "vcpus", "memory_mib"),
    [
        ("Standard_D2_v4", 2, 8_192),
        ("Standard_D8_v4", 8, 32_768),
        ("Standard_D4s_v5", 4, 16_384),
        ("Standard_E16as_v5", 16, 131_072),
        ("Standard_D32s_v3", 32, 131_072),
        ("Standard_F16s_v2", 16, 32_768),
        ("Standard_B20ms", 20, 81_920),
        ("Standard_DS2_v2", 2, 7_168),
        ("Standard_NC6s_v3", 6, 114_688),
        ("Standard_M8ms", 8, 224_000),
    ],
)
def test_cores_and_memory(types: InstanceTypes, name: str, vcpus: int, memory_mib: int) -> None:
    found = types.by_name(name)
    assert found is not None
    assert found.capacity["cpu"] == vcpus * 1_000
    told = found.requirements.labels()
    assert told[labels.SKU_CPU] == told[labels.AKS_SKU_CPU] == str(vcpus)
    assert told[labels.SKU_MEMORY] == told[labels.AKS_SKU_MEMORY] == str(memory_mib)


def test_labels_of_a_plain_size(types: InstanceTypes) -> None:
    found = types.by_name("Standard_D4s_v5")
    assert found is not None
    told = found.requirements.labels()
    expected = {
        labels.SKU_NAME: "Standard_D4s_v5",
        labels.SKU_FAMILY: "D",
        labels.SKU_SERIES: "Ds_v5",
        labels.SKU_VERSION: "5",
        labels.SKU_GPU_COUNT: "0",
        labels.SKU_NETWORKING_ACCELERATED: "true",
        labels.SKU_STORAGE_PREMIUM: "true",
        labels.SKU_ENCRYPTION_AT_HOST: "true",
        core.REGION: "eastus",
        core.ARCH: "amd64",
    }
    assert {key: told[key] for key in expected} == expected
    assert not {labels.SKU_GPU_NAME, labels.SKU_GPU_MANUFACTURER, labels.SKU_ACCELERATOR} & told.keys()


def test_labels_agree_with_those_seen_on_real_nodes(types: InstanceTypes) -> None:
    plain, newer = types.by_name("Standard_D2_v4"), types.by_name("Standard_E16as_v5")
    assert plain is not None
    assert newer is not None
    assert labels.SKU_ENCRYPTION_AT_HOST not in plain.requirements.labels()
    assert newer.requirements.labels()[labels.SKU_ENCRYPTION_AT_HOST] == "true"
    assert plain.requirements.labels()[labels.SKU_NETWORKING_ACCELERATED] == "true"


def test_a_gpu_size_has_its_devices(types: InstanceTypes) -> None:
    found = types.by_name("Standard_NC24s_v3")
    assert found is not None
    assert found.capacity["nvidia.com/gpu"] == 4
    assert found.requirements[labels.SKU_GPU_MANUFACTURER].single() == "nvidia"
    assert found.requirements[labels.SKU_GPU_COUNT].single() == "4"


def test_priorities_mirror_capacity_types(types: InstanceTypes) -> None:
    found = types.by_name("Standard_D4s_v5")
    assert found is not None
    for offering in found.offerings:
        told = offering.requirements.labels()
        assert (told[labels.AKS_PRIORITY] == "spot") == (offering.capacity_type == core.SPOT)


def test_what_is_not_sold_as_spot_has_no_spot_offering(types: InstanceTypes) -> None:
    found = types.by_name("Standard_B4ms")
    assert found is not None
    assert {offering.capacity_type for offering in found.offerings} == {core.ON_DEMAND}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("Standard_D1_v2", {"vCPUs": "1"}),
        ("Standard_D2s_v5", {"MemoryGB": "3.4"}),
        ("Standard_E32-16s_v3", {}),
        ("Standard_DC4s_v3", {}),
        ("Standard_EC4as_v5", {}),
        ("Standard_E64i_v3", {}),
        ("Basic_A4", {}),
        ("Standard_NV4as_v4", {"GPUs": "1"}),
    ],
)
def test_sizes_that_aks_does_not_take(name: str, changes: dict[str, str]) -> None:
    assert not is_offered(Sku(name, {**PLAIN, **changes}))


def test_an_ordinary_size_is_taken() -> None:
    assert is_offered(Sku("Standard_D4s_v5", PLAIN))


def test_the_answers_of_karpenter_itself(shared: Path) -> None:
    """Capacity and kubelet's share of every size that the vectors report in full for a class of default settings."""
    folder = shared / "data" / "vectors" / "azure"
    checked = 0
    with gzip.open(folder / "instancetypes.jsonl.gz") as lines:
        for vector in map(msgspec.json.decode, lines):
            if _has_default_settings(vector["in"]):
                skus = _skus(folder / "catalogs" / f"{vector['in']['catalog']}.json")
                for name, expected in vector["expect"].get("types", {}).items():
                    _compare(Sku(name, skus[name]), expected)
                    checked += 1
    assert checked > 100


def _has_default_settings(given: Any) -> bool:
    spec = given["nodeClass"]["spec"]
    return not given.get("settings") and not spec.get("maxPods") and spec.get("osDiskSizeGB") == 128


def _skus(path: Path) -> dict[str, dict[str, str]]:
    entries = msgspec.json.decode(path.read_bytes())["skus"]
    return {entry["name"]: {item["name"]: item["value"] for item in entry["capabilities"]} for entry in entries}


def _compare(sku: Sku, expected: Any) -> None:
    offerings = OfferingTable(["eastus-1"]).offerings(sku.parts.series, 1.0, spot=True)
    built = build_instance_type(sku, offerings, region="eastus", cluster="c", pool=RequirementPool())
    wanted = {name: amount for name, amount in Resources.parse(expected["capacity"]).items() if amount}
    assert dict(built.capacity) == wanted, sku.name
    assert built.overhead.kube_reserved == Resources.parse(expected["overhead"]["kubeReserved"]), sku.name
