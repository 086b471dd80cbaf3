"""The label keys that EC2 defines, those of all API generations together."""

from __future__ import annotations

from typing import Final

from karpy.labels import LabelSpec, node_class_label

__all__ = ["AWS_LABELS"]

GROUP: Final = "karpenter.k8s.aws"

INSTANCE_CATEGORY: Final = f"{GROUP}/instance-category"
INSTANCE_FAMILY: Final = f"{GROUP}/instance-family"
INSTANCE_GENERATION: Final = f"{GROUP}/instance-generation"
INSTANCE_SIZE: Final = f"{GROUP}/instance-size"
INSTANCE_CPU: Final = f"{GROUP}/instance-cpu"
INSTANCE_CPU_MANUFACTURER: Final = f"{GROUP}/instance-cpu-manufacturer"
INSTANCE_CPU_CLOCK_SPEED: Final = f"{GROUP}/instance-cpu-sustained-clock-speed-mhz"
INSTANCE_MEMORY: Final = f"{GROUP}/instance-memory"
INSTANCE_PODS: Final = f"{GROUP}/instance-pods"
INSTANCE_HYPERVISOR: Final = f"{GROUP}/instance-hypervisor"
INSTANCE_ENCRYPTION_IN_TRANSIT: Final = f"{GROUP}/instance-encryption-in-transit-supported"
INSTANCE_LOCAL_NVME: Final = f"{GROUP}/instance-local-nvme"
INSTANCE_NETWORK_BANDWIDTH: Final = f"{GROUP}/instance-network-bandwidth"
INSTANCE_EBS_BANDWIDTH: Final = f"{GROUP}/instance-ebs-bandwidth"
INSTANCE_GPU_NAME: Final = f"{GROUP}/instance-gpu-name"
INSTANCE_GPU_MANUFACTURER: Final = f"{GROUP}/instance-gpu-manufacturer"
INSTANCE_GPU_COUNT: Final = f"{GROUP}/instance-gpu-count"
INSTANCE_GPU_MEMORY: Final = f"{GROUP}/instance-gpu-memory"
INSTANCE_ACCELERATOR_NAME: Final = f"{GROUP}/instance-accelerator-name"
INSTANCE_ACCELERATOR_MANUFACTURER: Final = f"{GROUP}/instance-accelerator-manufacturer"
INSTANCE_ACCELERATOR_COUNT: Final = f"{GROUP}/instance-accelerator-count"
INSTANCE_CAPABILITY_FLEX: Final = f"{GROUP}/instance-capability-flex"
INSTANCE_TENANCY: Final = f"{GROUP}/instance-tenancy"
NITRO_SANDBOX: Final = f"{GROUP}/nitro-sandbox"
CAPACITY_RESERVATION_ID: Final = f"{GROUP}/capacity-reservation-id"
CAPACITY_RESERVATION_TYPE: Final = f"{GROUP}/capacity-reservation-type"
CAPACITY_RESERVATION_INTERRUPTIBLE: Final = f"{GROUP}/capacity-reservation-interruptible"
PLACEMENT_GROUP_ID: Final = f"{GROUP}/placement-group-id"
PLACEMENT_GROUP_PARTITION: Final = f"{GROUP}/placement-group-partition"
ZONE_ID: Final = "topology.k8s.aws/zone-id"

INSTANCE_AMI_ID: Final = f"{GROUP}/instance-ami-id"
"""Put on nodes only; no instance type has it."""
NODE_CLASS: Final = node_class_label(GROUP, "EC2NodeClass")

DEFAULT_TENANCY: Final = "default"
DEDICATED_TENANCY: Final = "dedicated"

AWS_LABELS: Final = LabelSpec(
    well_known=frozenset(
        {
            INSTANCE_CATEGORY,
            INSTANCE_FAMILY,
            INSTANCE_GENERATION,
            INSTANCE_SIZE,
            INSTANCE_CPU,
            INSTANCE_CPU_MANUFACTURER,
            INSTANCE_CPU_CLOCK_SPEED,
            INSTANCE_MEMORY,
            INSTANCE_PODS,
            INSTANCE_HYPERVISOR,
            INSTANCE_ENCRYPTION_IN_TRANSIT,
            INSTANCE_LOCAL_NVME,
            INSTANCE_NETWORK_BANDWIDTH,
            INSTANCE_EBS_BANDWIDTH,
            INSTANCE_GPU_NAME,
            INSTANCE_GPU_MANUFACTURER,
            INSTANCE_GPU_COUNT,
            INSTANCE_GPU_MEMORY,
            INSTANCE_ACCELERATOR_NAME,
            INSTANCE_ACCELERATOR_MANUFACTURER,
            INSTANCE_ACCELERATOR_COUNT,
            INSTANCE_CAPABILITY_FLEX,
            INSTANCE_TENANCY,
            NITRO_SANDBOX,
            CAPACITY_RESERVATION_ID,
            CAPACITY_RESERVATION_TYPE,
            CAPACITY_RESERVATION_INTERRUPTIBLE,
            PLACEMENT_GROUP_ID,
            PLACEMENT_GROUP_PARTITION,
            ZONE_ID,
        }
    ),
    restricted_domains=frozenset({GROUP}),
    restricted=frozenset(),
)
