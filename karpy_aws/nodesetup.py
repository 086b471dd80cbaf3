"""`NodeSetup`: all of a node class and of the settings that the instance types of a pool depend on, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from karpy_aws.capacity import VM_MEMORY_OVERHEAD_PERCENT, storage_bytes
from karpy_aws.families import FAMILIES, ImageFamily
from karpy_aws.kubeletnumbers import KubeletNumbers, KubeletSource, kubelet_source
from karpy_aws.objects.nodeclass import NetworkInterface, NodeClass
from karpy_aws.objects.status import CapacityReservation, PlacementGroup, Subnet

__all__ = ["NodeSetup"]

_RAID0: Final = "RAID0"
_ENABLED: Final = "enabled"


@attrs.frozen(kw_only=True)
class NodeSetup:
    """Equal ones give equal instance types, so that they are the key under which these are remembered."""

    family: ImageFamily = FAMILIES["AL2023"]
    kubelet: KubeletSource = KubeletNumbers()
    storage_bytes: int = FAMILIES["AL2023"].storage_bytes
    joins_local_disks: bool = False
    """Pods' files lie on the local disks, where there are any."""
    interfaces: tuple[NetworkInterface, ...] = ()
    ip_prefix_count: int = 0
    tracks_connections: bool = False
    nests_virtualization: bool = False
    subnets: tuple[Subnet, ...] = ()
    reservations: tuple[CapacityReservation, ...] = ()
    placement_group: PlacementGroup | None = None
    images: frozenset[str] = frozenset()
    """Ids of the class's images: memory that was measured on others does not count."""
    memory_overhead_percent: float = VM_MEMORY_OVERHEAD_PERCENT
    reserved_enis: int = 0
    sells_reserved: bool = True
    """Feature gate ReservedCapacity."""

    @classmethod
    def of(
        cls,
        node_class: NodeClass,
        *,
        expressions: bool = False,
        memory_overhead_percent: float = VM_MEMORY_OVERHEAD_PERCENT,
        reserved_enis: int = 0,
        sells_reserved: bool = True,
    ) -> NodeSetup:
        """What a node class comes to; ``expressions`` is the feature gate NodeClassCEL.

        Raises:
            InvalidObject: a volume that matters is not described, or an amount is none.
        """
        family, status, cpu = FAMILIES[node_class.ami_family], node_class.status, node_class.cpu_options
        return cls(
            family=family,
            kubelet=kubelet_source(node_class.kubelet, expressions=expressions),
            storage_bytes=storage_bytes(family, node_class.block_device_mappings or ()),
            joins_local_disks=node_class.instance_store_policy == _RAID0,
            interfaces=node_class.network_interfaces or (),
            ip_prefix_count=node_class.ip_prefix_count or 0,
            tracks_connections=node_class.connection_tracking is not None,
            nests_virtualization=cpu is not None and cpu.nested_virtualization == _ENABLED,
            subnets=status.subnets,
            reservations=status.capacity_reservations,
            placement_group=status.placement_group,
            images=frozenset(ami.id for ami in status.amis),
            memory_overhead_percent=memory_overhead_percent,
            reserved_enis=reserved_enis,
            sells_reserved=sells_reserved,
        )

    @property
    def zones(self) -> Mapping[str, str]:
        """Zone → its id, of all zones that nodes can be in; the id is empty where the subnet does not say it.

        Karpenter counts all subnets that do not say it as one zone, and so offers nothing in the others.
        """
        return {subnet.zone: subnet.zone_id for subnet in self.subnets}

    @property
    def efa_interfaces_on_first_card(self) -> int:
        """Interfaces of the card that pods' addresses come from, which give none."""
        return sum(each.is_efa_only and each.network_card_index == 0 for each in self.interfaces)
