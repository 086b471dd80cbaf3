from __future__ import annotations

from typing import Any

import pytest

from karpy.objects.pod import Pod
from karpy.testing import START, make_pod

WAITING = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]


def test_a_pod_that_was_given_up_is_provisionable() -> None:
    assert Pod.from_dict(make_pod()).is_provisionable


@pytest.mark.parametrize(
    "reason",
    [
        {"node": "n"},
        {"status": {"conditions": []}},
        {"status": {"conditions": [{**WAITING[0], "reason": "SchedulingGated"}]}},
        {"status": {"conditions": WAITING, "nominatedNodeName": "n"}},
        {"status": {"conditions": WAITING, "phase": "Failed"}},
        {"owner": "DaemonSet"},
        {"owner": "Node"},
    ],
)
def test_bound_nominated_gated_finished_and_daemon_pods_are_not(reason: dict[str, Any]) -> None:
    assert not Pod.from_dict(make_pod(**reason)).is_provisionable


@pytest.mark.parametrize("phase", ["", "Pending", "Unknown"])
def test_the_phase_does_not_matter_while_the_pod_lives(phase: str) -> None:
    assert Pod.from_dict(make_pod(status={"phase": phase})).is_provisionable


def test_a_pod_that_is_being_deleted_waits_for_nothing() -> None:
    raw = make_pod()
    raw["metadata"]["deletionTimestamp"] = "2026-01-05T09:00:00Z"
    assert not Pod.from_dict(raw).is_provisionable


@pytest.mark.core("CORE-126", "CORE-127", "CORE-128", "CORE-129", "CORE-130")
@pytest.mark.parametrize(
    ("pod", "moves"),
    [
        ({}, True),
        ({"owner": ""}, True),
        ({"status": {"phase": "Succeeded"}}, False),
        ({"owner": "DaemonSet"}, False),
        ({"owner": "Node"}, False),
    ],
)
def test_pods_of_a_leaving_node_move_unless_finished_or_bound_to_it(pod: dict[str, Any], moves: bool) -> None:
    assert Pod.from_dict(make_pod(node="n", **pod)).is_reschedulable is moves


@pytest.mark.core("CORE-129", "CORE-130")
@pytest.mark.parametrize(("owner", "moves"), [("ReplicaSet", False), ("StatefulSet", True)])
def test_of_pods_that_are_being_deleted_only_those_of_stateful_sets_come_back(owner: str, moves: bool) -> None:
    raw = make_pod(node="n", owner=owner)
    raw["metadata"]["deletionTimestamp"] = "2026-01-05T09:00:00Z"
    assert Pod.from_dict(raw).is_reschedulable is moves


@pytest.mark.parametrize("key", ["karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-evict"])
def test_an_annotation_of_either_generation_forbids_eviction(key: str) -> None:
    assert Pod.from_dict(make_pod(annotations={key: "true"})).is_protected(START)
    assert not Pod.from_dict(make_pod(annotations={key: "false"})).is_protected(START)
