"""Whether a machine still is what its node class asks for, and if not, what differs.

What is fixed when a machine is launched is compared by hash, what selectors find by what the machine has. A question that cannot be
answered is an error, and never an answer: a machine is not replaced for something that was not there to be compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType
from karpy.errors import ProviderError, plain
from karpy.objects.nodeclaim import NodeClaim
from karpy_aws import labels
from karpy_aws.images import image_of
from karpy_aws.machines import Machine
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.hashing import HASH_ANNOTATION, HASH_VERSION_ANNOTATION
from karpy_aws.objects.nodeclass import NodeClass

__all__ = ["drift_reason"]

STATIC: Final = "NodeClassDrift"
IMAGE: Final = "AMIDrift"
SECURITY_GROUPS: Final = "SecurityGroupDrift"
SUBNET: Final = "SubnetDrift"
RESERVATION: Final = "CapacityReservationDrift"
PLACEMENT_GROUP: Final = "PlacementGroupDrift"

GetMachine = Callable[..., Machine]
"""`karpy_aws.instances.Instances.get`."""


def drift_reason(
    claim: NodeClaim,
    node_class: NodeClass,
    types: Mapping[str, InstanceType],
    get: GetMachine,
    *,
    hashes: Mapping[str, str],
    group: str = "",
) -> str | None:
    """The first thing that differs, in Karpenter's words, or None.

    ``hashes`` are the annotations that a claim would be marked with now, ``types`` what the class can launch, ``group`` the id
    of the placement group that its selector found. EC2 is asked for the machine only when nothing cheaper decides.

    Raises:
        ProviderError: something to compare with is missing, or EC2 does not answer.
        InvalidObject: the claim names no machine of EC2.
    """
    if node_class.metadata.is_deleting or node_class.launch_template:
        return None  # a template of the user's own names its image itself
    if _has_other_hash(claim.metadata.annotations or {}, hashes):
        return STATIC
    if not node_class.status.subnets:
        raise ProviderError(f"the status of {node_class.name} has no subnets to compare with")
    if _has_other_image(claim, node_class, types):
        return IMAGE
    if node_class.origin != EC2_NODE_CLASS:
        return None  # the generations before compared images alone
    machine = get(claim.provider_id)
    return _differs(machine, node_class, get) or (
        PLACEMENT_GROUP if claim.labels.get(labels.PLACEMENT_GROUP_ID, "") != group else None
    )


def _has_other_hash(claim: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Hashes of different versions tell nothing about each other."""
    versions = {annotations.get(HASH_VERSION_ANNOTATION) for annotations in (claim, now)}
    hashes = {annotations.get(HASH_ANNOTATION) for annotations in (claim, now)}
    return None not in versions | hashes and len(versions) == 1 and len(hashes) > 1


def _has_other_image(claim: NodeClaim, node_class: NodeClass, types: Mapping[str, InstanceType]) -> bool:
    name = claim.labels.get(core.INSTANCE_TYPE, "")
    if name not in types:
        raise ProviderError(f"the instance type {plain(name) or 'that no label names'} of {claim.name} is not known")
    if not node_class.status.amis:
        raise ProviderError(f"the status of {node_class.name} has no images to compare with")
    if not claim.image_id:
        raise ProviderError(f"the status of {claim.name} names no image to compare with")
    image = image_of(types[name], node_class.status.amis)
    return image is None or image.id != claim.image_id


def _differs(machine: Machine, node_class: NodeClass, get: GetMachine) -> str | None:
    status = node_class.status
    if not status.security_groups:
        raise ProviderError(f"the status of {node_class.name} has no security groups to compare with")
    if machine.security_group_ids != {group.id for group in status.security_groups}:
        return SECURITY_GROUPS
    if machine.subnet_id not in {subnet.id for subnet in status.subnets}:
        return SUBNET
    known = {reservation.id for reservation in status.capacity_reservations}
    if _is_outside(machine, known) and _is_outside(get(machine.provider_id, fresh=True), known):
        return RESERVATION
    return None


def _is_outside(machine: Machine, reservations: set[str]) -> bool:
    """EC2 may have moved a machine out of a reservation that ended; it is on-demand then, and asked for again to see that."""
    return machine.capacity_type == core.RESERVED and machine.reservation_id not in reservations
