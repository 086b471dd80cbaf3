from __future__ import annotations

from pathlib import Path

import pytest

from karpy.errors import CreateFailed, InsufficientCapacity
from karpy_aws.fleeterrors import (
    FleetError,
    Launched,
    Lessons,
    failure_labels,
    launch_error,
    lessons,
    read_fleet_errors,
)
from karpy_aws.unavailable import OfferingKey
from tests.vectors import read

A, B = "us-west-2a", "us-west-2b"
SOLD_OUT = "InsufficientInstanceCapacity"
NO_ADDRESSES = "InsufficientFreeAddressesInSubnet"
NO_ROLE = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
SPREAD_LIMIT = "You've reached the limit of instances in this spread placement group."
ON_DEMAND = Launched(capacity_type="on-demand", instance_types=("m5.large", "c5.large"))
RESERVED = Launched(capacity_type="reserved", reservations={("m5.large", A): "cr-1", ("m5.large", B): "cr-2"})


def error(code: str, zone: str = A, message: str = "", *, type_: str = "m5.large", subnet: str = "") -> FleetError:
    return FleetError(code=code, message=message, instance_type=type_, zone=zone, subnet=subnet)


def test_errors_are_read_with_the_pool_that_they_are_of() -> None:
    override = {"InstanceType": "m5.large", "AvailabilityZone": A, "SubnetId": "subnet-1"}
    told = {"ErrorCode": SOLD_OUT, "ErrorMessage": "no", "LaunchTemplateAndOverrides": {"Overrides": override}}
    assert read_fleet_errors({"Errors": [told]}) == (error(SOLD_OUT, message="no", subnet="subnet-1"),)
    assert read_fleet_errors({"Errors": [{"ErrorCode": "X"}]}) == (FleetError(code="X"),)
    assert read_fleet_errors({}) == ()


@pytest.mark.aws("AWS-189")
@pytest.mark.parametrize(
    "code",
    [
        *("InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "UnfulfillableCapacity"),
        *("Unsupported", NO_ADDRESSES, "MaxFleetCountExceeded", "ReservationCapacityExceeded", NO_ROLE),
    ],
)
def test_errors_of_capacity_alone_are_insufficient_capacity(code: str) -> None:
    raised = launch_error([error(code), error(SOLD_OUT, B)])
    assert isinstance(raised, InsufficientCapacity)
    assert raised.offerings == (("m5.large", A), ("m5.large", B))
    assert code in str(raised)


@pytest.mark.aws("AWS-189")
def test_one_error_of_another_kind_decides() -> None:
    raised = launch_error([error(SOLD_OUT, message="a"), error("RequestLimitExceeded", message="b")])
    assert isinstance(raised, CreateFailed)
    assert raised.reason == "RequestLimitExceeded"
    assert str(raised) == "Request limit exceeded: InsufficientInstanceCapacity: a; RequestLimitExceeded: b"


def test_equal_errors_are_told_once_and_none_are_told_too() -> None:
    assert str(launch_error([error("X", message="a"), error("X", B, message="a")])) == "Instance launch failed: X: a"
    assert "gave no reason" in str(launch_error([]))


@pytest.mark.aws("AWS-189", "AWS-190")
def test_fleets_that_gave_nothing_fail_as_recorded(shared: Path) -> None:
    count = 0
    for line in read(shared, "aws/launch_errors.jsonl"):
        expected, scripts = line["expect"].get("error"), line["world"].get("fleet") or []
        if not expected or len(scripts) != 1 or not scripts[0].get("errors"):
            continue
        count += 1
        raised = launch_error(
            [error(found["code"], message=found.get("message", "")) for found in scripts[0]["errors"]]
        )
        if expected["class"] == "InsufficientCapacity":
            assert isinstance(raised, InsufficientCapacity), line["name"]
        else:
            assert isinstance(raised, CreateFailed), line["name"]
            assert raised.reason == expected["reason"], line["name"]
            assert str(raised).startswith(f"{expected['conditionMessage']}: "), line["name"]
    assert count


@pytest.mark.aws("AWS-146")
def test_a_pool_without_capacity_is_marked_with_what_was_said() -> None:
    found = lessons([error(SOLD_OUT), error("VcpuLimitExceeded", B)], ON_DEMAND)
    assert found == Lessons(
        offerings={
            OfferingKey("on-demand", "m5.large", A): SOLD_OUT,
            OfferingKey("on-demand", "m5.large", B): "VcpuLimitExceeded",
        }
    )


@pytest.mark.aws("AWS-190")
@pytest.mark.parametrize("launched", [ON_DEMAND, RESERVED])
@pytest.mark.parametrize(
    "code", ["RequestLimitExceeded", "InternalError", "UnauthorizedOperation", "InvalidAMIID.NotFound"]
)
def test_errors_of_the_request_or_of_aws_mark_nothing(code: str, launched: Launched) -> None:
    assert lessons([error(code)], launched) == Lessons()


def test_a_subnet_without_addresses_is_marked_instead_of_its_pool() -> None:
    found = lessons([error(NO_ADDRESSES, subnet="subnet-1"), error(NO_ADDRESSES, B)], ON_DEMAND)
    assert found.subnets == {"subnet-1"}
    assert found.offerings == {OfferingKey("on-demand", "m5.large", B): NO_ADDRESSES}


@pytest.mark.aws("AWS-209")
def test_a_reservation_is_used_up_and_the_general_offering_is_not() -> None:
    found = lessons([error("ReservationCapacityExceeded"), error(NO_ADDRESSES, B, subnet="subnet-2")], RESERVED)
    assert found == Lessons(reservations=frozenset({"cr-1", "cr-2"}), subnets=frozenset({"subnet-2"}))


@pytest.mark.parametrize(("launched", "marked"), [(ON_DEMAND, {"spot"}), (RESERVED, set())])
def test_an_account_without_the_role_for_spot_has_no_spot(launched: Launched, marked: set[str]) -> None:
    assert lessons([error(NO_ROLE)], launched).capacity_types == marked


@pytest.mark.aws("AWS-147")
def test_what_a_group_found_is_marked_for_the_group_and_its_partition() -> None:
    grouped = Launched(capacity_type="spot", instance_types=("m5.large", "c5.large"), group="pg-1", partition=3)
    assert set(lessons([error(SOLD_OUT)], grouped).offerings) == {OfferingKey("spot", "m5.large", A, "pg-1", 3)}
    full = lessons([error(SOLD_OUT, message=SPREAD_LIMIT)], grouped)
    assert set(full.offerings) == {
        OfferingKey("spot", "m5.large", A, "pg-1"),
        OfferingKey("spot", "c5.large", A, "pg-1"),
    }


@pytest.mark.aws("AWS-191")
def test_every_error_is_counted_by_zone_and_reason_even_if_they_are_not_told() -> None:
    zones = {A: "usw2-az2"}
    assert failure_labels(error(SOLD_OUT), "spot", zones) == {
        "zone": A,
        "zone_id": "usw2-az2",
        "capacity_type": "spot",
        "reason": SOLD_OUT,
    }
    assert failure_labels(FleetError(code=""), "on-demand", zones) == {
        "zone": "unknown",
        "zone_id": "unknown",
        "capacity_type": "on-demand",
        "reason": "unknown",
    }
