from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.errors import InsufficientCapacity
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy_aws import labels
from karpy_aws.choice import MOST_TYPES, Choice, choose, flexibility_warning

A, B = "us-west-2a", "us-west-2b"
ANY = Requirements()
SPOT_OR_ON_DEMAND = Requirements([Requirement.in_(core.CAPACITY_TYPE, "spot", "on-demand")])


def sold(kind: str, price: float, zone: str = A, *, available: bool = True) -> Offering:
    return Offering(zone, kind, price, available)


def reserved(
    id_: str, price: float, left: int = 1, zone: str = A, kind: str = "default", *, ends: bool = False
) -> Offering:
    where = {
        core.ZONE: zone,
        core.CAPACITY_TYPE: "reserved",
        labels.CAPACITY_RESERVATION_ID: id_,
        labels.CAPACITY_RESERVATION_TYPE: kind,
        labels.CAPACITY_RESERVATION_INTERRUPTIBLE: str(ends).lower(),
    }
    return Offering(
        zone,
        "reserved",
        price,
        requirements=Requirements.from_labels(where),
        reservation_id=id_,
        reservation_capacity=left,
    )


def machine(name: str, *offerings: Offering, size: str = "large", **amounts: int) -> InstanceType:
    """A machine of two cores; its family is what its name begins with."""
    told = {core.INSTANCE_TYPE: name, labels.INSTANCE_FAMILY: name.partition(".")[0], labels.INSTANCE_SIZE: size}
    found = offerings or (sold("on-demand", 0.1),)
    return InstanceType(name, Requirements.from_labels(told), found, Resources({"cpu": 2_000, "pods": 10, **amounts}))


def choice(
    *types: InstanceType, wanted: Requirements = ANY, requests: Resources | None = None, **options: Any
) -> Choice:
    return choose(types, wanted, requests or Resources(), **options)


def names(types: Sequence[InstanceType]) -> list[str]:
    return [each.name for each in types]


def bought(found: Choice) -> set[tuple[str, str]]:
    """The type and price, or reservation, of all that may be bought."""
    return {
        (each.name, offering.reservation_id or f"{offering.capacity_type} {offering.price}")
        for each in found.types
        for offering in found.offerings[each.name]
    }


@pytest.mark.aws("AWS-201")
def test_only_what_the_claim_allows_and_what_holds_it_and_is_there_is_left() -> None:
    found = choice(
        machine("m5.large"),
        machine("c5.large"),
        machine("m5.small", cpu=500),
        machine("m5.gone", sold("on-demand", 0.1, available=False)),
        machine("m5.far", sold("on-demand", 0.1, B)),
        wanted=Requirements([Requirement.in_(labels.INSTANCE_FAMILY, "m5"), Requirement.in_(core.ZONE, A)]),
        requests=Resources({"cpu": 1_000}),
    )
    assert names(found.types) == ["m5.large"]


@pytest.mark.aws("AWS-201")
def test_a_label_that_no_type_has_is_no_reason_against_one() -> None:
    assert names(choice(machine("m5.large"), wanted=Requirements.from_labels({"team": "web"})).types) == ["m5.large"]


@pytest.mark.aws("AWS-200", "AWS-201")
def test_nothing_left_is_insufficient_capacity() -> None:
    for types in ((), (machine("m5.large", sold("on-demand", 0.1, available=False)),)):
        with pytest.raises(InsufficientCapacity, match="all requested instance types were unavailable during launch"):
            choice(*types)


@pytest.mark.aws("AWS-201")
def test_of_a_type_only_the_offerings_that_hold_the_claim_count() -> None:
    big = Offering(A, "on-demand", 0.3, capacity_override=Resources({"cpu": 4_000}))
    found = choice(machine("m5.large", sold("on-demand", 0.1), big), requests=Resources({"cpu": 3_000}))
    assert bought(found) == {("m5.large", "on-demand 0.3")}


# Reservations


@pytest.mark.aws("AWS-202")
def test_reservations_of_one_kind_go_into_one_fleet() -> None:
    default, block = reserved("cr-1", 0.2), reserved("cr-2", 0.1, kind="capacity-block")
    assert bought(choice(machine("a", default), machine("b", block), machine("c"))) == {("b", "cr-2")}
    assert bought(choice(machine("a", default), machine("b", reserved("cr-2", 0.3, ends=True)))) == {("a", "cr-1")}


