from __future__ import annotations

from typing import Any

import pytest

from karpy.requirements import Requirement, Requirements
from karpy_aws import labels
from karpy_aws.objects.nodeclass import PlacementGroupSelector
from karpy_aws.placementgroups import placement_group_request, read_placement_group, wanted_partition


def group(**fields: Any) -> dict[str, Any]:
    return {"GroupId": "pg-1", "GroupName": "g", "State": "available", "Strategy": "cluster", **fields}


@pytest.mark.aws("AWS-070")
def test_a_group_is_asked_for_by_name_or_by_id() -> None:
    assert placement_group_request(PlacementGroupSelector(name="g"))["GroupNames"] == ["g"]
    assert placement_group_request(PlacementGroupSelector(id="pg-1"))["GroupIds"] == ["pg-1"]


@pytest.mark.aws("AWS-070")
@pytest.mark.parametrize(
    ("fields", "partitions", "spread"),
    [
        ({}, 0, None),
        ({"Strategy": "partition", "PartitionCount": 3}, 3, None),
        ({"Strategy": "spread", "SpreadLevel": "rack"}, 0, "rack"),
    ],
)
def test_groups_of_all_strategies_are_read(fields: dict[str, Any], partitions: int, spread: str | None) -> None:
    found = read_placement_group([{"PlacementGroups": [group(**fields)]}])
    assert found is not None
    assert (found.id, found.partition_count, found.spread_level) == ("pg-1", partitions, spread)


@pytest.mark.aws("AWS-070")
def test_a_group_that_is_missing_or_being_deleted_is_none() -> None:
    assert read_placement_group([{"PlacementGroups": []}]) is None
    assert read_placement_group([{"PlacementGroups": [group(State="deleting")]}]) is None


@pytest.mark.parametrize(
    ("allowed", "partition"),
    [
        ([Requirement.in_(labels.PLACEMENT_GROUP_PARTITION, "3", "10")], 3),
        ([Requirement.absent(labels.PLACEMENT_GROUP_PARTITION)], None),
        ([Requirement.exists(labels.PLACEMENT_GROUP_PARTITION)], None),
        ([], None),
    ],
)
def test_the_lowest_partition_that_a_claim_allows_is_taken_by_number(
    allowed: list[Requirement], partition: int | None
) -> None:
    assert wanted_partition(Requirements(allowed)) == partition
