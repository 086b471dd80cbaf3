from __future__ import annotations

import attrs
import pytest

from karpy.cloud.instancetype import InstanceType
from karpy.errors import InvalidObject
from karpy.objects.kinds import PROVISIONER, Kind
from karpy.requirements import Requirements
from karpy.resources import Resources
from karpy.taints import Taint
from karpy_aws.bootstrap import NodeBootstrap, user_data
from karpy_aws.bootstrap.al2 import container_runtime
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE

NODE = NodeBootstrap(cluster=ClusterFacts(name="shop", endpoint="https://shop.example.com"))
CALL = "/etc/eks/bootstrap.sh 'shop' --apiserver-endpoint 'https://shop.example.com'"


def options(node: NodeBootstrap) -> list[str]:
    """The options of the bootstrap script, one a line."""
    text = user_data("AL2", node).partition("/etc/eks/bootstrap.sh")[2]
    return [
        line.removesuffix(" \\")
        for line in text.split("\n")[1:]
        if line.startswith("--") and not line.startswith("--/")
    ]


@pytest.mark.aws("AWS-167", "AWS-183")
def test_the_first_dns_address_says_which_family_addresses_are_of() -> None:
    assert options(attrs.evolve(NODE, kubelet={"clusterDNS": ["10.0.0.10", "fd00::a"]})) == [
        "--dns-cluster-ip '10.0.0.10'"
    ]
    assert options(attrs.evolve(NODE, kubelet={"clusterDNS": ["fd00::a"]})) == [
        "--ip-family ipv6",
        "--dns-cluster-ip 'fd00::a'",
    ]


@pytest.mark.aws("AWS-167")
def test_maps_are_sorted_so_that_templates_do_not_change_by_themselves() -> None:
    node = attrs.evolve(
        NODE,
        labels={"b": "2", "a": "1"},
        taints=(Taint("t", "v", "NoSchedule"), Taint("s", None, "NoExecute")),
        kubelet={
            "systemReserved": {"memory": "1Gi", "cpu": "1"},
            "evictionHard": {"nodefs.available": "5%", "memory.available": "1Gi"},
            "evictionSoftGracePeriod": {"memory.available": "90s"},
            "cpuCFSQuota": False,
            "shutdownGracePeriod": "30s",
        },
    )
    assert options(node) == [
        (
            '--kubelet-extra-args \'--node-labels="a=1,b=2" --register-with-taints="t=v:NoSchedule,s:NoExecute" '
            '--system-reserved="cpu=1,memory=1Gi" --eviction-hard="memory.available<1Gi,nodefs.available<5%" '
            '--eviction-soft-grace-period="memory.available=1m30s" --cpu-cfs-quota=false\''
        )
    ]


@pytest.mark.aws("AWS-185")
@pytest.mark.parametrize("origin", [EC2_NODE_CLASS, AWS_NODE_TEMPLATE, PROVISIONER])
def test_a_number_of_pods_is_told_to_the_script_too(origin: Kind) -> None:
    node = attrs.evolve(NODE, kubelet={"maxPods": 110}, origin=origin)
    assert options(node) == ["--use-max-pods false", "--kubelet-extra-args '--max-pods=110'"]


@pytest.mark.aws("AWS-169")
def test_local_disks_are_joined_last() -> None:
    assert options(attrs.evolve(NODE, instance_store_policy="RAID0")) == ["--local-disks raid0"]


@pytest.mark.aws("AWS-170")
def test_a_script_goes_before_karpys() -> None:
    text = user_data("AL2", attrs.evolve(NODE, user_data="#!/bin/sh\necho mine\n"))
    assert text.index("echo mine") < text.index(CALL)


@pytest.mark.aws("AWS-170")
def test_a_node_templates_user_data_must_be_an_archive() -> None:
    with pytest.raises(InvalidObject, match=r"spec\.userData: it is no archive \(accepted: a MIME multipart archive"):
        user_data("AL2", attrs.evolve(NODE, user_data="#!/bin/sh\n", origin=AWS_NODE_TEMPLATE))


def test_an_inline_provider_has_the_script_alone() -> None:
    text = user_data("AL2", attrs.evolve(NODE, origin=PROVISIONER))
    assert text.startswith("#!/bin/bash -xe\n")
    assert text.endswith(f"{CALL} \n")


def machine(**capacity: int) -> InstanceType:
    return InstanceType(
        "m5.large", Requirements(), (), Resources({name.replace("_", "/"): n for name, n in capacity.items()})
    )


@pytest.mark.aws("AWS-186", "AWS-247")
@pytest.mark.parametrize(
    ("origin", "family", "asked", "capacity", "runtime"),
    [
        (EC2_NODE_CLASS, "AL2", "", {}, ""),
        (AWS_NODE_TEMPLATE, "AL2", "", {}, "containerd"),
        (AWS_NODE_TEMPLATE, "AL2", "dockerd", {}, "dockerd"),
        (AWS_NODE_TEMPLATE, "Ubuntu", "", {}, ""),
        (PROVISIONER, "AL2", "", {}, "containerd"),
        (PROVISIONER, "AL2", "", {"nvidia.com_gpu": 1}, ""),
        (PROVISIONER, "AL2", "", {"aws.amazon.com_neuron": 1}, ""),
    ],
)
def test_older_generations_name_the_container_runtime(
    origin: Kind, family: str, asked: str, capacity: dict[str, int], runtime: str
) -> None:
    assert container_runtime(origin, family, asked, [machine(), machine(**capacity)]) == runtime
    node = attrs.evolve(NODE, origin=origin, container_runtime=runtime)
    assert options(node) == ([f"--container-runtime {runtime}"] if runtime else [])
