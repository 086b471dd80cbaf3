"""The machine that a fleet gave, as EC2 will describe it, and as the core has it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType, Offering, as_bought
from karpy.cloud.provider import Instance
from karpy.objects.nodeclaim import NodeClaim
from karpy.resources import Resources
from karpy_aws import labels
from karpy_aws.capacity import EFA
from karpy_aws.choice import Choice
from karpy_aws.fleet import Pool
from karpy_aws.machines import Machine
from karpy_aws.objects.hashing import hash_annotations
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.templategroups import Reservation

__all__ = ["INSTANCE_PROFILE_ANNOTATION", "claim_annotations", "instance_of", "new_machine"]

INSTANCE_PROFILE_ANNOTATION: Final = f"{labels.GROUP}/instance-profile-name"
_OF_THIS_MACHINE: Final = (
    *(labels.CAPACITY_RESERVATION_ID, labels.CAPACITY_RESERVATION_TYPE, labels.CAPACITY_RESERVATION_INTERRUPTIBLE),
    *(labels.PLACEMENT_GROUP_ID, labels.PLACEMENT_GROUP_PARTITION, labels.INSTANCE_TENANCY),
)
"""What a type could have, and the machine alone says whether it does."""
_PENDING: Final = "pending"
_ARCHITECTURES: Final = {"amd64": "x86_64"}


def new_machine(
    id_: str, pool: Pool, choice: Choice, node_class: NodeClass, claim: NodeClaim, tags: Mapping[str, str], now: float
) -> Machine:
    """What EC2 will say of a machine of this pool. It may not list it for a while yet."""
    group = node_class.status.placement_group
    reservation = Reservation.of(pool.offering) if choice.capacity_type == core.RESERVED else Reservation("", "")
    arch = pool.instance_type.requirements.labels().get(core.ARCH, "")
    return Machine(
        id=id_,
        state=_PENDING,
        zone=pool.offering.zone,
        zone_id=pool.subnet.zone_id,
        instance_type=pool.instance_type.name,
        image_id=pool.image,
        architecture=_ARCHITECTURES.get(arch, arch),
        capacity_type=choice.capacity_type,
        tenancy=choice.tenancy,
        reservation_id=reservation.id,
        reservation_type=reservation.kind,
        placement_group_id=group.id if group else "",
        partition=choice.partition if group else None,
        subnet_id=pool.subnet.id,
        security_group_ids=frozenset(each.id for each in node_class.status.security_groups),
        launched=now,
        tags=tags,
        launched_for=claim.name,
    )


def instance_of(
    machine: Machine, types: Iterable[InstanceType], annotations: Mapping[str, str], *, has_efa: bool = True
) -> Instance:
    """The machine with all that its type says of it. A type that is not among ``types`` says nothing.

    Without ``has_efa`` it was given no EFA devices, though its type may have them.
    """
    instance = attrs.evolve(machine.instance(), annotations=annotations)
    type_ = next((each for each in types if each.name == machine.instance_type), None)
    if type_ is None:
        return instance
    offering = _offering_of(machine, type_)
    bought = type_ if offering is None else as_bought(type_, offering)
    decided = type_.requirements if offering is None else type_.requirements & offering.requirements
    missing = () if has_efa else (EFA,)
    return attrs.evolve(
        instance,
        labels={**decided.without(*_OF_THIS_MACHINE).labels(), **_interruptible(offering), **instance.labels},
        capacity=_without(bought.capacity, missing),
        allocatable=_without(bought.allocatable, missing),
    )


def _interruptible(offering: Offering | None) -> dict[str, str]:
    """EC2 does not say it of machines."""
    key = labels.CAPACITY_RESERVATION_INTERRUPTIBLE
    value = offering.requirements.labels().get(key) if offering is not None else None
    return {} if value is None else {key: value}


def _without(amounts: Resources, missing: Collection[str]) -> Resources:
    return Resources({name: amount for name, amount in amounts.items() if name not in missing})


def _offering_of(machine: Machine, instance_type: InstanceType) -> Offering | None:
    return next(
        (
            each
            for each in instance_type.offerings
            if (each.zone, each.capacity_type) == (machine.zone, machine.capacity_type)
            and (each.reservation_id or "") == machine.reservation_id
        ),
        None,
    )


def claim_annotations(node_class: NodeClass, ca_bundle: str) -> dict[str, str]:
    """What the claim of a machine is marked with, so that drift is found, and its profile is not collected under it."""
    profile = node_class.status.instance_profile or node_class.instance_profile
    marks = hash_annotations(node_class, ca_bundle)
    return {**marks, INSTANCE_PROFILE_ANNOTATION: profile} if profile else marks
