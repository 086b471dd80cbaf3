from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from karpy.clock import parse_time
from karpy_aws.objects.nodeclass import CapacityReservationTerm
from karpy_aws.reservations import ReservationCounts, available_counts, reservation_request, resolve_reservations

NOW = parse_time("2026-08-21T12:00:00Z")


def entry(id_: str = "cr-1", **fields: Any) -> dict[str, Any]:
    usual = {"InstanceType": "m5.large", "AvailabilityZone": "us-west-2a", "OwnerId": "111122223333", "State": "active"}
    return {"CapacityReservationId": id_, "AvailableInstanceCount": 2, **usual, **fields}


@pytest.mark.aws("AWS-067")
@pytest.mark.parametrize(
    ("term", "filters"),
    [
        (CapacityReservationTerm(tags={"team": "a", "env": "*"}), ["tag-key=env", "tag:team=a"]),
        (CapacityReservationTerm(tags={"team": "a"}, owner_id="1"), ["owner-id=1", "tag:team=a"]),
        (CapacityReservationTerm(instance_match_criteria="open"), ["instance-match-criteria=open"]),
        (
            CapacityReservationTerm(instance_match_criteria="open", owner_id="1"),
            ["owner-id=1", "instance-match-criteria=open"],
        ),
    ],
)
def test_a_term_asks_for_active_reservations_for_which_all_of_it_holds(
    term: CapacityReservationTerm, filters: list[str]
) -> None:
    request = reservation_request(term)
    assert [f"{each['Name']}={each['Values'][0]}" for each in request["Filters"]] == ["state=active", *filters]


@pytest.mark.aws("AWS-067")
def test_by_id_the_answer_is_one_page() -> None:
    request = reservation_request(CapacityReservationTerm(id="cr-1"))
    assert request["CapacityReservationIds"] == ["cr-1"]
    assert "MaxResults" not in request


@pytest.mark.aws("AWS-067")
def test_what_is_over_or_not_active_is_left_out_and_each_is_named_once() -> None:
    found = resolve_reservations(
        [
            entry("cr-2", EndDate="2026-08-21T12:00:01Z"),
            entry("cr-1"),
            entry("cr-1"),
            entry("cr-3", EndDate="2026-08-21T12:00:00Z"),
            entry("cr-4", State="expired"),
        ],
        NOW,
    )
    assert [each.id for each in found] == ["cr-1", "cr-2"]


@pytest.mark.aws("AWS-067")
def test_what_ec2_leaves_out_has_its_default() -> None:
    (found,) = resolve_reservations([entry()], NOW)
    assert (found.interruptible, found.reservation_type, found.state, found.end_time) == (
        False,
        "default",
        "active",
        None,
    )
    (block,) = resolve_reservations([entry(Interruptible=True, ReservationType="capacity-block")], NOW)
    assert (block.interruptible, block.reservation_type) == (True, "capacity-block")


@pytest.mark.aws("AWS-068")
@pytest.mark.parametrize(
    ("kind", "minutes", "state"),
    [("capacity-block", 41, "active"), ("capacity-block", 40, "expiring"), ("default", 5, "active")],
)
def test_a_capacity_block_is_expiring_forty_minutes_before_its_end(kind: str, minutes: int, state: str) -> None:
    end = dt.datetime.fromtimestamp(NOW + 60 * minutes, dt.UTC)
    (found,) = resolve_reservations([entry(ReservationType=kind, EndDate=end)], NOW)
    assert found.state == state


def test_counts_follow_launches_and_ends_until_ec2_is_asked_again() -> None:
    counts = ReservationCounts()
    counts.synced(available_counts([entry("cr-1"), entry("cr-2", AvailableInstanceCount=1)]), now=0.0)
    counts.launched("cr-1", now=1.0)
    counts.launched("cr-2", now=1.0)
    counts.launched("cr-2", now=1.0)
    assert counts.at(2.0) == {"cr-1": 1, "cr-2": 0}
    counts.ended("cr-2", now=3.0)
    counts.exhausted("cr-1", now=3.0)
    assert counts.at(4.0) == {"cr-1": 0, "cr-2": 1}
    counts.synced({"cr-1": 5}, now=5.0)
    assert counts.at(6.0) == {"cr-1": 5, "cr-2": 1}


def test_counts_are_forgotten_after_a_day() -> None:
    counts = ReservationCounts()
    counts.synced({"cr-1": 5}, now=0.0)
    assert counts.at(86_399.0) == {"cr-1": 5}
    assert counts.at(86_400.0) == {}


def test_a_reservation_that_nothing_is_known_of_is_not_counted() -> None:
    counts = ReservationCounts()
    counts.launched("cr-9", now=0.0)
    counts.ended("cr-9", now=0.0)
    assert counts.at(1.0) == {}


def test_the_counts_are_the_same_object_while_they_are_the_same() -> None:
    counts = ReservationCounts()
    counts.synced({"cr-1": 5}, now=0.0)
    before = counts.at(1.0)
    counts.synced({"cr-1": 5}, now=2.0)
    assert counts.at(3.0) is before
