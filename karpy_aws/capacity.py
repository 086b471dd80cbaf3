"""What a machine brings: processors, memory less what the hypervisor takes, pods by network addresses, disk, devices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from karpy.errors import InvalidObject
from karpy.quantity import parse_units
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources
from karpy_aws.descriptions import TypeDescription
from karpy_aws.families import ImageFamily
from karpy_aws.kubeletnumbers import KubeletNumbers
from karpy_aws.objects.nodeclass import BlockDeviceMapping, NetworkInterface
from karpy_aws.overhead import MIB

__all__ = ["EFA", "capacity", "eni_limited_pods", "pod_limit", "storage_bytes", "usable_memory_mib", "usual_pods"]

EFA: Final = "vpc.amazonaws.com/efa"
NEURON: Final = "aws.amazon.com/neuron"
NEURON_CORE: Final = "aws.amazon.com/neuroncore"
_GPU_RESOURCES: Final = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Habana": "habana.ai/gaudi"}

VM_MEMORY_OVERHEAD_PERCENT: Final = 0.075
_ARM_CONTIGUOUS_MEMORY_MIB: Final = 64
_PODS_WITHOUT_ADDRESSES: Final = 2  # aws-node and kube-proxy run on the host's network
_PODS_WITHOUT_LIMIT: Final = 110
"""The kubelet's own default, for families whose pods do not take addresses of interfaces."""


def capacity(
    description: TypeDescription,
    *,
    pods: int,
    storage: int,
    memory: int,
    interfaces: Sequence[NetworkInterface] = (),
) -> Resources:
    """All that the node will report. A resource that there is none of is left out."""
    counts = {
        CPU: description.vcpus * 1_000,
        MEMORY: memory,
        PODS: pods,
        EPHEMERAL_STORAGE: storage,
        **_devices(description, interfaces),
    }
    return Resources({name: amount for name, amount in counts.items() if amount})


def _devices(description: TypeDescription, interfaces: Sequence[NetworkInterface]) -> dict[str, int]:
    """A class that says which interfaces there are has as many EFA devices as it says, and no more."""
    efa = description.network_info.efa_info.maximum_efa_interfaces
    counts = {EFA: sum(each.is_efa_only for each in interfaces) if interfaces else efa}
    for gpu in description.gpu_info.gpus:
        name = _GPU_RESOURCES.get(gpu.manufacturer)
        if name is not None:
            counts[name] = counts.get(name, 0) + gpu.count
    devices = description.neuron_info.neuron_devices
    if devices:
        counts[NEURON] = sum(device.count for device in devices)
        counts[NEURON_CORE] = devices[0].count * devices[0].core_info.count
    return counts


# Memory


def usable_memory_mib(description: TypeDescription, overhead_percent: float = VM_MEMORY_OVERHEAD_PERCENT) -> int:
    """The memory that the node will report, estimated from what EC2 lists.

    >>> from karpy_aws.descriptions import Memory
    >>> usable_memory_mib(TypeDescription("m5.large", memory_info=Memory(8192)))
    7577
    """
    size = description.memory_info.size_mib - (_ARM_CONTIGUOUS_MEMORY_MIB if description.is_arm else 0)
    return size - math.ceil(size * overhead_percent)


def memory_bytes(description: TypeDescription, overhead_percent: float, measured: int | None) -> int:
    """What nodes of the type were ``measured`` to have; the estimate while there has been none."""
    return usable_memory_mib(description, overhead_percent) * MIB if measured is None else measured


# Pods


def eni_limited_pods(description: TypeDescription, unusable_interfaces: int = 0) -> int:
    """How many pods the interfaces of the default network card have addresses for; 0 when no interface is left."""
    network = description.network_info
    card = network.card(network.default_network_card_index)
    usable = max((card.maximum_network_interfaces if card else 0) - unusable_interfaces, 0)
    if not usable:
        return 0
    return usable * (network.ipv4_addresses_per_interface - 1) + _PODS_WITHOUT_ADDRESSES


def usual_pods(description: TypeDescription, family: ImageFamily, unusable_interfaces: int = 0) -> int:
    """How many pods the kubelet admits if nobody says: as many as there are addresses for, where pods take these."""
    return eni_limited_pods(description, unusable_interfaces) if family.pods_by_addresses else _PODS_WITHOUT_LIMIT


def pod_limit(description: TypeDescription, family: ImageFamily, kubelet: KubeletNumbers, usual: int) -> int:
    """How many pods the kubelet will admit: as the user says, else the ``usual`` number."""
    most = usual if kubelet.max_pods is None else kubelet.max_pods
    if kubelet.pods_per_core > 0 and family.takes_pods_per_core:
        return min(most, kubelet.pods_per_core * description.vcpus)
    return most


# Disk


def storage_bytes(family: ImageFamily, devices: Sequence[BlockDeviceMapping]) -> int:
    """Size of the volume that pods' files lie on, where they do not lie on local disks.

    Raises:
        InvalidObject: the mapping that decides has no name or no volume.
    """
    known = next((_volume_bytes(index, each) for index, each in enumerate(devices) if each.root_volume), None)
    if known is None and family.storage_device:
        named = ((index, each) for index, each in enumerate(devices) if _name(index, each) == family.storage_device)
        known = next((_volume_bytes(index, each) for index, each in named), None)
    elif known is None and devices:
        known = _volume_bytes(len(devices) - 1, devices[-1])  # the image alone knows; the last one is a fair guess
    return family.storage_bytes if known is None else known


def local_storage_bytes(description: TypeDescription) -> int:
    """The local disks made into one; 0 where there are none."""
    return (description.instance_storage_info.total_size_gb or 0) * 10**9


def _name(index: int, device: BlockDeviceMapping) -> str:
    if not device.device_name:
        path = f"spec.blockDeviceMappings[{index}].deviceName"
        raise InvalidObject("no device is named", path=path, accepted="a name such as /dev/xvda")
    return device.device_name


def _volume_bytes(index: int, device: BlockDeviceMapping) -> int | None:
    """The size that is asked for; None when it is left to the snapshot."""
    if device.ebs is None:
        path = f"spec.blockDeviceMappings[{index}].ebs"
        raise InvalidObject("the volume is not described", path=path, accepted="an object")
    return None if device.ebs.volume_size is None else parse_units(device.ebs.volume_size)
