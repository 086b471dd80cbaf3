"""Placement groups: which one a node class means, and which partition of it a launch goes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from karpy.requirements import Requirements
from karpy_aws import labels
from karpy_aws.objects.nodeclass import PlacementGroupSelector
from karpy_aws.objects.status import PlacementGroup

__all__ = ["placement_group_request", "read_placement_group", "wanted_partition"]

_AVAILABLE: Final = "available"


def placement_group_request(selector: PlacementGroupSelector) -> dict[str, Any]:
    """What DescribePlacementGroups is asked for."""
    by = {"GroupIds": [selector.id]} if selector.id else {"GroupNames": [selector.name]}
    return {**by, "Filters": [{"Name": "state", "Values": [_AVAILABLE]}]}


def read_placement_group(pages: Iterable[Mapping[str, Any]]) -> PlacementGroup | None:
    """The group of an answer; None when there is none that may be launched into."""
    for page in pages:
        for entry in page.get("PlacementGroups", ()):
            if entry.get("State", _AVAILABLE) == _AVAILABLE:
                return PlacementGroup(
                    id=entry["GroupId"],
                    name=entry.get("GroupName", ""),
                    strategy=entry.get("Strategy", "cluster"),
                    spread_level=entry.get("SpreadLevel"),
                    partition_count=entry.get("PartitionCount") or 0,
                )
    return None


def wanted_partition(requirements: Requirements) -> int | None:
    """The partition that a claim asks for: the lowest of those that it allows; None when it leaves the choice to EC2.

    The launch template and the claim's label both take this one. Karpenter takes the first by text, so 10 before 3, and labels
    the claim with any.
    """
    allowed = requirements.get(labels.PLACEMENT_GROUP_PARTITION)
    if allowed is None or allowed.complement:
        return None
    return min((int(value) for value in allowed.values if value.isdecimal()), default=None)
