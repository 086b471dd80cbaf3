"""What EC2 says of an instance type: the part of DescribeInstanceTypes that karpy reads, in EC2's own shape.

The shipped catalog holds the same shape, so that one reader serves both the data file and the API.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
import msgspec

from karpy.errors import InvalidObject
from karpy.objects.meta import decode

__all__ = [
    "TYPES_REQUEST",
    "ZONES_REQUEST",
    "Described",
    "TypeDescription",
    "read_description",
    "read_descriptions",
    "read_zones",
]

TYPES_REQUEST: Final[Mapping[str, Any]] = {
    "Filters": [
        {"Name": "supported-virtualization-type", "Values": ["hvm"]},
        {"Name": "processor-info.supported-architecture", "Values": ["x86_64", "arm64"]},
    ],
    "MaxResults": 100,
}
"""What DescribeInstanceTypes is asked for; its answer comes in pages."""

ZONES_REQUEST: Final[Mapping[str, Any]] = {"LocationType": "availability-zone", "MaxResults": 1_000}
"""What DescribeInstanceTypeOfferings is asked for."""


class _Said(msgspec.Struct, frozen=True, gc=False, rename="pascal", omit_defaults=True):
    """Base of the values below; EC2 writes its field names in PascalCase."""


class Memory(_Said, frozen=True):
    size_mib: int = msgspec.field(name="SizeInMiB", default=0)


class Processor(_Said, frozen=True):
    supported_architectures: tuple[str, ...] = ()
    manufacturer: str = ""
    sustained_clock_speed_in_ghz: float | None = None
    supported_features: tuple[str, ...] = ()


class VCpu(_Said, frozen=True):
    default_vcpus: int = msgspec.field(name="DefaultVCpus", default=0)


class NetworkCard(_Said, frozen=True):
    network_card_index: int = 0
    maximum_network_interfaces: int = 0
    baseline_bandwidth_in_gbps: float | None = None


class Efa(_Said, frozen=True):
    maximum_efa_interfaces: int = 0


class Network(_Said, frozen=True):
    default_network_card_index: int = 0
    ipv4_addresses_per_interface: int = 0
    encryption_in_transit_supported: bool = False
    ena_support: str = "unsupported"
    efa_info: Efa = Efa()
    network_cards: tuple[NetworkCard, ...] = ()

    def card(self, index: int) -> NetworkCard | None:
        """The network card with this index."""
        return next((card for card in self.network_cards if card.network_card_index == index), None)


class PlacementGroups(_Said, frozen=True):
    supported_strategies: tuple[str, ...] = ()


class Gpu(_Said, frozen=True):
    name: str = ""
    manufacturer: str = ""
    count: int = 0
    memory_info: Memory = Memory()


class Gpus(_Said, frozen=True):
    gpus: tuple[Gpu, ...] = ()


class InferenceAccelerator(_Said, frozen=True):
    name: str = ""
    manufacturer: str = ""
    count: int = 0


class InferenceAccelerators(_Said, frozen=True):
    accelerators: tuple[InferenceAccelerator, ...] = ()


class NeuronCores(_Said, frozen=True):
    count: int = 0


class NeuronDevice(_Said, frozen=True):
    name: str = ""
    count: int = 0
    core_info: NeuronCores = NeuronCores()


class Neuron(_Said, frozen=True):
    neuron_devices: tuple[NeuronDevice, ...] = ()


class InstanceStorage(_Said, frozen=True):
    total_size_gb: int | None = msgspec.field(name="TotalSizeInGB", default=None)
    nvme_support: str = "unsupported"


class EbsOptimized(_Said, frozen=True):
    maximum_bandwidth_in_mbps: int | None = None


class Ebs(_Said, frozen=True):
    ebs_optimized_support: str = "unsupported"
    ebs_optimized_info: EbsOptimized = EbsOptimized()


class TypeDescription(_Said, frozen=True):
    """One entry of DescribeInstanceTypes, as far as karpy reads it."""

    instance_type: str
    bare_metal: bool = False
    hypervisor: str = ""
    supported_usage_classes: tuple[str, ...] = ()
    nitro_enclaves_support: str = "unsupported"
    vcpu_info: VCpu = msgspec.field(name="VCpuInfo", default=VCpu())
    memory_info: Memory = Memory()
    processor_info: Processor = Processor()
    network_info: Network = Network()
    gpu_info: Gpus = Gpus()
    inference_accelerator_info: InferenceAccelerators = InferenceAccelerators()
    neuron_info: Neuron = Neuron()
    instance_storage_info: InstanceStorage = InstanceStorage()
    ebs_info: Ebs = Ebs()
    placement_group_info: PlacementGroups = PlacementGroups()

    @property
    def vcpus(self) -> int:
        return self.vcpu_info.default_vcpus

    @property
    def is_arm(self) -> bool:
        """Whether the first architecture that it names is ARM: the one that images are chosen for."""
        return self.processor_info.supported_architectures[:1] == ("arm64",)


def read_description(entry: Mapping[str, Any]) -> TypeDescription:
    """Read one entry of a DescribeInstanceTypes answer.

    Raises:
        InvalidObject: naming the field.
    """
    return decode(entry, TypeDescription)


@attrs.frozen
class Described:
    """The types that could be read, sorted by name, and what was wrong with the others."""

    types: tuple[TypeDescription, ...] = ()
    problems: tuple[InvalidObject, ...] = ()


def read_descriptions(pages: Iterable[Mapping[str, Any]]) -> Described:
    """Read all pages of a DescribeInstanceTypes answer. A page is not held on to after the next one is asked for."""
    types: dict[str, TypeDescription] = {}
    problems: list[InvalidObject] = []
    for page in pages:
        for entry in page.get("InstanceTypes", ()):
            try:
                read = read_description(entry)
            except InvalidObject as error:
                problems.append(error.at(object_name=f"instance type {entry.get('InstanceType', '?')}"))
            else:
                types[read.instance_type] = read
    return Described(tuple(types[name] for name in sorted(types)), tuple(problems))


def read_zones(pages: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Instance type → the zones that have it, sorted: all pages of a DescribeInstanceTypeOfferings answer."""
    found: dict[str, set[str]] = {}
    for page in pages:
        for entry in page.get("InstanceTypeOfferings", ()):
            if entry.get("InstanceType") and entry.get("Location"):
                found.setdefault(entry["InstanceType"], set()).add(entry["Location"])
    return {name: tuple(sorted(zones)) for name, zones in found.items()}
