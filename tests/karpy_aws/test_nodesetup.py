"""What of a node class and of the settings instance types depend on."""

from __future__ import annotations

from typing import Any

import pytest

from karpy_aws.families import FAMILIES
from karpy_aws.kubeletnumbers import KubeletNumbers
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects import NodeClass
from karpy_aws.objects.ec2nodeclass import decode_ec2_node_class
from karpy_aws.objects.nodeclass import NetworkInterface

GIB = 2**30


def node_class(*, status: dict[str, Any] | None = None, **spec: Any) -> NodeClass:
    usual = {"role": "nodes", "amiSelectorTerms": [{"alias": "al2023@latest"}]}
    return decode_ec2_node_class({"metadata": {"name": "default"}, "spec": usual | spec, "status": status or {}})


def setup(**spec: Any) -> NodeSetup:
    return NodeSetup.of(node_class(**spec))


@pytest.mark.parametrize("family", ["al2", "al2023", "bottlerocket", "windows2019", "windows2022", "windows2025"])
def test_the_family_is_that_of_the_alias(family: str) -> None:
    assert setup(amiSelectorTerms=[{"alias": f"{family}@latest"}]).family.name.lower() == family


def test_a_plain_class_asks_for_nothing_special() -> None:
    assert setup() == NodeSetup(family=FAMILIES["AL2023"])


def test_what_a_class_asks_for_is_taken_over() -> None:
    found = setup(
        kubelet={"maxPods": 9},
        blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "70Gi"}}],
        instanceStorePolicy="RAID0",
        networkInterfaces=[{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}],
        ipPrefixCount=2,
        connectionTracking={"udpTimeout": 40},
        cpuOptions={"nestedVirtualization": "enabled"},
    )
    assert found == NodeSetup(
        kubelet=KubeletNumbers(max_pods=9),
        storage_bytes=70 * GIB,
        joins_local_disks=True,
        interfaces=(NetworkInterface(),),
        ip_prefix_count=2,
        tracks_connections=True,
        nests_virtualization=True,
    )


def test_nested_virtualization_that_is_switched_off_asks_for_nothing() -> None:
    assert setup(cpuOptions={"nestedVirtualization": "disabled"}) == setup()


def test_what_was_found_in_the_account_is_taken_over() -> None:
    status = {
        "subnets": [{"id": "subnet-1", "zone": "us-west-2a", "zoneID": "usw2-az1"}],
        "amis": [{"id": "ami-1"}, {"id": "ami-2"}],
    }
    found = NodeSetup.of(node_class(status=status))
    assert found.zones == {"us-west-2a": "usw2-az1"}
    assert found.images == {"ami-1", "ami-2"}


@pytest.mark.parametrize(
    "ignored", [{"tags": {"a": "b"}}, {"userData": "x"}, {"role": "others"}, {"detailedMonitoring": True}]
)
def test_what_no_type_depends_on_makes_no_difference(ignored: dict[str, Any]) -> None:
    assert setup(**ignored) == setup()
    assert hash(setup(**ignored)) == hash(setup())
