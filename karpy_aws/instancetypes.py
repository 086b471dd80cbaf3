"""EC2's description of a type, made into an `InstanceType`: labels, capacity, overhead (AWS specification, section 2)."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.cloud.instancetype import InstanceType, Offering
from karpy_aws.capacity import capacity, eni_limited_pods, local_storage_bytes, memory_bytes, pod_limit, usual_pods
from karpy_aws.descriptions import TypeDescription
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.overhead import node_overhead
from karpy_aws.typelabels import RequirementPool, type_requirements

__all__ = ["build_instance_type"]


def build_instance_type(
    description: TypeDescription,
    setup: NodeSetup,
    *,
    region: str,
    zones: Sequence[str],
    pool: RequirementPool,
    measured_memory: int | None = None,
    offerings: Sequence[Offering] = (),
) -> InstanceType:
    """The instance type as a node class would get it; ``zones`` are those that have it.

    Raises:
        InvalidObject: what the kubelet is told makes no sense for the type.
    """
    family, efa_interfaces = setup.family, setup.efa_interfaces_on_first_card
    usual = usual_pods(description, family, setup.reserved_enis + efa_interfaces)
    kubelet = setup.kubelet.numbers(description, usual)
    pods = pod_limit(description, family, kubelet, usual)
    local = local_storage_bytes(description) if setup.joins_local_disks else 0
    storage = local or setup.storage_bytes
    memory = memory_bytes(description, setup.memory_overhead_percent, measured_memory)
    # reserved interfaces bring pods under another network plugin, so the kubelet's share is not less for them
    reserving = eni_limited_pods(description, efa_interfaces) if family.reserves_by_addresses else pods
    return InstanceType(
        name=description.instance_type,
        requirements=type_requirements(description, setup, region=region, zones=zones, pods=pods, pool=pool),
        offerings=tuple(offerings),
        capacity=capacity(description, pods=pods, storage=storage, memory=memory, interfaces=setup.interfaces),
        overhead=node_overhead(
            vcpus=description.vcpus, pods=reserving, memory=memory, storage=storage, kubelet=kubelet
        ),
    )
