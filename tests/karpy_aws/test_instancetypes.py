"""Known facts of known types, and the rules that make them."""

from __future__ import annotations

import attrs
import pytest

from karpy import labels as core
from karpy.cloud.instancetype import InstanceTypes, compatible
from karpy.requirements import Requirements
from karpy.resources import Resources
from karpy_aws import labels
from karpy_aws.descriptions import Processor
from karpy_aws.families import FAMILIES
from tests.karpy_aws.sold import SETUP, built, described

GIB = 2**30
MIB = 2**20


@pytest.mark.parametrize(
    ("name", "vcpus", "memory_mib", "pods"),
    [
        ("t3.nano", 2, 512, 4),
        ("t3.medium", 2, 4_096, 17),
        ("m5.large", 2, 8_192, 29),
        ("m5.xlarge", 4, 16_384, 58),
        ("c5.large", 2, 4_096, 29),
        ("r5.24xlarge", 96, 786_432, 737),
        ("m6g.large", 2, 8_192, 29),
    ],
)
def test_vcpus_memory_and_pods(types: InstanceTypes, name: str, vcpus: int, memory_mib: int, pods: int) -> None:
    found = types.by_name(name)
    assert found is not None
    assert found.capacity["cpu"] == vcpus * 1_000
    assert found.requirements[labels.INSTANCE_MEMORY].single() == str(memory_mib)
    assert found.max_pods == pods


def test_allocatable_of_m5_large_is_what_the_aws_rules_leave(types: InstanceTypes) -> None:
    found = types.by_name("m5.large")
    assert found is not None
    assert found.capacity == Resources.parse(
        {"cpu": "2", "memory": "7577Mi", "pods": "29", "ephemeral-storage": "20Gi"}
    )
    assert found.overhead.kube_reserved == Resources.parse(
        {"cpu": "70m", "memory": "574Mi", "ephemeral-storage": "1Gi"}
    )
    assert found.overhead.system_reserved == Resources()
    assert found.overhead.eviction_threshold == Resources.parse({"memory": "100Mi", "ephemeral-storage": "2Gi"})
    assert found.allocatable["cpu"] == 1_930
    assert found.allocatable["memory"] == 6_903 * MIB
    assert found.allocatable["pods"] == 29


def test_arm_types_lose_64_mib_more(types: InstanceTypes) -> None:
    intel, arm = types.by_name("m5.large"), types.by_name("m6g.large")
    assert intel is not None
    assert arm is not None
    assert arm.requirements[core.ARCH].single() == "arm64"
    assert arm.capacity["memory"] == 7_518 * MIB < intel.capacity["memory"]


def test_labels_of_a_gpu_type(types: InstanceTypes) -> None:
    found = types.by_name("g4dn.xlarge")
    assert found is not None
    assert found.capacity["nvidia.com/gpu"] == 1
    told = found.requirements.labels()
    assert told[labels.INSTANCE_GPU_NAME] == "t4"
    assert told[labels.INSTANCE_GPU_MANUFACTURER] == "nvidia"
    assert told[labels.INSTANCE_GPU_COUNT] == "1"
    assert told[labels.INSTANCE_GPU_MEMORY] == "16384"
    assert told[labels.INSTANCE_LOCAL_NVME] == "125"


def test_labels_and_devices_of_a_neuron_type(types: InstanceTypes) -> None:
    found = types.by_name("trn1.32xlarge")
    assert found is not None
    assert found.capacity["aws.amazon.com/neuron"] == 16
    assert found.capacity["aws.amazon.com/neuroncore"] == 32
    assert found.capacity["vpc.amazonaws.com/efa"] == 8
    told = found.requirements.labels()
    assert told[labels.INSTANCE_ACCELERATOR_NAME] == "trainium"
    assert told[labels.INSTANCE_ACCELERATOR_MANUFACTURER] == "aws"
    assert told[labels.INSTANCE_CATEGORY] == "trn"
    assert labels.INSTANCE_GPU_NAME not in told


