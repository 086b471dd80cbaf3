"""Whole launches as Karpenter's own code makes them: the fleets it asks for, the claims it makes of the replies, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from karpy.cloud.provider import Instance
from karpy.errors import CreateFailed, InsufficientCapacity, KarpyError, NodeClassNotReady
from karpy_aws import labels
from karpy_aws.machines import zone_of
from karpy_aws.testing.models import request_problems
from tests.karpy_aws.fleetworld import ELSEWHERE, Played, fleet, play, without_claim
from tests.karpy_aws.vectorworld import amounts, lines, whole_bytes

DIFFERENCES: dict[str, str] = {}
ERROR_DIFFERENCES: dict[str, str] = {}
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


def test_launches_are_as_karpenter_makes_them(shared: Path) -> None:
    unlike = {}
    for line in lines(shared, "launches.jsonl"):
        if line.get("absentNC"):  # whether there is a class is the core's to know
            continue
        found, wanted = outcome(play(line, shared), line)
        if (found != wanted) != (line["name"] in DIFFERENCES):
            unlike[line["name"]] = {key: (found[key], wanted[key]) for key in found if found[key] != wanted[key]}
    assert not unlike


def test_failed_launches_fail_as_recorded_and_teach_the_same(shared: Path) -> None:
    unlike = {}
    for line in lines(shared, "launch_errors.jsonl"):
        expect, played = line["expect"], play(line, shared)
        asked = {"CreateFleet": "createFleetCalls", "CreateLaunchTemplate": "createLaunchTemplateCalls"}
        found: dict[str, Any] = {
            "error": str(played.error) if played.error else None,
            "unavailable": sorted(played.became_unavailable()),
            "calls": {member: len(played.fake.requests(operation)) for operation, member in asked.items()},
            "reservationCounts": dict(played.reservations.at(0.0)),
            "subnetFreeIPs": {id_: count for id_, count in played.addresses.free().items() if not count},
            "nodeClaim": claim_of(played.instance),
        }
        wanted: dict[str, Any] = {
            "error": found["error"] if like_recorded(played.error, expect.get("error")) else expect.get("error"),
            "unavailable": expect.get("becameUnavailable") or [],
            "calls": {member: expect[member] for member in asked.values()},
            "reservationCounts": expect.get("reservationCounts") or {},
            "subnetFreeIPs": expect.get("subnetFreeIPs") or {},
            "nodeClaim": recorded_claim(expect.get("nodeClaim")) if "nodeClaim" in expect else found["nodeClaim"],
        }
        if (found != wanted) != (line["name"] in ERROR_DIFFERENCES):
            unlike[line["name"]] = {key: (found[key], wanted[key]) for key in found if found[key] != wanted[key]}
    assert not unlike
