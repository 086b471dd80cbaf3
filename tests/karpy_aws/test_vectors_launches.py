"""Whole launches as Karpenter's own code makes them: the fleets it asks for, the claims it makes of the replies, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from karpy.cloud.provider import Instance
from karpy.errors import CreateFailed, InsufficientCapacity, KarpyError, NodeClassNotReady
from karpy_aws import labels
from karpy_aws.machines import zone_of
from karpy_aws.testing.models import request_problems
from tests.karpy_aws.fleetworld import ELSEWHERE, Played, fleet, play, without_claim
from tests.karpy_aws.vectorworld import amounts, lines, whole_bytes

_REWRITTEN = (
    "there Karpenter takes the IPv6 member out of the class itself, so that the claim's hash is that of no class"
)
DIFFERENCES = {
    "region-us-iso-east-1": _REWRITTEN,
    "region-us-isob-west-1": _REWRITTEN,
    "subnets-no-zone-id": "a zone whose id nobody says is a zone all the same",
    "subnets-none": "a class without subnets is not ready, rather than its instance types unreadable",
    "placement-partition-asked-name": "the template and the label are of the same partition, the lowest",
}
ERROR_DIFFERENCES = {
    "no-instances-no-errors": "Karpenter crashes; karpy says that EC2 gave neither a machine nor a reason",
    "group-partition-ice-2": "what a launch into a partition finds is read where it is filed",
}
CLASSES = {
    "InsufficientCapacity": InsufficientCapacity,
    "NodeClassNotReady": NodeClassNotReady,
    "CreateError": CreateFailed,
}


def like_recorded(error: KarpyError | None, wanted: Mapping[str, Any] | None) -> bool:
    """Karpenter's condition says what kind of failure it was; karpy's goes on with what EC2 said."""
    if wanted is None or error is None:
        return error is None and wanted is None
    if not isinstance(error, CLASSES[wanted["class"]]):
        return False
    if not isinstance(error, CreateFailed):
        return True
    return error.reason == wanted["reason"] and str(error).startswith(wanted["conditionMessage"])


def claim_of(instance: Instance | None) -> Any:
    if instance is None:
        return None
    return {
        "annotations": dict(instance.annotations),
        "labels": {key: value for key, value in instance.labels.items() if key not in ELSEWHERE},
        "imageID": instance.image_id,
        "zone": zone_of(instance.provider_id),
        "capacity": amounts(instance.capacity),
        "allocatable": amounts(instance.allocatable),
    }


def recorded_claim(wanted: Mapping[str, Any] | None) -> Any:
    if wanted is None:
        return None
    return {
        "annotations": wanted["annotations"],
        "labels": {
            key: value
            for key, value in wanted["labels"].items()
            if key not in ELSEWHERE and (key, value) != (labels.PLACEMENT_GROUP_PARTITION, "")
        },
        "imageID": wanted["imageID"],
        "zone": zone_of(wanted["providerID"]),
        "capacity": amounts(wanted["capacity"]),
        "allocatable": amounts(whole_bytes(wanted["allocatable"])),
    }


def outcome(played: Played, line: Mapping[str, Any]) -> tuple[Any, Any]:
    """What came of a launch, and what came of it when it was recorded."""
    expect = line["expect"]
    requests = played.fake.requests("CreateFleet")
    assert [request_problems("ec2", "CreateFleet", request) for request in requests] == [""] * len(requests)
    found = {
        "fleets": [fleet(without_claim(request, played.launch.claim)) for request in requests],
        "nodeClaim": claim_of(played.instance),
        "reservationCounts": dict(played.reservations.at(0.0)),
        "error": str(played.error) if played.error else None,
    }
    wanted = {
        "fleets": [fleet(request) for request in expect["fleets"]],
        "nodeClaim": recorded_claim(expect.get("nodeClaim")),
        "reservationCounts": expect.get("reservationCounts") or {},
        "error": found["error"] if like_recorded(played.error, expect.get("error")) else expect.get("error"),
    }
    return found, wanted


def lessons(played: Played, line: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a launch that had errors learned of them, and what it learned when it was recorded."""
    expect = line["expect"]
    found = {
        "error": str(played.error) if played.error else None,
        "unavailable": sorted(played.became_unavailable()),
        "createFleetCalls": len(played.fake.requests("CreateFleet")),
        "createLaunchTemplateCalls": len(played.fake.world.launch_templates),  # calls that failed were not counted
        "reservationCounts": dict(played.reservations.at(0.0)),
        "subnetFreeIPs": {id_: count for id_, count in played.addresses.free().items() if not count},
        "nodeClaim": claim_of(played.instance),
    }
    wanted = {
        "error": found["error"] if like_recorded(played.error, expect.get("error")) else expect.get("error"),
        "unavailable": expect.get("becameUnavailable") or [],
        "createFleetCalls": expect["createFleetCalls"],
        "createLaunchTemplateCalls": expect["createLaunchTemplateCalls"],
        "reservationCounts": expect.get("reservationCounts") or {},
        "subnetFreeIPs": expect.get("subnetFreeIPs") or {},
        "nodeClaim": recorded_claim(expect["nodeClaim"]) if "nodeClaim" in expect else found["nodeClaim"],
    }
    return found, wanted


def unlike(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {key: (found[key], wanted[key]) for key in found if found[key] != wanted[key]}


@pytest.mark.aws(
    "AWS-161", "AWS-188", "AWS-192", "AWS-193", "AWS-196", "AWS-197", "AWS-199", "AWS-200", "AWS-201", "AWS-202"
)
@pytest.mark.aws("AWS-203", "AWS-204", "AWS-205", "AWS-206", "AWS-207", "AWS-208", "AWS-209")
def test_launches_are_as_karpenter_makes_them(shared: Path) -> None:
    told = {}
    for line in lines(shared, "launches.jsonl"):
        if line.get("absentNC"):  # whether there is a class is the core's to know
            continue
        found = unlike(*outcome(play(line, shared), line))
        if bool(found) != (line["name"] in DIFFERENCES):
            told[line["name"]] = found
    assert not told


@pytest.mark.aws("AWS-189", "AWS-190", "AWS-207", "AWS-209", "AWS-212")
def test_failed_launches_fail_as_recorded_and_teach_the_same(shared: Path) -> None:
    told = {}
    for line in lines(shared, "launch_errors.jsonl"):
        found = unlike(*lessons(play(line, shared), line))
        if bool(found) != (line["name"] in ERROR_DIFFERENCES):
            told[line["name"]] = found
    assert not told
