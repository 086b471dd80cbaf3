from __future__ import annotations

import math

import pytest

from karpy import labels
from karpy.cloud.instancetype import (
    InstanceType,
    InstanceTypes,
    Offering,
    Overhead,
    allocatable_groups,
    as_bought,
    cheapest,
    compatible,
    current_price,
    holding,
    offerings_for,
    order_by_price,
)
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.testing import make_instance_type, make_instance_types

ANYTHING = Requirements()
SPOT = Requirements.from_labels({labels.CAPACITY_TYPE: labels.SPOT})


def sold(*offerings: Offering, name: str = "t") -> InstanceType:
    return make_instance_type(name, offerings=offerings)


@pytest.mark.core("CORE-747")
def test_allocatable_is_capacity_less_overhead_and_never_below_zero() -> None:
    parts = Resources({"cpu": 100}), Resources({"memory": 30}), Resources({"memory": 80, "other": 5})
    found = InstanceType("t", ANYTHING, (), Resources({"cpu": 1000, "memory": 100, "pods": 9}), Overhead(*parts))
    assert found.allocatable == Resources({"cpu": 900, "memory": 0, "pods": 9})
    assert found.max_pods == 9


@pytest.mark.core("CORE-747")
def test_memory_set_aside_as_huge_pages_is_not_there_for_pods() -> None:
    capacity = Resources({"memory": 100, "hugepages-2Mi": 30, "hugepages-1Gi": 20})
    assert InstanceType("t", ANYTHING, (), capacity).allocatable["memory"] == 50


# Offerings that give another machine than the type says

GPU = Resources({"acme.com/gpu": 2})
LEAN = Overhead(Resources({"cpu": 10}))
PLAIN = Offering("a", "spot", 3.0)
WITH_GPU = Offering("b", "spot", 1.0, capacity_override=GPU)
ROOMY = Offering("c", "spot", 2.0, overhead_override=LEAN)


def test_an_offering_overrides_what_it_names_and_leaves_the_rest_to_the_type() -> None:
    found = make_instance_type(cpu="2", memory="8Gi", offerings=[PLAIN, WITH_GPU, ROOMY], overhead={"cpu": "100m"})
    assert as_bought(found, PLAIN) is found
    assert as_bought(found, WITH_GPU).capacity == found.capacity + GPU
    assert as_bought(found, WITH_GPU).allocatable["cpu"] == 1900
    assert as_bought(found, ROOMY).capacity == found.capacity
    assert as_bought(found, ROOMY).allocatable["cpu"] == 1990
    smaller = Offering("d", "spot", 1.0, capacity_override=Resources({"cpu": 1000}))
    assert as_bought(found, smaller).allocatable["cpu"] == 900


def test_a_type_without_overrides_is_one_machine_and_that_is_itself() -> None:
    found = make_instance_type()
    assert allocatable_groups(found) == (found,)
    assert allocatable_groups(found)[0] is found


@pytest.mark.core("CORE-747")
def test_offerings_of_equal_overrides_form_one_group_and_the_plain_ones_come_first() -> None:
    same = Offering("c", "on-demand", 9.0, capacity_override=Resources({"acme.com/gpu": 2}))
    groups = allocatable_groups(sold(WITH_GPU, PLAIN, same, ROOMY))
    assert [[o.zone for o in group.offerings] for group in groups] == [["a"], ["b", "c"], ["c"]]
    assert [group.capacity.get("acme.com/gpu", 0) for group in groups] == [0, 2, 0]
    assert {group.name for group in groups} == {"t"}


@pytest.mark.core("CORE-747")
def test_only_offerings_that_can_be_had_form_groups() -> None:
    gone = Offering("b", "spot", 1.0, available=False, capacity_override=GPU)
    assert [group.offerings for group in allocatable_groups(sold(PLAIN, gone))] == [(PLAIN,)]
    alone = sold(gone)
    assert allocatable_groups(alone) == (alone,)