@pytest.mark.aws("AWS-202")
@pytest.mark.parametrize(
    ("offerings", "left"),
    [
        ([reserved("cr-1", 0.1, ends=True), reserved("cr-2", 0.1, kind="capacity-block")], "cr-2"),
        ([reserved("cr-1", 0.1, kind="capacity-block"), reserved("cr-2", 0.1)], "cr-2"),
        ([reserved("cr-1", 0.1, ends=True), reserved("cr-2", 0.1)], "cr-2"),
    ],
)
def test_of_kinds_at_one_price_the_plain_one_is_taken(offerings: list[Offering], left: str) -> None:
    found = choice(*(machine(each.reservation_id or "", each) for each in offerings))
    assert {reservation for _, reservation in bought(found)} == {left}


@pytest.mark.aws("AWS-203")
def test_a_fleet_takes_one_capacity_block_the_cheapest() -> None:
    blocks = [reserved(f"cr-{price}", price, kind="capacity-block") for price in (0.3, 0.1, 0.2)]
    found = choice(*(machine(f"type-{each.price}", each, sold("on-demand", 1.0)) for each in blocks))
    assert bought(found) == {("type-0.1", "cr-0.1")}


@pytest.mark.aws("AWS-204")
def test_of_reservations_of_one_pool_the_one_with_most_left_is_taken() -> None:
    here = [reserved("cr-1", 0.1, left=2), reserved("cr-2", 0.1, left=7), reserved("cr-3", 0.1, left=7)]
    found = choice(machine("a", *here, reserved("cr-4", 0.1, zone=B), sold("on-demand", 1.0)), machine("b"))
    assert bought(found) == {("a", "cr-2"), ("a", "cr-4")}
    assert found.capacity_type == "reserved"


@pytest.mark.aws("AWS-204")
def test_without_a_reservation_everything_else_is_left() -> None:
    assert names(choice(machine("a"), machine("b")).types) == ["a", "b"]
    on_demand = Requirements([Requirement.in_(core.CAPACITY_TYPE, "on-demand")])
    found = choice(machine("a", reserved("cr-1", 0.01), sold("on-demand", 1.0)), machine("b"), wanted=on_demand)
    assert names(found.types) == ["b", "a"]
    assert found.capacity_type == "on-demand"


# Exotic machines


EXOTIC = [
    machine("m5.metal", size="metal"),
    machine("m5.metal-24xl", size="metal-24xl"),
    *(
        machine(name, **{name: 1})
        for name in (
            "nvidia.com/gpu",
            "amd.com/gpu",
            "habana.ai/gaudi",
            "aws.amazon.com/neuron",
            "aws.amazon.com/neuroncore",
        )
    ),
]


@pytest.mark.aws("AWS-108", "AWS-205")
@pytest.mark.parametrize("exotic", EXOTIC, ids=lambda each: each.name)
def test_exotic_machines_are_not_for_those_who_could_have_others(exotic: InstanceType) -> None:
    assert names(choice(exotic, machine("m5.large")).types) == ["m5.large"]
    assert names(choice(exotic).types) == [exotic.name]


@pytest.mark.aws("AWS-205", "AWS-206")
def test_who_asks_for_variety_gets_all_there_is() -> None:
    varied = Requirements([Requirement.exists(labels.INSTANCE_FAMILY, min_values=1), *SPOT_OR_ON_DEMAND.values()])
    dear = machine("m5.metal", sold("spot", 9.0), size="metal")
    assert bought(choice(dear, machine("m5.large"), wanted=varied)) == {("m5.metal", "spot 9.0")}


# Spot


@pytest.mark.aws("AWS-110", "AWS-206")
def test_spot_above_the_cheapest_on_demand_price_is_left_out() -> None:
    found = choice(
        machine("a", sold("spot", 0.05), sold("spot", 0.2, B), sold("on-demand", 0.1)),
        machine("b", sold("spot", 0.15)),
        machine("c", sold("spot", 0.1)),
        wanted=SPOT_OR_ON_DEMAND,
    )
    assert bought(found) == {("a", "spot 0.05"), ("c", "spot 0.1")}


@pytest.mark.aws("AWS-206")
@pytest.mark.parametrize("allowed", [["spot"], ["spot", "on-demand"]])
def test_dear_spot_stays_where_there_is_no_on_demand(allowed: list[str]) -> None:
    on_demand = sold("on-demand", 0.1, available="on-demand" not in allowed)
    wanted = Requirements([Requirement.in_(core.CAPACITY_TYPE, *allowed)])
    assert bought(choice(machine("a", sold("spot", 0.5), on_demand), wanted=wanted)) == {("a", "spot 0.5")}


# How many, and as what


