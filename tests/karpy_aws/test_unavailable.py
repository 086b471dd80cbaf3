from __future__ import annotations

import pytest

from karpy_aws.unavailable import OfferingKey, Shortages, UnavailableOfferings

SPOT = OfferingKey("spot", "m5.large", "us-west-2a")
IN_GROUP = OfferingKey("spot", "m5.large", "us-west-2a", "pg-1")
IN_PARTITION = OfferingKey("spot", "m5.large", "us-west-2a", "pg-1", 3)


@pytest.mark.aws("AWS-140", "AWS-143")
def test_what_ran_out_is_remembered_for_three_minutes() -> None:
    memory = UnavailableOfferings()
    memory.mark(SPOT, now=0.0)
    assert memory.at(179.0).has(SPOT)
    assert not memory.at(180.0).has(SPOT)


@pytest.mark.aws("AWS-140")
def test_marking_again_prolongs() -> None:
    memory = UnavailableOfferings()
    memory.mark(SPOT, now=0.0)
    memory.mark(SPOT, now=100.0)
    assert memory.at(200.0).has(SPOT)


def test_only_what_was_marked_ran_out() -> None:
    memory = UnavailableOfferings()
    memory.mark(SPOT, now=0.0)
    others = [
        OfferingKey("on-demand", "m5.large", "us-west-2a"),
        OfferingKey("spot", "m5.xlarge", "us-west-2a"),
        OfferingKey("spot", "m5.large", "us-west-2b"),
    ]
    assert not any(memory.at(1.0).has(other) for other in others)


@pytest.mark.aws("AWS-147")
@pytest.mark.parametrize(
    ("marked", "short"),
    [
        (SPOT, {SPOT, IN_GROUP, IN_PARTITION}),
        (IN_GROUP, {IN_GROUP, IN_PARTITION}),
        (IN_PARTITION, {IN_PARTITION}),
    ],
)
def test_what_ran_out_in_a_group_ran_out_in_its_partitions_but_not_outside(
    marked: OfferingKey, short: set[OfferingKey]
) -> None:
    memory = UnavailableOfferings()
    memory.mark(marked, now=0.0)
    assert {key for key in (SPOT, IN_GROUP, IN_PARTITION) if memory.at(1.0).has(key)} == short


@pytest.mark.aws("AWS-145")
def test_the_picture_is_another_one_when_something_is_marked_or_over_and_only_then() -> None:
    memory = UnavailableOfferings()
    empty = memory.at(0.0)
    memory.mark(SPOT, now=0.0)
    marked = memory.at(1.0)
    assert marked != empty
    memory.mark(SPOT, now=2.0)
    assert memory.at(3.0) is marked
    assert memory.at(182.0) == empty


@pytest.mark.aws("AWS-146")
def test_what_ec2_said_is_kept_as_long_as_the_mark() -> None:
    memory = UnavailableOfferings()
    memory.mark(SPOT, now=0.0, reason="InsufficientInstanceCapacity")
    assert memory.reason(SPOT) == "InsufficientInstanceCapacity"
    memory.at(180.0)
    assert not memory.reason(SPOT)


@pytest.mark.aws("AWS-143")
def test_capacity_types_and_subnets_are_marked_too_and_everything_can_be_forgotten() -> None:
    memory = UnavailableOfferings()
    memory.mark_capacity_type("spot", now=0.0)
    memory.mark_subnet("subnet-a", now=0.0)
    found = memory.at(1.0)
    assert (found.capacity_types, found.subnets) == ({"spot"}, {"subnet-a"})
    memory.flush()
    assert memory.at(1.0) == Shortages()
