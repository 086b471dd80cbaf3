"""Which instance types a node class can be launched on at all. The others stay listed, with nothing of them to be had."""

from __future__ import annotations

from typing import Final

from karpy_aws.descriptions import Network, TypeDescription
from karpy_aws.nodesetup import NodeSetup

__all__ = ["incompatibility"]

_NITRO: Final = "nitro"
_NESTED: Final = "nested-virtualization"
_NO_ENA: Final = "unsupported"


def incompatibility(description: TypeDescription, setup: NodeSetup) -> str:
    """Why EC2 would refuse to launch the type with this setup; empty when it would not."""
    name, group = description.instance_type, setup.placement_group
    if setup.family.refused_prefix and name.startswith(setup.family.refused_prefix):
        return f"images of family {setup.family.name} do not run on it"
    if setup.tracks_connections and description.hypervisor != _NITRO:
        return "connection tracking needs the Nitro hypervisor"
    if setup.nests_virtualization and _NESTED not in description.processor_info.supported_features:
        return "it has no nested virtualization"
    if group is not None and group.strategy not in description.placement_group_info.supported_strategies:
        return f"it cannot be in a placement group of strategy {group.strategy}"
    return _wrong_interfaces(description.network_info, setup)


def _wrong_interfaces(network: Network, setup: NodeSetup) -> str:
    if setup.ip_prefix_count and setup.ip_prefix_count + 1 > network.ipv4_addresses_per_interface:
        return f"an interface has no room for {setup.ip_prefix_count} address prefixes"
    if not setup.interfaces:
        return ""
    if network.ena_support == _NO_ENA:
        return "it has no elastic network adapter"
    for interface in setup.interfaces:
        card = network.card(interface.network_card_index)
        if card is None:
            return f"it has no network card {interface.network_card_index}"
        if interface.device_index >= card.maximum_network_interfaces:
            return f"network card {card.network_card_index} takes {card.maximum_network_interfaces} interfaces"
    if sum(each.is_efa_only for each in setup.interfaces) > network.efa_info.maximum_efa_interfaces:
        return f"it takes {network.efa_info.maximum_efa_interfaces} EFA interfaces"
    return ""
