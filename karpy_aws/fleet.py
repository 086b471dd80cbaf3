"""CreateFleet: the pools that a launch may take its machine from, the request for one of them, and what the reply says. All pure.

A pool is an instance type in a zone, bought as one offering and started by one launch template; the request calls it an override.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.objects.nodeclaim import NodeClaim
from karpy_aws.choice import Choice
from karpy_aws.fleeterrors import Launched
from karpy_aws.launchtemplates import LaunchTemplate
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.objects.status import Subnet
from karpy_aws.reservations import CAPACITY_BLOCK
from karpy_aws.tags import tag_specifications
from karpy_aws.templatedata import INTERRUPTIBLE
from karpy_aws.templategroups import Reservation

__all__ = ["Pool", "asked_for", "fleet_request", "launched_machine", "pools"]

_ON_DEMAND_TARGET: Final = "on-demand"
_RESERVED_TARGET: Final = "reserved-capacity"


@attrs.frozen
class Pool:
    """One override of a fleet."""

    template: LaunchTemplate
    instance_type: InstanceType
    offering: Offering
    subnet: Subnet

    @property
    def image(self) -> str:
        """Empty where a template of the user's own names it."""
        return self.template.group.image.id if self.template.group else ""

    def override(self) -> dict[str, Any]:
        """EC2 could find out the zone by itself, but tells in its errors only what it was told."""
        offering = self.offering
        said = {
            "InstanceType": self.instance_type.name,
            "SubnetId": self.subnet.id,
            "ImageId": self.image,
            "AvailabilityZone": offering.zone,
            "Priority": offering.price if math.isfinite(offering.sort_price) else None,
        }
        return {name: value for name, value in said.items() if value not in ("", None)}


def pools(templates: Iterable[LaunchTemplate], choice: Choice, subnets: Mapping[str, Subnet]) -> tuple[Pool, ...]:
    """All pools of a launch, template by template; ``subnets`` are those of the zones that machines can be in."""
    return tuple(pool for template in templates for pool in _pools_of(template, choice, subnets))


def _pools_of(template: LaunchTemplate, choice: Choice, subnets: Mapping[str, Subnet]) -> Iterator[Pool]:
    """A template that is bound to a reservation takes its offering alone. Offerings that differ in nothing that EC2 asks about, as
    those of a group's partitions, are one pool."""
    reservation = template.group.reservation if template.group else None
    for instance_type in template.types:
        seen: set[str] = set()
        for offering in choice.offerings(instance_type):
            is_other = reservation is not None and offering.reservation_id != reservation.id
            if offering.zone in subnets and offering.zone not in seen and not is_other:
                seen.add(offering.zone)
                yield Pool(template, instance_type, offering, subnets[offering.zone])


# The request


def fleet_request(
    found: Sequence[Pool], choice: Choice, node_class: NodeClass, claim: NodeClaim, tags: Mapping[str, str]
) -> dict[str, Any]:
    """The request for one machine out of ``found``."""
    overrides: dict[str, list[Pool]] = {}
    for pool in found:
        overrides.setdefault(pool.template.name, []).append(pool)
    target, options = _bought_as(found, choice, is_price_overlaid=_is_marked(claim, core.PRICE_OVERLAY_APPLIED))
    request: dict[str, Any] = {
        "Type": "instant",
        "LaunchTemplateConfigs": [
            {
                "LaunchTemplateSpecification": {
                    "LaunchTemplateName": name,
                    "Version": members[0].template.version,
                },
                "Overrides": [pool.override() for pool in members],
            }
            for name, members in overrides.items()
        ],
        "TargetCapacitySpecification": {"DefaultTargetCapacityType": target, "TotalTargetCapacity": 1},
        "TagSpecifications": tag_specifications(tags, claim.name),
        **options,
    }
    if node_class.context and not _is_marked(claim, core.MIN_VALUES_RELAXED):
        request["Context"] = node_class.context
    return request


def _is_marked(claim: NodeClaim, annotation: str) -> bool:
    return (claim.metadata.annotations or {}).get(annotation) == "true"


def _bought_as(found: Sequence[Pool], choice: Choice, *, is_price_overlaid: bool) -> tuple[str, dict[str, Any]]:
    """The fleet's type of capacity, and the options that go with it. Prices that a NodeOverlay changed are karpy's to order by."""
    if choice.capacity_type == core.SPOT:
        strategy = "capacity-optimized-prioritized" if is_price_overlaid else "price-capacity-optimized"
        return core.SPOT, {"SpotOptions": {"AllocationStrategy": strategy}}
    if choice.capacity_type == core.RESERVED:
        reservation = Reservation.of(found[0].offering)
        if reservation.interruptible:
            return _RESERVED_TARGET, {"ReservedCapacityOptions": {"ReservationTypes": [INTERRUPTIBLE]}}
        if reservation.kind == CAPACITY_BLOCK:
            return CAPACITY_BLOCK, {}
    strategy = "prioritized" if is_price_overlaid else "lowest-price"
    return _ON_DEMAND_TARGET, {"OnDemandOptions": {"AllocationStrategy": strategy}}


# The reply


def launched_machine(answer: Mapping[str, Any], found: Sequence[Pool]) -> tuple[str, Pool | None] | None:
    """The id of the machine that a fleet gave, and the pool that it is of, unless EC2 does not say; None when it gave none."""
    for entry in answer.get("Instances") or ():
        for id_ in entry.get("InstanceIds") or ():
            return id_, _pool_of(entry, found)
    return None


def _pool_of(entry: Mapping[str, Any], found: Sequence[Pool]) -> Pool | None:
    override = (entry.get("LaunchTemplateAndOverrides") or {}).get("Overrides") or {}
    type_ = entry.get("InstanceType") or override.get("InstanceType")
    zone, subnet = override.get("AvailabilityZone"), override.get("SubnetId")
    candidates = [pool for pool in found if pool.instance_type.name == type_]
    exact = [pool for pool in candidates if pool.subnet.id == subnet or (not subnet and pool.offering.zone == zone)]
    left = exact or (candidates if not zone and not subnet else [])
    return left[0] if len(left) == 1 else None


def asked_for(found: Sequence[Pool], choice: Choice, node_class: NodeClass) -> Launched:
    """What a fleet's errors are about."""
    group = node_class.status.placement_group
    return Launched(
        capacity_type=choice.capacity_type,
        instance_types=frozenset(pool.instance_type.name for pool in found),
        reservations={
            (pool.instance_type.name, pool.offering.zone): pool.offering.reservation_id
            for pool in found
            if pool.offering.reservation_id
        },
        group=group.id if group else "",
        partition=(choice.partition or 0) if group else 0,
    )
