from __future__ import annotations

from typing import Any

import pytest

from karpy.cloud.instancetype import InstanceType
from karpy.errors import InvalidObject
from karpy.requirements import Requirements
from karpy.resources import Resources
from karpy_aws.descriptions import Memory, Network, NetworkCard, TypeDescription, VCpu
from karpy_aws.kubeletconfigs import kubelet_configs
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects import Kubelet, NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS

LARGE = TypeDescription(
    "m5.large",
    vcpu_info=VCpu(2),
    memory_info=Memory(8192),
    network_info=Network(ipv4_addresses_per_interface=10, network_cards=(NetworkCard(0, 3),)),
)
ROOM = 29


def config(block: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """What the kubelet of an m5.large is told."""
    kubelet = None if block is None else Kubelet.from_dict(block)
    node_class = NodeClass(name="web", origin=EC2_NODE_CLASS, ami_family="AL2", kubelet=kubelet)
    setup = NodeSetup.of(node_class, expressions=options.get("expressions", False))
    built = InstanceType("m5.large", Requirements(), (), Resources({"pods": ROOM}))
    return dict(kubelet_configs(node_class, setup, {"m5.large": LARGE}, dns_ip="10.0.0.10", **options)(built))


@pytest.mark.aws("AWS-168")
def test_the_kubelet_is_told_how_many_pods_the_scheduler_counts_on() -> None:
    assert config() == {"clusterDNS": ["10.0.0.10"], "maxPods": ROOM}
    assert config({"maxPods": 5})["maxPods"] == 5


@pytest.mark.aws("AWS-185")
def test_older_generations_leave_the_number_of_pods_to_the_image_unless_the_user_names_one() -> None:
    assert config(tells_pods=False) == {"clusterDNS": ["10.0.0.10"]}
    assert config({"maxPods": 5}, tells_pods=False)["maxPods"] == 5


@pytest.mark.aws("AWS-168")
def test_expressions_are_worked_out_for_the_type() -> None:
    block = {"maxPods": "max_pods - 9", "kubeReserved": {"cpu": "vcpus * 30", "memory": "max_pods * 16"}}
    found = config(block, expressions=True)
    assert found["maxPods"] == ROOM - 9
    assert found["kubeReserved"] == {"cpu": "60m", "memory": "320Mi"}


@pytest.mark.aws("AWS-057")
def test_expressions_that_have_no_value_are_not_told() -> None:
    block = {"maxPods": "max_pods - 9", "kubeReserved": {"cpu": "vcpus * 30", "memory": "1Gi"}}
    assert config(block) == {"clusterDNS": ["10.0.0.10"], "maxPods": ROOM, "kubeReserved": {"memory": "1Gi"}}
    with pytest.raises(InvalidObject, match=r"spec\.kubelet\.maxPods"):
        config({"maxPods": "vcpus - 9"}, expressions=True)
