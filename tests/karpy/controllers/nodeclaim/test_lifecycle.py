"""A claim's way from its creation to its end, also when a call on the way fails."""

from __future__ import annotations

import json
from typing import Any

import pytest

from karpy import labels
from karpy.errors import CreateFailed, InsufficientCapacity
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from tests.karpy.controllers.stage import (
    Stage,
    apps,
    conditions,
    intercept,
    pool,
    refusal,
    taint_keys,
    writes_condition,
)


def test_a_machine_comes_up_registered_initialized_and_ready() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    said = conditions(stage.api.get(kinds.NODE_CLAIM, name))
    assert {said[each] for each in ("Launched", "Registered", "Initialized", "Ready")} == {"True"}
    (node,) = stage.nodes
    assert node["metadata"]["labels"]["karpenter.sh/initialized"] == "true"
    assert taint_keys(node) == []


def test_a_claim_is_held_by_the_finalizer_before_there_is_an_instance() -> None:
    stage = Stage()
    held: list[list[str]] = []

    def create(real: Any, claim: Any, *rest: Any) -> Any:
        held.append(stage.api.get(kinds.NODE_CLAIM, claim.name)["metadata"].get("finalizers", []))
        return real(claim, *rest)

    intercept(stage.cloud, "create", create)
    stage.grown(apps("a", 1))
    assert held == [[labels.TERMINATION_FINALIZER]]


def test_a_claim_keeps_the_annotations_that_its_pool_gave_it() -> None:
    annotated = pool()
    annotated["spec"]["template"]["metadata"]["annotations"] = {"team": "a"}
    stage = Stage(annotated)
    name = stage.grown(apps("a", 1))
    assert stage.api.get(kinds.NODE_CLAIM, name)["metadata"]["annotations"]["team"] == "a"


def test_an_instance_whose_claim_vanished_during_the_launch_is_deleted() -> None:
    stage = Stage()
    orphans: list[str] = []

    def create(real: Any, claim: Any, *rest: Any) -> Any:
        instance = real(claim, *rest)
        if not orphans:
            orphans.append(instance.provider_id)
            stage.api.delete(kinds.NODE_CLAIM, claim.name)
            stage.api.patch(kinds.NODE_CLAIM, claim.name, {"metadata": {"finalizers": None}})
        return instance

    intercept(stage.cloud, "create", create)
    stage.world.apply([apps("a", 1)])
    stage.run(300)
    assert stage.running("a") == 1
    assert [machine.claim for machine in stage.cloud.machines] == stage.names(kinds.NODE_CLAIM)
    assert orphans[0] not in [machine.provider_id for machine in stage.cloud.machines]


def test_registering_twice_does_not_bring_a_start_up_taint_back() -> None:
    stage = Stage(pool(startupTaints=[{"key": "cni", "effect": "NoSchedule"}]))
    hits: list[int] = []

    def patch(real: Any, kind: Kind, name: str, body: Any, *rest: Any, **more: Any) -> Any:
        if writes_condition(kind, body, "Registered") and not hits:
            hits.append(1)
            (node,) = stage.nodes  # whoever the taint waits for does its work, once
            kept = [taint for taint in node["spec"]["taints"] if taint["key"] != "cni"]
            stage.api.patch(kinds.NODE, node["metadata"]["name"], {"spec": {"taints": kept}})
            raise refusal(409, "Conflict")
        return real(kind, name, body, *rest, **more)

    stage.kube.through("patch", patch)
    stage.grown(apps("a", 1))
    assert hits
    assert (stage.running("a"), taint_keys(stage.nodes[0])) == (1, [])


@pytest.mark.parametrize(
    "status",
    [
        {"lastPodEventTime": "yesterday"},
        {
            "conditions": [
                {"type": "Launched", "status": "True", "lastTransitionTime": "soon", "reason": "x", "message": ""}
            ]
        },
    ],
    ids=["time", "condition"],
)
def test_a_status_that_cannot_be_read_does_not_end_the_world(status: dict[str, Any]) -> None:
    stage = Stage()
    _check_no_formats(stage)
    name = stage.grown(apps("a", 1))
    stage.api.patch(kinds.NODE_CLAIM, name, {"status": status}, subresource="status")
    stage.world.apply([apps("b", 1)])
    stage.run(120)
    assert (stage.running("a"), stage.running("b")) == (1, 1)


