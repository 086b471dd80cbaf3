from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy_aws.capacity import eni_limited_pods, pod_limit, storage_bytes, usable_memory_mib, usual_pods
from karpy_aws.descriptions import (
    Efa,
    Gpu,
    Gpus,
    InstanceStorage,
    NetworkCard,
    Neuron,
    NeuronCores,
    NeuronDevice,
    Processor,
)
from karpy_aws.families import FAMILIES
from karpy_aws.kubeletnumbers import KubeletNumbers
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects.nodeclass import BlockDeviceMapping, Ebs, NetworkInterface
from tests.karpy_aws.sold import SUBNETS, built, described, network

GIB = 2**30
MIB = 2**20


# Pods


@pytest.mark.aws("AWS-113")
def test_pods_share_the_addresses_of_the_default_card() -> None:
    cards = (NetworkCard(0, 3), NetworkCard(1, 15))
    assert eni_limited_pods(described(network_info=network(*cards))) == 3 * 9 + 2
    assert eni_limited_pods(described(network_info=network(*cards, default_network_card_index=1))) == 15 * 9 + 2


@pytest.mark.aws("AWS-113")
@pytest.mark.parametrize(("reserved", "pods"), [(0, 29), (1, 20), (3, 0), (20, 0)])
def test_reserved_interfaces_hold_no_pods(reserved: int, pods: int) -> None:
    assert built(described(), NodeSetup(subnets=SUBNETS, reserved_enis=reserved)).max_pods == pods


@pytest.mark.aws("AWS-113")
def test_an_efa_only_interface_of_the_first_card_holds_none() -> None:
    interfaces = (NetworkInterface(0, 0), NetworkInterface(0, 1, "efa-only"), NetworkInterface(1, 1, "efa-only"))
    assert built(described(), NodeSetup(subnets=SUBNETS, interfaces=interfaces)).max_pods == 20


@pytest.mark.aws("AWS-113")
@pytest.mark.parametrize(
    ("family", "max_pods", "per_core", "pods"),
    [
        ("AL2023", None, 0, 29),
        ("AL2023", 50, 0, 50),
        ("AL2023", 0, 0, 0),
        ("AL2023", None, 4, 8),
        ("AL2023", 5, 4, 5),
        ("AL2023", 50, 40, 50),
        ("Custom", None, 4, 8),
        ("Bottlerocket", None, 4, 29),
        ("Bottlerocket", 50, 4, 50),
        ("Windows2022", None, 0, 110),
        ("Windows2022", None, 4, 8),
    ],
)
def test_pods_are_as_many_as_asked_for_or_there_are_addresses_but_no_more_than_per_core(
    family: str, max_pods: int | None, per_core: int, pods: int
) -> None:
    said = KubeletNumbers(max_pods=max_pods, pods_per_core=per_core)
    assert pod_limit(described(), FAMILIES[family], said, usual_pods(described(), FAMILIES[family])) == pods


@pytest.mark.aws("AWS-117")
@pytest.mark.parametrize(
    ("family", "counted"), [("AL2", 29), ("AL2023", 29), ("Custom", 29), ("Bottlerocket", 200), ("Windows2022", 200)]
)
def test_the_kubelets_memory_grows_with_addresses_or_with_the_pods_that_are_let_in(family: str, counted: int) -> None:
    setup = NodeSetup(family=FAMILIES[family], kubelet=KubeletNumbers(max_pods=200), subnets=SUBNETS)
    assert built(described(), setup).overhead.kube_reserved["memory"] == (11 * counted + 255) * MIB


@pytest.mark.aws("AWS-117")
def test_reserved_interfaces_save_the_kubelet_no_memory() -> None:
    without, reserving = (built(described(), NodeSetup(subnets=SUBNETS, reserved_enis=count)) for count in (0, 2))
    assert without.overhead.kube_reserved == reserving.overhead.kube_reserved


# Memory


@pytest.mark.aws("AWS-118")
@pytest.mark.parametrize(("percent", "mib"), [(0.0, 8_192), (0.01, 8_110), (0.075, 7_577), (0.2, 6_553)])
def test_the_hypervisor_takes_its_share_rounded_up(percent: float, mib: int) -> None:
    assert usable_memory_mib(described(), percent) == mib


@pytest.mark.aws("AWS-118")
def test_arm_sets_64_mib_more_aside() -> None:
    assert usable_memory_mib(described(processor_info=Processor(("arm64",))), 0.0) == 8_128


@pytest.mark.aws("AWS-119")
def test_what_nodes_turned_out_to_have_replaces_the_estimate() -> None:
    found = built(described(), measured_memory={"m5.large": 7_700 * MIB})
    assert found.capacity["memory"] == 7_700 * MIB


