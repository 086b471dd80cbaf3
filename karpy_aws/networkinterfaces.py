"""The network interfaces of a launch template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from karpy_aws.objects.nodeclass import NodeClass

__all__ = ["network_interfaces"]


def network_interfaces(node_class: NodeClass, *, efa_interfaces: int, is_ipv6: bool) -> list[dict[str, Any]]:
    """As the class lists them; else one EFA for each card that pods asked for; else the one that every machine has.

    What gives pods and the outside world addresses is left off interfaces that carry no IP traffic.
    """
    groups = [group.id for group in node_class.status.security_groups]
    addressing = _addressing(node_class, is_ipv6=is_ipv6)
    return [
        {**place, "Groups": list(groups), **(addressing if carries_ip else {})}
        for place, carries_ip in _places(node_class, efa_interfaces)
    ]


def _places(node_class: NodeClass, efa_interfaces: int) -> Iterator[tuple[dict[str, Any], bool]]:
    """Where each interface sits, and whether it carries IP traffic."""
    if node_class.network_interfaces:
        for each in node_class.network_interfaces:
            place = {"NetworkCardIndex": each.network_card_index, "DeviceIndex": each.device_index}
            yield {**place, "InterfaceType": each.interface_type}, not each.is_efa_only
    elif efa_interfaces:
        for card in range(efa_interfaces):
            yield {"NetworkCardIndex": card, "DeviceIndex": min(card, 1), "InterfaceType": "efa"}, True
    else:
        yield {"DeviceIndex": 0}, True


def _addressing(node_class: NodeClass, *, is_ipv6: bool) -> dict[str, Any]:
    said: dict[str, Any] = {
        "AssociatePublicIpAddress": node_class.associate_public_ip_address,
        "ConnectionTrackingSpecification": _tracking(node_class),
        "Ipv6PrefixCount" if is_ipv6 else "Ipv4PrefixCount": node_class.ip_prefix_count,
    }
    if is_ipv6:
        said |= {"PrimaryIpv6": True, "Ipv6AddressCount": 1}
    return {name: value for name, value in said.items() if value is not None}


def _tracking(node_class: NodeClass) -> dict[str, int] | None:
    tracking = node_class.connection_tracking
    if tracking is None:
        return None
    said = {
        "TcpEstablishedTimeout": tracking.tcp_established_timeout,
        "UdpStreamTimeout": tracking.udp_stream_timeout,
        "UdpTimeout": tracking.udp_timeout,
    }
    return {name: value for name, value in said.items() if value is not None} or None