def _check_no_formats(stage: Stage) -> None:
    """The definition of claims is one that lets through what karpy cannot read."""
    name = f"{kinds.NODE_CLAIM.plural}.{kinds.NODE_CLAIM.group}"
    definition = json.dumps(stage.api.get(kinds.CRD, name)).replace(', "format": "date-time"', "")
    stage.api.install_crd(json.loads(definition))
    assert "date-time" not in json.dumps(stage.api.get(kinds.CRD, name))


def test_a_claim_that_cannot_be_read_is_refused_at_the_door() -> None:
    stage = Stage()
    _check_no_formats(stage)
    name = stage.grown(apps("a", 1))
    stage.api.patch(kinds.NODE_CLAIM, name, {"status": {"lastPodEventTime": "yesterday"}}, subresource="status")
    stage.run(60)
    assert stage.operator.state.claim(name) is None
    assert (kinds.NODE_CLAIM, name) in stage.operator.state.unreadable


def test_an_older_version_of_a_claim_does_not_replace_a_newer_one() -> None:
    stage = Stage()
    old: list[Any] = []
    stage.world.subscribe(kinds.NODE_CLAIM, lambda event: old.append(event.object))
    name = stage.grown(apps("a", 1))
    state = stage.operator.state
    state.apply(WatchEvent(EventType.MODIFIED, kinds.NODE_CLAIM, old[0]))
    claim = state.claim(name)
    assert claim is not None
    assert claim.is_initialized


def test_a_claim_that_was_made_anew_under_the_same_name_replaces_the_other() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    raw = stage.api.get(kinds.NODE_CLAIM, name)
    other = {**raw, "metadata": {**raw["metadata"], "uid": "another", "resourceVersion": "1"}, "status": {}}
    stage.operator.state.apply(WatchEvent(EventType.ADDED, kinds.NODE_CLAIM, other))
    claim = stage.operator.state.claim(name)
    assert claim is not None
    assert not claim.is_launched


def test_a_claim_that_is_sold_out_is_given_up_and_its_pods_get_another() -> None:
    stage = Stage()
    stage.cloud.fail_launches(InsufficientCapacity("none left"))
    stage.grown(apps("a", 1))
    assert stage.running("a") == 1
    assert "InsufficientCapacityError" in [event["reason"] for event in stage.all(kinds.EVENT)]


def test_a_launch_that_failed_is_told_on_the_claim_and_tried_again() -> None:
    stage = Stage()
    stage.cloud.fail_launches(CreateFailed("not now", "QuotaExceeded"))
    said: list[str] = []

    def note(event: WatchEvent) -> None:
        found = (event.object.get("status") or {}).get("conditions", ())
        said.extend(each["reason"] for each in found if each["type"] == "Launched")

    stage.world.subscribe(kinds.NODE_CLAIM, note)
    stage.grown(apps("a", 1))
    assert list(dict.fromkeys(said)) == ["QuotaExceeded", "Launched"]
    assert stage.cloud.launches == 1


def test_a_machine_that_never_joins_is_replaced() -> None:
    stage = Stage()
    stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 1)])
    stage.run(1000)
    assert stage.running("a") == 1
    assert len(stage.cloud.machines) == 1


def test_a_deleted_claim_goes_after_its_node_and_instance() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    stage.scale("a", 0)
    stage.api.delete(kinds.NODE_CLAIM, name)
    seen: list[tuple[int, int, int]] = []

    def gone() -> bool:
        seen.append((len(stage.nodes), len(stage.cloud.machines), len(stage.claims)))
        return not stage.claims

    stage.until(gone)
    assert seen[-1] == (0, 0, 0)
    assert all(claims == 1 for nodes, machines, claims in seen if nodes or machines)