# Disk


def device(name: str = "/dev/xvda", size: str | None = None, *, root: bool = False) -> BlockDeviceMapping:
    return BlockDeviceMapping(name, Ebs(volume_size=size, snapshot_id="snap-1"), root)


@pytest.mark.aws("AWS-120")
@pytest.mark.parametrize(
    ("family", "devices", "gib"),
    [
        ("AL2", (), 20),
        ("Bottlerocket", (), 20),
        ("Ubuntu", (), 20),
        ("Windows2022", (), 50),
        ("Custom", (), 20),
        ("AL2023", (device(size="40Gi"),), 40),
        ("AL2023", (device("/dev/xvdb", "40Gi"),), 20),
        ("AL2023", (device(),), 20),
        ("AL2023", (device(size="40Gi"), device("/dev/xvdb", "7Gi", root=True)), 7),
        ("AL2023", (device(size="40Gi"), device("/dev/xvdb", root=True)), 40),
        ("Bottlerocket", (device(size="40Gi"),), 20),
        ("Bottlerocket", (device("/dev/xvdb", "40Gi"),), 40),
        ("Windows2022", (device("/dev/sda1", "80Gi"),), 80),
        ("Custom", (device(size="40Gi"), device("/dev/xvdb", "60Gi")), 60),
        ("Custom", (device(size="40Gi", root=True), device("/dev/xvdb", "60Gi")), 40),
        ("Custom", (device(size="40Gi"), device("/dev/xvdb")), 20),
    ],
)
def test_pods_files_lie_on_the_root_volume_or_on_the_familys_device(
    family: str, devices: tuple[BlockDeviceMapping, ...], gib: int
) -> None:
    assert storage_bytes(FAMILIES[family], devices) == gib * GIB


@pytest.mark.aws("AWS-120")
@pytest.mark.parametrize(("total", "bytes_"), [(1_800, 1_800 * 10**9), (None, 20 * GIB)])
def test_local_disks_made_into_one_hold_them_where_there_are_any(total: int | None, bytes_: int) -> None:
    disks = described(instance_storage_info=InstanceStorage(total, "required"))
    found = built(disks, NodeSetup(joins_local_disks=True, subnets=SUBNETS))
    assert found.capacity["ephemeral-storage"] == bytes_


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        (BlockDeviceMapping("/dev/xvda"), r"blockDeviceMappings\[0\].ebs"),
        (BlockDeviceMapping(ebs=Ebs(volume_size="9Gi")), r"blockDeviceMappings\[0\].deviceName"),
        (BlockDeviceMapping("/dev/xvdb", root_volume=True), r"blockDeviceMappings\[0\].ebs"),
    ],
)
def test_a_mapping_that_says_too_little_is_refused_by_name(broken: BlockDeviceMapping, field: str) -> None:
    with pytest.raises(InvalidObject, match=field):
        storage_bytes(FAMILIES["AL2023"], (broken,))


# Devices


@pytest.mark.aws("AWS-106")
@pytest.mark.parametrize(
    ("maker", "resource"), [("NVIDIA", "nvidia.com/gpu"), ("AMD", "amd.com/gpu"), ("Habana", "habana.ai/gaudi")]
)
def test_gpus_are_counted_by_their_maker(maker: str, resource: str) -> None:
    gpus = Gpus((Gpu("A", maker, 2), Gpu("B", maker, 1)))
    assert built(described(gpu_info=gpus)).capacity[resource] == 3


@pytest.mark.aws("AWS-106")
def test_neuron_devices_and_the_cores_of_the_first_kind_are_counted() -> None:
    devices = (NeuronDevice("Trainium", 16, NeuronCores(2)), NeuronDevice("Other", 1, NeuronCores(8)))
    found = built(described(neuron_info=Neuron(devices))).capacity
    assert (found["aws.amazon.com/neuron"], found["aws.amazon.com/neuroncore"]) == (17, 32)


@pytest.mark.aws("AWS-106")
def test_efa_devices_are_those_that_the_class_configures_if_it_configures_any_interface() -> None:
    able = described(network_info=network(NetworkCard(0, 4), efa_info=Efa(2)))
    plain, one = (NetworkInterface(0, 0),), (NetworkInterface(0, 0), NetworkInterface(0, 1, "efa-only"))
    counts = [
        built(able, NodeSetup(subnets=SUBNETS, interfaces=interfaces)).capacity.get("vpc.amazonaws.com/efa", 0)
        for interfaces in ((), plain, one)
    ]
    assert counts == [2, 0, 1]