def test_a_type_keeps_the_offerings_that_give_a_machine_for_what_is_asked() -> None:
    mixed = sold(PLAIN, WITH_GPU, ROOMY)
    assert holding(mixed, Resources({"cpu": 1000})) is mixed
    able = holding(mixed, GPU)
    assert able is not None
    assert able.offerings == (WITH_GPU,)
    assert holding(mixed, Resources({"acme.com/gpu": 3})) is None


def test_offerings_that_can_be_had_are_told_cheapest_first_and_ties_by_zone() -> None:
    dear, b, a = Offering("c", "spot", 2.0), Offering("b", "spot", 1.0), Offering("a", "spot", 1.0)
    gone = Offering("d", "spot", 0.5, available=False)
    assert offerings_for(sold(dear, b, a, gone), ANYTHING) == (a, b, dear)


@pytest.mark.parametrize("price", [math.nan, math.inf, -1.0, -math.inf, 0.0, None])
def test_a_price_that_is_none_never_wins(price: float) -> None:
    odd, plain = Offering("a", "spot", price), Offering("b", "spot", 99.0)
    assert cheapest(sold(odd, plain), ANYTHING) == plain
    assert not odd.has_price
    by_price = order_by_price([sold(odd, name="odd"), sold(plain, name="plain")], ANYTHING)
    assert [found.name for found in by_price] == ["plain", "odd"]


def test_requirements_choose_among_offerings() -> None:
    found = cheapest(make_instance_type(price=1.0), SPOT & Requirements.from_labels({labels.ZONE: "zone-b"}))
    assert found is not None
    assert (found.zone, found.capacity_type, found.price) == ("zone-b", "spot", 0.4)
    assert cheapest(make_instance_type(), Requirements.from_labels({labels.ZONE: "nowhere"})) is None


def test_types_are_compatible_when_they_may_be_what_is_wanted_and_can_be_had() -> None:
    amd, arm = make_instance_type("amd"), make_instance_type("arm", arch="arm64")
    sold_out = sold(Offering("zone-a", "spot", 1.0, available=False), name="gone")
    wanted = Requirements.from_labels({labels.ARCH: "arm64"})
    assert compatible([amd, arm, sold_out], wanted) == (arm,)
    assert compatible([amd, arm, sold_out], ANYTHING) == (amd, arm)


def test_types_go_by_their_cheapest_allowed_offering_and_ties_by_name() -> None:
    cheap_spot = sold(Offering("a", "spot", 0.1), Offering("a", "on-demand", 9.0), name="x")
    steady = sold(Offering("a", "on-demand", 1.0), name="y")
    twin = sold(Offering("a", "on-demand", 1.0), name="b")
    on_demand = Requirements([Requirement.in_(labels.CAPACITY_TYPE, labels.ON_DEMAND)])
    assert [t.name for t in order_by_price([steady, twin, cheap_spot], on_demand)] == ["b", "y", "x"]
    assert [t.name for t in order_by_price([steady, twin, cheap_spot], ANYTHING)] == ["x", "b", "y"]


@pytest.mark.core("CORE-635")
def test_a_machine_that_runs_costs_its_price_though_the_offering_is_sold_out() -> None:
    found = sold(Offering("a", "spot", 0.3, available=False), Offering("b", "spot", math.nan))
    assert current_price(found, "a", "spot") == 0.3
    assert current_price(found, "a", "on-demand") is None
    assert current_price(found, "b", "spot") is None


def test_a_catalog_remembers_what_was_derived_from_it() -> None:
    types = make_instance_types()
    calls = []

    def count(catalog: InstanceTypes) -> int:
        calls.append(catalog)
        return len(catalog)

    assert [types.derived(count), types.derived(count)] == [10, 10]
    assert calls == [types]


def test_a_catalog_finds_types_by_name() -> None:
    types = make_instance_types()
    assert types.by_name("c4") in types
    assert types.by_name("nothing") is None
