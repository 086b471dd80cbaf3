"""The labels of a machine, as requirements: what its description says, and where and as what the node class lets it be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from karpy import labels as core
from karpy.requirements import Requirement, Requirements
from karpy_aws import labels
from karpy_aws.descriptions import TypeDescription
from karpy_aws.families import ImageFamily
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects.status import CapacityReservation, PlacementGroup

__all__ = ["RequirementPool", "capacity_types", "partitions", "type_requirements"]

_Values = Mapping[str, Iterable[object]]

_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
_NAME: Final = re.compile(r"(^[a-z]+)(-[0-9]+tb)?([0-9]+).*\.")
_SOLD_AS: Final = (core.ON_DEMAND, core.SPOT)


class RequirementPool:
    """Builds each requirement once, so that types of one region share what they have in common, and node classes the types' own."""

    __slots__ = ("_machines", "_made")

    def __init__(self) -> None:
        self._made: dict[tuple[str, tuple[str, ...]], Requirement] = {}
        self._machines: dict[str, tuple[TypeDescription, Requirements]] = {}

    def one_of(self, key: str, values: Iterable[object] = ()) -> Requirement:
        """``key In values``; with no value (or only None) the label must be absent."""
        texts = tuple([str(value) for value in values if value is not None])
        if len(texts) > 1:
            texts = tuple(sorted(texts))
        made = self._made.get((key, texts))
        if made is None:
            made = self._made[key, texts] = Requirement.in_(key, *texts) if texts else Requirement.absent(key)
        return made

    def all_of(self, labels: _Values) -> Requirements:
        return Requirements(self.one_of(key, values) for key, values in labels.items())

    def machine(self, description: TypeDescription) -> Requirements:
        """The labels that are the same for every node class."""
        known = self._machines.get(description.instance_type)
        if known is None or known[0] is not description:
            known = self._machines[description.instance_type] = description, self.all_of(_machine_labels(description))
        return known[1]


def type_requirements(
    description: TypeDescription,
    setup: NodeSetup,
    *,
    region: str,
    zones: Iterable[str],
    pods: int,
    pool: RequirementPool,
) -> Requirements:
    """Every well-known label: what it can be on a node of the type, or that it is absent.

    ``zones`` are those that have the type. Only the id of a zone is left open where there is no zone to tell it by.
    """
    ids, reservations = setup.zones, reservations_of(description, setup)
    usable = [zone for zone in zones if zone in ids]
    found: dict[str, Iterable[object]] = {
        core.REGION: [region],
        core.ZONE: usable,
        core.CAPACITY_TYPE: capacity_types(description, reservations),
        labels.INSTANCE_PODS: [pods],
        **_system_labels(description, setup.family),
        **_reservation_labels(reservations),
        **_group_labels(setup.placement_group),
    }
    zone_ids = {ids[zone] for zone in usable if ids[zone]}
    if zone_ids:
        found[labels.ZONE_ID] = zone_ids
    return pool.machine(description) & pool.all_of(found)


# Where, and as what


def reservations_of(description: TypeDescription, setup: NodeSetup) -> tuple[CapacityReservation, ...]:
    return tuple(each for each in setup.reservations if each.instance_type == description.instance_type)


def capacity_types(description: TypeDescription, reservations: Sequence[CapacityReservation]) -> list[str]:
    """How the type is sold; ``reservations`` are those of the type."""
    sold: list[str] = [kind for kind in _SOLD_AS if kind in description.supported_usage_classes]
    return [*sold, core.RESERVED] if reservations else sold


def partitions(group: PlacementGroup | None) -> range:
    """Numbers of a group's partitions; none for groups of other kinds."""
    return range(1, group.partition_count + 1) if group is not None and group.strategy == "partition" else range(0)


def _reservation_labels(reservations: Sequence[CapacityReservation]) -> _Values:
    return {
        labels.CAPACITY_RESERVATION_ID: {each.id for each in reservations},
        labels.CAPACITY_RESERVATION_TYPE: {each.reservation_type for each in reservations},
        labels.CAPACITY_RESERVATION_INTERRUPTIBLE: {_truth(each.interruptible) for each in reservations},
    }


