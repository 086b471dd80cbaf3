from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from karpy.testing.clock import FakeClock
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.health import (
    Ailment,
    Unhealthy,
    health_requests,
    newly_unhealthy,
    read_health,
    unhealthy_instances,
    worst,
)
from karpy_aws.testing import FakeAWS, World

SICK = Unhealthy("i-1", Ailment.INSTANCE)
SHAKEN = Unhealthy("i-1", Ailment.SYSTEM)
ANNOUNCED = Unhealthy("i-1", Ailment.EVENT)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeAWS:
    fake = FakeAWS(World(), clock=clock, check_answers=True)
    placement = {"AvailabilityZone": "us-west-2a"}
    fake.world.load(
        instances=[
            {"InstanceId": id_, "State": {"Code": 16, "Name": "running"}, "Placement": placement}
            for id_ in ("i-1", "i-2")
        ]
    )
    return fake


def failed(clock: FakeClock, seconds: float, status: str = "failed") -> dict[str, Any]:
    since = dt.datetime.fromtimestamp(clock.now() - seconds, dt.UTC)
    return {"Status": "impaired", "Details": [{"Name": "reachability", "Status": status, "ImpairedSince": since}]}


@pytest.mark.aws("AWS-229")
@pytest.mark.parametrize(("member", "found"), [("InstanceStatus", SICK), ("SystemStatus", SHAKEN)])
def test_a_machine_that_does_not_answer_is_ended_after_two_minutes(
    fake: FakeAWS, clock: FakeClock, member: str, found: Unhealthy
) -> None:
    fake.world.statuses["i-1"] = {member: failed(clock, 119)}
    assert unhealthy_instances(fake.apis.ec2, clock.now()) == set()
    fake.world.statuses["i-1"] = {member: failed(clock, 120)}
    assert unhealthy_instances(fake.apis.ec2, clock.now()) == {found}
    assert found.is_forceful


@pytest.mark.aws("AWS-229")
@pytest.mark.parametrize(
    "code", ["instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop"]
)
def test_what_is_announced_counts_at_once_and_is_no_reason_for_haste(
    fake: FakeAWS, clock: FakeClock, code: str
) -> None:
    fake.world.statuses["i-1"] = {"Events": [{"Code": code, "Description": "soon"}]}
    assert unhealthy_instances(fake.apis.ec2, clock.now()) == {ANNOUNCED}
    assert not ANNOUNCED.is_forceful


def test_what_is_over_or_passes_or_is_about_volumes_does_not_count(clock: FakeClock) -> None:
    volumes = {"AttachedEbsStatus": failed(clock, 600)}
    over = {"Events": [{"Code": "instance-reboot", "Description": "[Completed] soon"}]}
    other = {"Events": [{"Code": "instance-birthday"}]}
    passed = {"InstanceStatus": failed(clock, 600, "passed")}
    for status in (volumes, over, other, passed):
        assert list(read_health({"InstanceId": "i-1", **status}, clock.now())) == []


@pytest.mark.aws("AWS-250")
def test_answers_are_looked_at_even_where_filters_are_ignored(fake: FakeAWS, clock: FakeClock) -> None:
    [first, *_] = fake.apis.ec2.describe_instance_status({})["InstanceStatuses"]
    assert first["InstanceStatus"]["Status"] == "ok"
    assert list(read_health(first, clock.now())) == []


@pytest.mark.aws("AWS-229")
def test_the_worst_decides() -> None:
    assert worst([ANNOUNCED, SICK]) == worst([SICK, ANNOUNCED]) == {"i-1": SICK}
    assert worst([ANNOUNCED]) == {"i-1": ANNOUNCED}


@pytest.mark.aws("AWS-229")
def test_an_ailment_is_counted_once_until_it_was_gone() -> None:
    minutes = [{SICK}, {SICK, ANNOUNCED}, set[Unhealthy](), {SICK}]
    before = [set[Unhealthy](), *minutes]
    counted = [newly_unhealthy(found, known) for found, known in zip(minutes, before, strict=False)]
    assert counted == [{SICK}, {ANNOUNCED}, set(), {SICK}]


def test_each_category_is_asked_for_alone(fake: FakeAWS, clock: FakeClock) -> None:
    unhealthy_instances(fake.apis.ec2, clock.now())
    asked = [filters["Name"] for call in fake.requests("DescribeInstanceStatus") for filters in call["Filters"]]
    assert asked == ["instance-status.status", "system-status.status", "event.code"]
    assert len(health_requests()) == 3


@pytest.mark.aws("AWS-229")
def test_a_caller_who_may_not_ask_is_told_so(fake: FakeAWS, clock: FakeClock) -> None:
    fake.world.denied = {"ec2:DescribeInstanceStatus"}
    with pytest.raises(AWSError, match=r"the controller's role needs ec2:DescribeInstanceStatus") as caught:
        unhealthy_instances(fake.apis.ec2, clock.now())
    assert caught.value.has(ErrorClass.UNAUTHORIZED)
