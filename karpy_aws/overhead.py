"""How much of a machine is there for pods: memory lost to the hypervisor, pods by network addresses, what the node keeps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from karpy.cloud.instancetype import Overhead
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, Resources
from karpy_aws.descriptions import TypeDescription

__all__ = ["eni_limited_pods", "node_overhead", "usable_memory_mib"]

MIB: Final = 2**20
GIB: Final = 2**30

VM_MEMORY_OVERHEAD_PERCENT: Final = 0.075
_ARM_CONTIGUOUS_MEMORY_MIB: Final = 64
_EVICTION_MEMORY: Final = 100 * MIB
_EVICTION_STORAGE_SHARE: Final = 10  # one part in ten
_PODS_WITHOUT_ADDRESSES: Final = 2  # aws-node and kube-proxy run on the host's network
_CPU_BANDS: Final = ((1_000, 0.06), (1_000, 0.01), (2_000, 0.005), (math.inf, 0.0025))
"""Width in milli-cores and the share of it that the kubelet keeps, from the first core on."""


def usable_memory_mib(description: TypeDescription, overhead_percent: float = VM_MEMORY_OVERHEAD_PERCENT) -> int:
    """The memory that the node will report, estimated from what EC2 lists.

    >>> from karpy_aws.descriptions import Memory
    >>> usable_memory_mib(TypeDescription("m5.large", memory_info=Memory(8192)))
    7577
    """
    size = description.memory_info.size_mib - (_ARM_CONTIGUOUS_MEMORY_MIB if description.is_arm else 0)
    return size - math.ceil(size * overhead_percent)


def eni_limited_pods(description: TypeDescription, reserved_enis: int = 0) -> int:
    """How many pods the interfaces of the default network card have addresses for; 0 when no interface is left."""
    network = description.network_info
    interfaces = next(
        (
            card.maximum_network_interfaces
            for card in network.network_cards
            if card.network_card_index == network.default_network_card_index
        ),
        0,
    )
    usable = max(interfaces - reserved_enis, 0)
    if not usable:
        return 0
    return usable * (network.ipv4_addresses_per_interface - 1) + _PODS_WITHOUT_ADDRESSES


def node_overhead(
    *,
    vcpus: int,
    pods: int,
    storage: int,
    kube_reserved: Mapping[str, int] | None = None,
    system_reserved: Mapping[str, int] | None = None,
) -> Overhead:
    """What kubelet, system and eviction threshold keep, by the rules of the Amazon Linux images.

    ``storage`` is the node's ephemeral storage in bytes; the two maps replace defaults resource by resource.
    """
    kube = {
        CPU: _reserved_cpu(vcpus),
        MEMORY: (11 * pods + 255) * MIB,
        EPHEMERAL_STORAGE: GIB,
        **(kube_reserved or {}),
    }
    eviction = {MEMORY: _EVICTION_MEMORY, EPHEMERAL_STORAGE: -(-storage // _EVICTION_STORAGE_SHARE)}
    return Overhead(Resources(kube), Resources(system_reserved or {}), Resources(eviction))


def _reserved_cpu(vcpus: int) -> int:
    """Milli-cores: a falling share of each band of cores, whole milli-cores per band."""
    left, reserved = vcpus * 1_000.0, 0
    for width, share in _CPU_BANDS:
        reserved += int(min(left, width) * share)
        left -= min(left, width)
    return reserved