def _group_labels(group: PlacementGroup | None) -> _Values:
    return {
        labels.PLACEMENT_GROUP_ID: [] if group is None else [group.id],
        labels.PLACEMENT_GROUP_PARTITION: partitions(group),
    }


def _system_labels(description: TypeDescription, family: ImageFamily) -> _Values:
    """Windows runs on no ARM machine: one that has no system cannot be chosen."""
    windows = ["windows"] if "x86_64" in description.processor_info.supported_architectures else []
    return {core.OS: windows if family.is_windows else ["linux"], core.WINDOWS_BUILD: [family.windows_build or None]}


# What it is


def _machine_labels(description: TypeDescription) -> _Values:
    return {
        core.INSTANCE_TYPE: [description.instance_type],
        core.ARCH: [_ARCHITECTURES.get(name) for name in description.processor_info.supported_architectures],
        labels.INSTANCE_TENANCY: [labels.DEFAULT_TENANCY, labels.DEDICATED_TENANCY],
        **_name_labels(description.instance_type),
        **_hardware_labels(description),
        **_gpu_labels(description),
        **_accelerator_labels(description),
    }


def _name_labels(name: str) -> _Values:
    family, _, size = name.partition(".")
    parts = _NAME.match(name)
    return {
        labels.INSTANCE_FAMILY: [family],
        labels.INSTANCE_SIZE: [size],
        labels.INSTANCE_CATEGORY: [parts[1] if parts else None],
        labels.INSTANCE_GENERATION: [parts[3] if parts else None],
        labels.INSTANCE_CAPABILITY_FLEX: [_truth("-flex" in family)],
    }


def _hardware_labels(description: TypeDescription) -> _Values:
    processor, network, ebs = description.processor_info, description.network_info, description.ebs_info
    storage, clock = description.instance_storage_info, processor.sustained_clock_speed_in_ghz or 0.0
    has_nvme = storage.nvme_support != "unsupported"
    ebs_bandwidth = ebs.ebs_optimized_info.maximum_bandwidth_in_mbps
    bandwidth = round(sum(card.baseline_bandwidth_in_gbps or 0 for card in network.network_cards) * 1_000)
    return {
        labels.INSTANCE_CPU: [description.vcpus],
        labels.INSTANCE_CPU_MANUFACTURER: [_kebab(processor.manufacturer) or None],
        labels.INSTANCE_CPU_CLOCK_SPEED: [round(clock * 1_000)],
        labels.INSTANCE_MEMORY: [description.memory_info.size_mib],
        labels.INSTANCE_HYPERVISOR: [description.hypervisor],
        labels.INSTANCE_ENCRYPTION_IN_TRANSIT: [_truth(network.encryption_in_transit_supported)],
        labels.INSTANCE_LOCAL_NVME: [storage.total_size_gb if has_nvme else None],
        labels.INSTANCE_EBS_BANDWIDTH: [ebs_bandwidth if ebs.ebs_optimized_support == "default" else None],
        labels.INSTANCE_NETWORK_BANDWIDTH: [bandwidth or None],
        labels.NITRO_SANDBOX: [_truth(description.nitro_enclaves_support == "supported")],
    }


def _gpu_labels(description: TypeDescription) -> _Values:
    """Labels of the one kind of GPU that there is; a mixture cannot be named."""
    gpus = description.gpu_info.gpus
    gpu = gpus[0] if len(gpus) == 1 else None
    return {
        labels.INSTANCE_GPU_NAME: [gpu and _kebab(gpu.name)],
        labels.INSTANCE_GPU_MANUFACTURER: [gpu and _kebab(gpu.manufacturer)],
        labels.INSTANCE_GPU_COUNT: [gpu and gpu.count],
        labels.INSTANCE_GPU_MEMORY: [gpu and gpu.memory_info.size_mib],
    }


def _accelerator_labels(description: TypeDescription) -> _Values:
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
