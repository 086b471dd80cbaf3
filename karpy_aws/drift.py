"""Why a machine no longer matches its node class: the comparison of what it is with what the class means now. All pure.

There are three stages, each dearer to ask than the one before: what the class said when the machine was launched, the image that
machines of its type get now, and what EC2 tells of the machine itself. A stage that cannot be told is an error, never "not
drifted": the core keeps what it knew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpy import labels as core
from karpy.cloud.instancetype import InstanceTypes
from karpy.errors import ProviderError
from karpy.objects.nodeclaim import NodeClaim
from karpy_aws import labels
from karpy_aws.images import image_of
from karpy_aws.machines import Machine
from karpy_aws.objects.hashing import HASH_ANNOTATION, HASH_VERSION_ANNOTATION
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.objects.status import NodeClassStatusFields

__all__ = [
    "AMI_DRIFT",
    "CAPACITY_RESERVATION_DRIFT",
    "NODE_CLASS_DRIFT",
    "PLACEMENT_GROUP_DRIFT",
    "SECURITY_GROUP_DRIFT",
    "SUBNET_DRIFT",
    "class_drift",
    "image_drift",
    "machine_drift",
]

NODE_CLASS_DRIFT: Final = "NodeClassDrift"
AMI_DRIFT: Final = "AMIDrift"
SECURITY_GROUP_DRIFT: Final = "SecurityGroupDrift"
SUBNET_DRIFT: Final = "SubnetDrift"
CAPACITY_RESERVATION_DRIFT: Final = "CapacityReservationDrift"
PLACEMENT_GROUP_DRIFT: Final = "PlacementGroupDrift"
"""The reasons are Karpenter's."""


def class_drift(claim: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Whether the class says something else than when the claim was launched, by the annotations of both.

    Hashes of different versions tell nothing about each other, and a claim without one was made by another hand.
    """
    digest, current = claim.get(HASH_ANNOTATION), now.get(HASH_ANNOTATION)
    version, current_version = claim.get(HASH_VERSION_ANNOTATION), now.get(HASH_VERSION_ANNOTATION)
    if None in (digest, current, version) or version != current_version:
        return None
    return NODE_CLASS_DRIFT if digest != current else None


def image_drift(claim: NodeClaim, node_class: NodeClass, types: InstanceTypes) -> str | None:
    """Whether machines of the claim's type get another image now. Templates of the user's own have images of their own.

    Raises:
        ProviderError: the claim does not say its image or its type, the type is not sold, or the class has no images.
    """
    if node_class.launch_template:
        return None
    images = node_class.status.amis
    if not images:
        raise ProviderError(f"drift of {claim.name}: the status of node class {node_class.name} names no images")
    type_name = claim.labels.get(core.INSTANCE_TYPE, "")
    instance_type = types.by_name(type_name)
    if instance_type is None:
        raise ProviderError(f"drift of {claim.name}: instance type {type_name!r} is not known")
    if not claim.image_id:
        raise ProviderError(f"drift of {claim.name}: its status names no image")
    wanted = image_of(instance_type, images)
    return None if wanted is not None and wanted.id == claim.image_id else AMI_DRIFT


def machine_drift(claim: NodeClaim, machine: Machine, status: NodeClassStatusFields) -> str | None:
    """Whether the machine is in other security groups or another subnet, reservation or placement group than the class means.

    Raises:
        ProviderError: the class's status names no security groups or no subnets.
    """
    if not status.security_groups:
        raise ProviderError(f"drift of {claim.name}: the status of its node class names no security groups")
    if not status.subnets:
        raise ProviderError(f"drift of {claim.name}: the status of its node class names no subnets")
    if machine.security_group_ids != {group.id for group in status.security_groups}:
        return SECURITY_GROUP_DRIFT
    if machine.subnet_id not in {subnet.id for subnet in status.subnets}:
        return SUBNET_DRIFT
    is_reserved = machine.capacity_type == core.RESERVED
    if is_reserved and machine.reservation_id not in {each.id for each in status.capacity_reservations}:
        return CAPACITY_RESERVATION_DRIFT
    group = status.placement_group.id if status.placement_group else ""
    return PLACEMENT_GROUP_DRIFT if claim.labels.get(labels.PLACEMENT_GROUP_ID, "") != group else None