def test_labels_of_a_plain_type(types: InstanceTypes) -> None:
    found = types.by_name("m5.large")
    assert found is not None
    told = found.requirements.labels()
    expected = {
        labels.INSTANCE_CATEGORY: "m",
        labels.INSTANCE_FAMILY: "m5",
        labels.INSTANCE_GENERATION: "5",
        labels.INSTANCE_SIZE: "large",
        labels.INSTANCE_CPU: "2",
        labels.INSTANCE_CPU_MANUFACTURER: "intel",
        labels.INSTANCE_HYPERVISOR: "nitro",
        labels.INSTANCE_PODS: "29",
        labels.INSTANCE_CAPABILITY_FLEX: "false",
        labels.INSTANCE_EBS_BANDWIDTH: "4750",
        labels.INSTANCE_NETWORK_BANDWIDTH: "750",
    }
    assert {key: told[key] for key in expected} == expected
    assert not {labels.INSTANCE_LOCAL_NVME, labels.INSTANCE_GPU_NAME, labels.CAPACITY_RESERVATION_ID} & told.keys()


def test_a_resource_that_a_type_has_none_of_is_not_listed(types: InstanceTypes) -> None:
    found = types.by_name("m5.large")
    assert found is not None
    assert set(found.capacity) == {"cpu", "memory", "pods", "ephemeral-storage"}


def test_metal_has_no_hypervisor(types: InstanceTypes) -> None:
    found = types.by_name("m5.metal")
    assert found is not None
    assert found.requirements[labels.INSTANCE_HYPERVISOR].single() == ""


@pytest.mark.aws("AWS-104")
@pytest.mark.parametrize("name", ["m5.large", "g4dn.xlarge", "inf2.xlarge", "c7i-flex.large", "m5.metal"])
def test_each_label_of_a_type_asks_for_it_alone_and_with_all_others(types: InstanceTypes, name: str) -> None:
    found = types.by_name(name)
    assert found is not None
    told = found.requirements.labels()
    for key, value in told.items():
        assert found in compatible(types, Requirements.from_labels({key: value})), key
    assert compatible(types, Requirements.from_labels(told)) == (found,)


@pytest.mark.aws("AWS-111")
@pytest.mark.parametrize(("name", "flex"), [("c7i-flex.large", "true"), ("c7i.large", "false")])
def test_flex_types_say_so(types: InstanceTypes, name: str, flex: str) -> None:
    found = types.by_name(name)
    assert found is not None
    assert found.requirements[labels.INSTANCE_CAPABILITY_FLEX].single() == flex


@pytest.mark.aws("AWS-126")
def test_every_type_can_be_had_of_both_tenancies(types: InstanceTypes) -> None:
    assert {each.requirements[labels.INSTANCE_TENANCY].values for each in types} == {
        frozenset({"default", "dedicated"})
    }


@pytest.mark.parametrize(("architecture", "system"), [("x86_64", "windows"), ("arm64", None)])
def test_windows_runs_on_x86_only(architecture: str, system: str | None) -> None:
    setup = attrs.evolve(SETUP, family=FAMILIES["Windows2022"])
    found = built(described(processor_info=Processor((architecture,))), setup).requirements
    assert found[core.OS].single() == system
    assert found[core.WINDOWS_BUILD].single() == "10.0.20348"


@pytest.mark.parametrize(
    ("name", "category", "generation"),
    [
        ("m5.large", "m", "5"),
        ("u-12tb1.112xlarge", "u", "1"),
        ("trn2u.48xlarge", "trn", "2"),
        ("mac-m4.metal", None, None),
    ],
)
def test_category_and_generation_are_told_by_the_name(name: str, category: str | None, generation: str | None) -> None:
    found = built(described(name)).requirements
    assert found[labels.INSTANCE_CATEGORY].single() == category
    assert found[labels.INSTANCE_GENERATION].single() == generation
