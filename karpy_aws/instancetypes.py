"""EC2's description of a type, made into an `InstanceType`: labels, capacity, overhead (AWS specification, section 2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.requirements import Requirement, Requirements
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources
from karpy_aws import labels
from karpy_aws.descriptions import TypeDescription
from karpy_aws.overhead import GIB, MIB, eni_limited_pods, node_overhead, usable_memory_mib

__all__ = ["RequirementPool", "build_instance_type"]

DEFAULT_VOLUME_BYTES: Final = 20 * GIB
"""The root volume of the Amazon Linux families when the node class names none."""

EFA: Final = "vpc.amazonaws.com/efa"
NEURON: Final = "aws.amazon.com/neuron"
NEURON_CORE: Final = "aws.amazon.com/neuroncore"
_GPU_RESOURCES: Final = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Habana": "habana.ai/gaudi"}
_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
_NAME: Final = re.compile(r"(^[a-z]+)(-[0-9]+tb)?([0-9]+).*\.")
_ALWAYS_ABSENT: Final = (
    core.WINDOWS_BUILD,
    labels.CAPACITY_RESERVATION_ID,
    labels.CAPACITY_RESERVATION_TYPE,
    labels.CAPACITY_RESERVATION_INTERRUPTIBLE,
    labels.PLACEMENT_GROUP_ID,
    labels.PLACEMENT_GROUP_PARTITION,
)
"""Linux nodes outside reservations and placement groups have none of these."""


class RequirementPool:
    """Builds each requirement once, so that types of one catalog share what they have in common."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[tuple[str, tuple[str, ...]], Requirement] = {}

    def one_of(self, key: str, values: Iterable[object] = ()) -> Requirement:
        """``key In values``; with no value (or only None) the label must be absent."""
        texts = tuple(sorted(str(value) for value in values if value is not None))
        made = self._made.get((key, texts))
        if made is None:
            made = self._made[key, texts] = Requirement.in_(key, *texts) if texts else Requirement.absent(key)
        return made


def build_instance_type(
    description: TypeDescription, offerings: Sequence[Offering], *, region: str, pool: RequirementPool
) -> InstanceType:
    """The instance type as a node class with the AL2 family's defaults would get it.

    A resource that the type has none of is left out of its capacity.
    """
    pods = eni_limited_pods(description)
    counts = {
        CPU: description.vcpus * 1_000,
        MEMORY: usable_memory_mib(description) * MIB,
        PODS: pods,
        EPHEMERAL_STORAGE: DEFAULT_VOLUME_BYTES,
        **_devices(description),
    }
    return InstanceType(
        name=description.instance_type,
        requirements=_requirements(description, offerings, pods, region, pool.one_of),
        offerings=tuple(offerings),
        capacity=Resources({name: amount for name, amount in counts.items() if amount}),
        overhead=node_overhead(vcpus=description.vcpus, pods=pods, storage=DEFAULT_VOLUME_BYTES),
    )


def _devices(description: TypeDescription) -> dict[str, int]:
    counts: dict[str, int] = {EFA: description.network_info.efa_info.maximum_efa_interfaces}
    for gpu in description.gpu_info.gpus:
        name = _GPU_RESOURCES.get(gpu.manufacturer)
        if name is not None:
            counts[name] = counts.get(name, 0) + gpu.count
    devices = description.neuron_info.neuron_devices
    if devices:
        counts[NEURON] = sum(device.count for device in devices)
        counts[NEURON_CORE] = devices[0].count * devices[0].core_info.count
    return counts


_OneOf = Callable[[str, Iterable[object]], Requirement]


def _requirements(
    description: TypeDescription, offerings: Sequence[Offering], pods: int, region: str, one_of: _OneOf
) -> Requirements:
    found: dict[str, Iterable[object]] = {
        core.INSTANCE_TYPE: [description.instance_type],
        core.ARCH: [_ARCHITECTURES.get(name) for name in description.processor_info.supported_architectures],
        core.OS: ["linux"],
        core.REGION: [region],
        core.ZONE: {offering.zone for offering in offerings},
        core.CAPACITY_TYPE: {offering.capacity_type for offering in offerings},
        labels.ZONE_ID: {offering.requirements[labels.ZONE_ID].single() for offering in offerings},
        labels.INSTANCE_TENANCY: [labels.DEFAULT_TENANCY, labels.DEDICATED_TENANCY],
        labels.INSTANCE_PODS: [pods],
        **dict.fromkeys(_ALWAYS_ABSENT, ()),
        **_name_labels(description.instance_type),
        **_hardware_labels(description),
        **_gpu_labels(description),
        **_accelerator_labels(description),
    }
    return Requirements(one_of(key, values) for key, values in found.items())


