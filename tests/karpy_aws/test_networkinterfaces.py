from __future__ import annotations

from typing import Any

import pytest

from karpy_aws.networkinterfaces import network_interfaces
from karpy_aws.objects import NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodeclass import ConnectionTracking, NetworkInterface
from karpy_aws.objects.status import NodeClassStatusFields, SecurityGroup


def interfaces(efa: int = 0, ipv6: bool = False, **fields: Any) -> list[dict[str, Any]]:
    """Without their security groups, which all have."""
    status = NodeClassStatusFields(security_groups=(SecurityGroup("sg-1"),))
    node_class = NodeClass(name="web", origin=EC2_NODE_CLASS, status=status, **fields)
    found = network_interfaces(node_class, efa_interfaces=efa, is_ipv6=ipv6)
    assert all(each.pop("Groups") == ["sg-1"] for each in found)
    return found


LISTED = (NetworkInterface(), NetworkInterface(device_index=1, interface_type="efa-only"))


@pytest.mark.aws("AWS-172", "AWS-173")
def test_every_machine_has_one_interface_unless_more_is_said() -> None:
    assert interfaces() == [{"DeviceIndex": 0}]
    assert interfaces(associate_public_ip_address=False, ip_prefix_count=0) == [
        {"DeviceIndex": 0, "AssociatePublicIpAddress": False, "Ipv4PrefixCount": 0}
    ]


@pytest.mark.aws("AWS-172")
def test_efa_devices_that_pods_ask_for_sit_one_on_each_card() -> None:
    assert interfaces(efa=3, associate_public_ip_address=True) == [
        {"NetworkCardIndex": card, "DeviceIndex": device, "InterfaceType": "efa", "AssociatePublicIpAddress": True}
        for card, device in ((0, 0), (1, 1), (2, 1))
    ]


@pytest.mark.aws("AWS-176")
def test_a_class_that_lists_interfaces_has_those_whatever_pods_ask_for() -> None:
    assert interfaces(efa=4, network_interfaces=LISTED) == interfaces(network_interfaces=LISTED)


@pytest.mark.aws("AWS-173", "AWS-174", "AWS-175", "AWS-176")
def test_interfaces_without_ip_traffic_have_no_addresses() -> None:
    tracking = ConnectionTracking(udp_timeout=45)
    found = interfaces(ipv6=True, network_interfaces=LISTED, ip_prefix_count=2, connection_tracking=tracking)
    assert found == [
        {
            "NetworkCardIndex": 0,
            "DeviceIndex": 0,
            "InterfaceType": "interface",
            "ConnectionTrackingSpecification": {"UdpTimeout": 45},
            "Ipv6PrefixCount": 2,
            "PrimaryIpv6": True,
            "Ipv6AddressCount": 1,
        },
        {"NetworkCardIndex": 0, "DeviceIndex": 1, "InterfaceType": "efa-only"},
    ]


def test_a_tracking_block_that_says_nothing_is_not_sent() -> None:
    assert interfaces(connection_tracking=ConnectionTracking()) == [{"DeviceIndex": 0}]
