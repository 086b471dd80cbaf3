from __future__ import annotations

import math

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, allocatable_groups, cheapest
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.scheduling.instances import TypeColumns, bits, columns
from karpy.scheduling.offers import PricedType
from karpy.testing import make_instance_type, make_instance_types

CATALOG = make_instance_types()
ZONES, KINDS = ("zone-a", "zone-b"), ("spot", "on-demand")
SIZE = "cloud.test/size"


def named(found: TypeColumns, mask: int) -> set[str]:
    return {found.types[bit].name for bit in bits(mask)}


def test_bits_are_in_order_of_price() -> None:
    assert [t.name for t in columns(CATALOG).types][:4] == ["a1", "c1", "a2", "c2"]


def test_the_columns_of_a_catalog_are_built_once() -> None:
    assert columns(CATALOG) is columns(CATALOG)


def test_every_type_can_be_named() -> None:
    found = columns(CATALOG)
    assert named(found, found.mask_of(PricedType(name, 1.0) for name in ("c4", "a2", "unknown"))) == {"c4", "a2"}


# Types of which different machines can be had

GPU = Resources({"acme.com/gpu": 1})
CHEAP = Offering("zone-a", "spot", 1.0)
BETTER = Offering("zone-b", "spot", 2.0, capacity_override=GPU)
MIXED = make_instance_type("mixed", cpu="2", offerings=[BETTER, CHEAP])
BIG = make_instance_type("big", cpu="8", offerings=[Offering("zone-a", "spot", 1.5)])


@pytest.mark.core("CORE-747")
def test_what_fits_and_what_can_be_bought_are_judged_together() -> None:
    found = TypeColumns(InstanceTypes([MIXED, BIG]))
    with_gpu = found.fitting("acme.com/gpu", 1)
    assert named(found, with_gpu) == {"mixed"}
    assert found.cheapest(with_gpu, found.choice(Requirements()), 9) == (PricedType("mixed", 2.0),)
    in_zone_a = found.choice(Requirements.from_labels({labels.ZONE: "zone-a"}))
    assert found.cheapest(with_gpu, in_zone_a, 9) == ()
    # A machine may turn out to be any that can be bought of its type, so for limits the largest counts.
    assert named(found, found.not_larger("acme.com/gpu", 0)) == {"big"}


def test_a_type_is_told_and_counted_once_at_its_cheapest() -> None:
    found = TypeColumns(InstanceTypes([MIXED, BIG]))
    told = found.cheapest(found.all, found.choice(Requirements()), 9)
    assert [(priced.name, priced.price) for priced in told] == [("mixed", 1.0), ("big", 1.5)]
    assert found.cheapest(found.all, found.choice(Requirements()), 1) == told[:1]
    assert (found.all.bit_count(), found.count(found.all)) == (3, 2)
    assert found.mask_of(told) == found.all


def test_an_offering_that_is_sold_out_gives_no_machine() -> None:
    gone = make_instance_type("mixed", offerings=[attrs.evolve(BETTER, available=False), CHEAP])
    assert TypeColumns(InstanceTypes([gone])).fitting("acme.com/gpu", 1) == 0


# What NodeOverlays touched


def test_a_mark_says_that_the_price_of_an_offering_that_may_be_bought_is_an_overlays() -> None:
    spot = Offering("zone-a", "spot", 1.0, price_overlaid=True)
    types = [make_instance_type("t", offerings=[spot, Offering("zone-a", "on-demand", 2.0)]), BIG]
    found = TypeColumns(InstanceTypes(types))

    def marked(wanted: Requirements) -> set[str]:
        return {p.name for p in found.cheapest(found.all, found.choice(wanted), 9) if p.price_overlaid}

    assert marked(Requirements()) == {"t"}
    assert marked(Requirements.from_labels({labels.CAPACITY_TYPE: "on-demand"})) == set()


