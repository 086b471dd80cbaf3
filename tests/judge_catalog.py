"""How the judge reads a catalog: which offerings of which types a launch can become."""

from __future__ import annotations

from collections.abc import Mapping

from karpy.cloud.instancetype import Catalog, InstanceType, InstanceTypes, Offering
from karpy.requirements import NEGATIVE, Requirements
from karpy.resources import Resources
from karpy.scheduling.plan import Launch

_Entry = tuple[InstanceType, list[tuple[Offering, Requirements]]]


def sold(catalog: Catalog, pool: str) -> InstanceTypes:
    """What the pool can buy."""
    return catalog.types.get(pool, InstanceTypes())


def ways(launch: Launch, catalog: Catalog) -> dict[str, list[tuple[Offering, Requirements]]]:
    """For each type of the launch that is sold at all: the offerings that can be had now and that the launch allows."""
    known = sold(catalog, launch.pool.name).derived(_by_name)
    allowed: dict[Requirements, bool] = {}

    def can_be(offering: Offering, given: Requirements) -> bool:
        if given not in allowed:
            allowed[given] = given.intersects(launch.requirements) is None
        return offering.available and allowed[given]

    found = (known[priced.name] for priced in launch.instance_types if priced.name in known)
    return {each.name: [way for way in offerings if can_be(*way)] for each, offerings in found}


def labelled(launch: Launch, machine: Requirements) -> Requirements:
    """What is known of the labels of a launch that turns out to be ``machine``.

    One that pods only do not want, or not with some values, is not put on the node for their sake.
    """
    own = launch.pool.template_requirements
    asked = launch.requirements.values()
    return Requirements(r for r in asked if r.key in own or r.key in machine or r.operator not in NEGATIVE)


def bought(instance_type: InstanceType, offering: Offering) -> InstanceType:
    """The machine that this offering gives: it may have more or less than others of its type."""
    if offering.capacity_override is None and offering.overhead_override is None:
        return instance_type
    capacity = Resources({**instance_type.capacity, **(offering.capacity_override or {})})
    overhead = instance_type.overhead if offering.overhead_override is None else offering.overhead_override
    return InstanceType(instance_type.name, instance_type.requirements, (), capacity, overhead)


def _by_name(types: InstanceTypes) -> Mapping[str, _Entry]:
    """Types with their offerings, and with what these require; what is equal is one object, so that it is compared at once."""
    one: dict[Requirements, Requirements] = {}
    return {
        each.name: (each, [(o, one.setdefault(o.requirements, o.requirements)) for o in each.offerings])
        for each in types
    }