def _name_labels(name: str) -> dict[str, Iterable[object]]:
    family, _, size = name.partition(".")
    parts = _NAME.match(name)
    return {
        labels.INSTANCE_FAMILY: [family],
        labels.INSTANCE_SIZE: [size],
        labels.INSTANCE_CATEGORY: [parts[1] if parts else None],
        labels.INSTANCE_GENERATION: [parts[3] if parts else None],
        labels.INSTANCE_CAPABILITY_FLEX: [_truth("-flex" in family)],
    }


def _hardware_labels(description: TypeDescription) -> dict[str, Iterable[object]]:
    processor, network, ebs = description.processor_info, description.network_info, description.ebs_info
    storage, clock = description.instance_storage_info, processor.sustained_clock_speed_in_ghz
    has_nvme = storage.nvme_support != "unsupported"
    ebs_bandwidth = ebs.ebs_optimized_info.maximum_bandwidth_in_mbps
    bandwidth = round(sum(card.baseline_bandwidth_in_gbps or 0 for card in network.network_cards) * 1_000)
    return {
        labels.INSTANCE_CPU: [description.vcpus],
        labels.INSTANCE_CPU_MANUFACTURER: [_kebab(processor.manufacturer) or None],
        labels.INSTANCE_CPU_CLOCK_SPEED: [None if clock is None else round(clock * 1_000)],
        labels.INSTANCE_MEMORY: [description.memory_info.size_mib],
        labels.INSTANCE_HYPERVISOR: [description.hypervisor],
        labels.INSTANCE_ENCRYPTION_IN_TRANSIT: [_truth(network.encryption_in_transit_supported)],
        labels.INSTANCE_LOCAL_NVME: [storage.total_size_gb if has_nvme else None],
        labels.INSTANCE_EBS_BANDWIDTH: [ebs_bandwidth if ebs.ebs_optimized_support == "default" else None],
        labels.INSTANCE_NETWORK_BANDWIDTH: [bandwidth or None],
        labels.NITRO_SANDBOX: [_truth(description.nitro_enclaves_support == "supported")],
    }


def _gpu_labels(description: TypeDescription) -> dict[str, Iterable[object]]:
    """Labels of the one kind of GPU that there is; a mixture cannot be named."""
    gpus = description.gpu_info.gpus
    gpu = gpus[0] if len(gpus) == 1 else None
    return {
        labels.INSTANCE_GPU_NAME: [gpu and _kebab(gpu.name)],
        labels.INSTANCE_GPU_MANUFACTURER: [gpu and _kebab(gpu.manufacturer)],
        labels.INSTANCE_GPU_COUNT: [gpu and gpu.count],
        labels.INSTANCE_GPU_MEMORY: [gpu and gpu.memory_info.size_mib],
    }


def _accelerator_labels(description: TypeDescription) -> dict[str, Iterable[object]]:
    """Neuron devices before the older list of inference accelerators, which names some of them again."""
    neuron, older = description.neuron_info.neuron_devices, description.inference_accelerator_info.accelerators
    name = manufacturer = count = None
    if len(neuron) == 1:
        name, manufacturer, count = neuron[0].name, "aws", neuron[0].count
    elif not neuron and len(older) == 1:
        name, manufacturer, count = older[0].name, older[0].manufacturer, older[0].count
    return {
        labels.INSTANCE_ACCELERATOR_NAME: [name and _kebab(name)],
        labels.INSTANCE_ACCELERATOR_MANUFACTURER: [manufacturer and _kebab(manufacturer)],
        labels.INSTANCE_ACCELERATOR_COUNT: [count],
    }


def _kebab(text: str) -> str:
    return text.lower().replace(" ", "-")


def _truth(value: bool) -> str:
    return "true" if value else "false"
