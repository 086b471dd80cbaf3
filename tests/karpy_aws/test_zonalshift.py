from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy_aws.zonalshift import managed_resource_request, read_zonal_shifts


def shift(zone: str, expiry: Any, status: str = "APPLIED") -> dict[str, Any]:
    return {"awayFrom": zone, "expiryTime": expiry, "appliedStatus": status}


@pytest.mark.aws("AWS-135")
def test_a_shift_that_is_applied_counts_until_its_end() -> None:
    end = dt.datetime.fromtimestamp(100.0, dt.UTC)
    shifts = read_zonal_shifts({"zonalShifts": [shift("usw2-az1", end), shift("usw2-az2", end, "NOT_APPLIED")]})
    assert shifts.at(99.0) == {"usw2-az1"}
    assert shifts.at(100.0) == frozenset()


@pytest.mark.aws("AWS-135")
def test_aws_own_shift_counts_until_it_is_told_no_more() -> None:
    shifts = read_zonal_shifts({"autoshifts": [{"awayFrom": "usw2-az1", "appliedStatus": "APPLIED"}]})
    assert shifts.at(1e12) == {"usw2-az1"}


def test_of_two_shifts_of_a_zone_the_later_end_counts() -> None:
    assert read_zonal_shifts({"zonalShifts": [shift("a", 200.0), shift("a", 100.0)]}).at(150.0) == {"a"}


def test_a_shift_whose_end_cannot_be_read_is_refused_by_name() -> None:
    with pytest.raises(InvalidObject, match=r"zonalShifts.expiryTime: .*soon"):
        read_zonal_shifts({"zonalShifts": [shift("a", "soon")]})


def test_the_cluster_is_asked_for() -> None:
    assert managed_resource_request("arn:x") == {"resourceIdentifier": "arn:x"}
