"""What a planned machine is launched as: its requirements, and the instance types to choose from by price."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs

from karpy import labels
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.scheduling.claims import PlannedClaim
from karpy.scheduling.instances import bits
from karpy.scheduling.offers import PricedType
from karpy.scheduling.plan import Launch
from karpy.scheduling.reservations import NOT_RESERVED

__all__ = ["to_launch"]


def to_launch(claim: PlannedClaim, max_types: int) -> Launch | None:
    """The machine as a value: at most ``max_types`` types, cheapest first. None when so few differ too little."""
    claim.settle()
    template = claim.shape.template
    found = template.columns
    requirements = _final_requirements(claim)
    choice = found.choice(requirements)
    priced = (*found.cheapest(claim.mask, choice, max_types), *_also_listed(claim, choice.mask))[:max_types]
    requirements, lacking = _lowered(claim, requirements, priced)
    if lacking and template.strict_min_values:
        return None
    return Launch(
        pool=template.pool,
        requirements=requirements,
        min_values_relaxed=lacking,
        requests=Resources(claim.amounts) + template.least_overhead(claim.mask),
        instance_types=priced,
        capacity_types=choice.capacity_types(claim.mask),
        pods=tuple(pod.key for pod in claim.pods),
        pod_uids=tuple(pod.metadata.uid for pod in claim.pods),
        considered=found.count(found.all),
        feasible=found.count(claim.mask),
    )


def _final_requirements(claim: PlannedClaim) -> Requirements:
    """Those that it was planned with, and the reservations that it is launched into: by now nobody else wants what is left."""
    shape = claim.shape
    reservations = claim.reservations
    if reservations is None or not shape.template.takes_reservations or claim.is_trial:
        return shape.requirements
    if not shape.reserved:
        return _without_needless_refusal(claim)
    reservations.hold_more(claim, shape.reserved, claim.mask)
    held = reservations.held_by(claim)
    keys = {offering.key for offering in shape.reserved if offering.reservation in held and offering.key}
    return shape.requirements & Requirements(Requirement.in_(key, *held) for key in sorted(keys))


def _without_needless_refusal(claim: PlannedClaim) -> Requirements:
    """A machine keeps off reservations by ``NotIn [reserved]``; where none is within its reach that need not be said."""
    shape = claim.shape
    if shape.requirements.get(labels.CAPACITY_TYPE) != NOT_RESERVED[labels.CAPACITY_TYPE]:
        return shape.requirements
    own = shape.template.requirements.get(labels.CAPACITY_TYPE)
    free = shape.requirements.without(labels.CAPACITY_TYPE) & Requirements(() if own is None else (own,))
    within_reach = any(
        offering.bit & claim.mask and offering.requirements.intersects(free) is None
        for offering in shape.template.columns.reserved_offerings
    )
    return shape.requirements if within_reach else free


def _also_listed(claim: PlannedClaim, reserved: int) -> Iterator[PricedType]:
    """Types that would do without the reservation. They have no price here; Karpenter names them too."""
    if claim.shape.reserved:
        template = claim.shape.template
        others = template.fitting(claim.shape.unreserved(claim.asked), claim.amounts, claim.amounts)
        others &= ~(claim.mask & reserved)
        names = sorted(template.columns.types[bit].name for bit in bits(others))
        yield from (PricedType(name, math.inf) for name in names)


def _lowered(
    claim: PlannedClaim, requirements: Requirements, priced: Sequence[PricedType]
) -> tuple[Requirements, bool]:
    """The requirements, each ``minValues`` no more than ``priced`` has, and whether that lowered any."""
    shape, found = claim.shape, claim.shape.template.columns
    if not shape.min_values:
        return requirements, False
    mask = found.mask_of(priced)
    held = {key: found.different_values(key, mask) for key, _least in shape.min_values}
    lowered = [
        attrs.evolve(r, min_values=min(r.min_values, held[r.key])) if r.min_values else r for r in requirements.values()
    ]
    return Requirements(lowered), any(held[key] < least for key, least in shape.min_values)