@pytest.mark.aws("AWS-109", "AWS-188")
def test_the_cheapest_sixty_are_taken_and_names_decide_between_equals() -> None:
    types = [machine(f"m{number:03}", sold("on-demand", 1 + (200 - number) // 2)) for number in range(100)]
    found = choice(*types)
    assert len(found.types) == MOST_TYPES
    assert names(found.types)[:3] == ["m099", "m097", "m098"]


@pytest.mark.aws("AWS-188", "AWS-197")
def test_too_little_variety_among_the_cheapest_is_insufficient_capacity() -> None:
    cheap = [machine(f"m5.{number}", sold("on-demand", 0.1)) for number in range(MOST_TYPES)]
    wanted = Requirements([Requirement.exists(labels.INSTANCE_FAMILY, min_values=2)])
    with pytest.raises(InsufficientCapacity, match=labels.INSTANCE_FAMILY):
        choice(*cheap, machine("c5.1", sold("on-demand", 0.2)), wanted=wanted)
    assert len(choice(*cheap, wanted=wanted, strict_min_values=False).types) == MOST_TYPES


@pytest.mark.aws("AWS-197")
def test_variety_is_counted_for_every_key_that_asks_for_it() -> None:
    def asked(families: int, sizes: int) -> Requirements:
        return Requirements(
            [
                Requirement.in_(labels.INSTANCE_FAMILY, "m5", "c5", "r5", min_values=families),
                Requirement.exists(labels.INSTANCE_SIZE, min_values=sizes),
            ]
        )

    types = [machine("m5.large"), machine("c5.large"), machine("c5.xlarge", size="xlarge")]
    assert len(choice(*types, wanted=asked(2, 2)).types) == 3
    for families, sizes in ((3, 2), (2, 3)):
        with pytest.raises(InsufficientCapacity):
            choice(*types, wanted=asked(families, sizes))


@pytest.mark.aws("AWS-208")
def test_what_was_paid_for_comes_before_spot_and_spot_before_on_demand() -> None:
    offerings = [sold("on-demand", 0.1), sold("spot", 0.05), reserved("cr-1", 0.001)]
    for count, kind in ((1, "on-demand"), (2, "spot"), (3, "reserved")):
        assert choice(machine("a", *offerings[:count])).capacity_type == kind


@pytest.mark.aws("AWS-208")
def test_spot_in_another_zone_is_no_spot() -> None:
    wanted = Requirements([Requirement.in_(core.ZONE, A), *SPOT_OR_ON_DEMAND.values()])
    assert (
        choice(machine("a", sold("spot", 0.05, B), sold("on-demand", 0.1)), wanted=wanted).capacity_type == "on-demand"
    )
    spot = Requirements([Requirement.in_(core.ZONE, A), Requirement.in_(core.CAPACITY_TYPE, "spot")])
    with pytest.raises(InsufficientCapacity):
        choice(machine("a", sold("spot", 0.05, B), sold("on-demand", 0.1)), wanted=spot)


@pytest.mark.aws("AWS-180")
@pytest.mark.parametrize(
    ("asked", "tenancy"),
    [
        (None, "default"),
        (Requirement.in_(labels.INSTANCE_TENANCY, "default", "dedicated"), "default"),
        (Requirement.in_(labels.INSTANCE_TENANCY, "dedicated"), "dedicated"),
        (Requirement.not_in(labels.INSTANCE_TENANCY, "default"), "dedicated"),
    ],
)
def test_machines_of_ones_own_are_for_those_who_take_no_others(asked: Requirement | None, tenancy: str) -> None:
    assert choice(machine("a"), wanted=Requirements([asked] if asked else [])).tenancy == tenancy


@pytest.mark.aws("AWS-199")
def test_of_partitions_the_lowest_is_taken() -> None:
    wanted = Requirements([Requirement.in_(labels.PLACEMENT_GROUP_PARTITION, "10", "3")])
    assert choice(machine("a"), wanted=wanted).partition == 3
    assert choice(machine("a")).partition is None


@pytest.mark.aws("AWS-211")
def test_few_types_on_demand_are_warned_of_where_spot_is_allowed() -> None:
    assert "only has 4 instance type options" in flexibility_warning(SPOT_OR_ON_DEMAND, "on-demand", 4)
    assert flexibility_warning(SPOT_OR_ON_DEMAND, "on-demand", 5) == ""
    assert flexibility_warning(SPOT_OR_ON_DEMAND, "spot", 1) == ""
    only = Requirements([Requirement.in_(core.CAPACITY_TYPE, "on-demand")])
    assert flexibility_warning(only, "on-demand", 1) == ""