def test_a_mark_says_that_an_overlay_has_a_say_in_the_capacity() -> None:
    found = TypeColumns(InstanceTypes([attrs.evolve(MIXED, capacity_overlaid=True), BIG]))
    told = found.cheapest(found.all, found.choice(Requirements()), 9)
    assert [(priced.name, priced.capacity_overlaid) for priced in told] == [("mixed", True), ("big", False)]


def offerings() -> st.SearchStrategy[Offering]:
    prices = st.sampled_from((0.5, 1.0, 2.0, math.nan, -1.0))
    overrides = st.sampled_from((None, None, Resources({"cpu": 3000}), Resources({"acme.com/gpu": 1})))
    return st.builds(
        Offering, st.sampled_from(ZONES), st.sampled_from(KINDS), prices, st.booleans(), capacity_override=overrides
    )


@st.composite
def catalogs(draw: st.DrawFn) -> InstanceTypes:
    count = draw(st.integers(1, 5))
    return InstanceTypes(
        make_instance_type(
            f"t{number}",
            cpu=str(draw(st.integers(1, 4))),
            arch=draw(st.sampled_from(("amd64", "arm64"))),
            labels={SIZE: draw(st.sampled_from(("1", "2", None)))},
            offerings=draw(st.lists(offerings(), max_size=4)),
        )
        for number in range(count)
    )


REQUIREMENTS = st.lists(
    st.sampled_from(
        (
            Requirement.in_(labels.ARCH, "arm64"),
            Requirement.not_in(labels.ARCH, "arm64"),
            Requirement.in_(labels.ZONE, "zone-a"),
            Requirement.not_in(labels.CAPACITY_TYPE, "spot"),
            Requirement.at_least(SIZE, 2),
            Requirement.exists(SIZE),
            Requirement.absent(SIZE),
            Requirement.in_("unknown", "x"),
        )
    ),
    max_size=3,
).map(Requirements)


@given(catalogs(), REQUIREMENTS)
def test_masks_say_of_each_type_what_the_type_says_itself(types: InstanceTypes, wanted: Requirements) -> None:
    found = TypeColumns(types)
    assert named(found, found.allowing(wanted)) == {t.name for t in types if t.requirements.intersects(wanted) is None}
    choice = found.choice(wanted)
    assert named(found, choice.mask) == {t.name for t in types if cheapest(t, wanted) is not None}


@given(catalogs(), REQUIREMENTS)
def test_types_come_by_their_cheapest_allowed_offering(types: InstanceTypes, wanted: Requirements) -> None:
    found = TypeColumns(types)

    def price(instance_type: InstanceType) -> float:
        offering = cheapest(instance_type, wanted)
        assert offering is not None
        return offering.sort_price

    told = found.cheapest(found.all, found.choice(wanted), 3)
    available = [t for t in types if cheapest(t, wanted) is not None]
    expected = sorted(available, key=lambda t: (price(t), t.name))[:3]
    assert [(priced.price, priced.name) for priced in told] == [(price(t), t.name) for t in expected]


@given(catalogs(), st.integers(-1, 5000))
def test_amounts_are_compared_machine_by_machine(types: InstanceTypes, amount: int) -> None:
    found = TypeColumns(types)
    machines = [machine for listed in types for machine in allocatable_groups(listed)]
    assert named(found, found.fitting("cpu", amount)) == {t.name for t in machines if amount <= t.allocatable["cpu"]}
    too_large = {t.name for t in machines if t.capacity["cpu"] > amount}
    assert named(found, found.not_larger("cpu", amount)) == {t.name for t in machines} - too_large
    assert found.largest("cpu", found.all) == max(t.capacity["cpu"] for t in machines)


def test_a_resource_that_no_type_has_fits_only_when_none_is_asked_for() -> None:
    found = columns(CATALOG)
    assert found.fitting("acme.com/gpu", 0) == found.all
    assert found.fitting("acme.com/gpu", 1) == 0
    assert found.not_larger("acme.com/gpu", 0) == found.all
