"""Conditions that come to stand otherwise are counted and told, whoever writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from karpy.gauges import condition_metrics, labels_of_claims
from karpy.objects import kinds
from tests.karpy.controllers.stage import Stage

CLAIMS = condition_metrics("NodeClaim", tuple(n for _k, n in labels_of_claims([("sim.karpy.dev", "SimNodeClass")])))
ALL = condition_metrics()
DEFAULT = {"karpenter_sh_nodepool": "default", "sim_karpy_dev_simnodeclass": "default"}


@pytest.fixture
def stage() -> Stage:
    return Stage()


def told(stage: Stage, kind: str, name: str) -> list[str]:
    """What events say about an object, in order."""
    return [
        event["message"]
        for event in sorted(stage.all(kinds.EVENT), key=lambda event: int(event["metadata"]["resourceVersion"]))
        if (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == (kind, name)
    ]


def counted(stage: Stage, metric: str, /, **labels: str) -> float:
    return sum(
        sample.value
        for family in stage.metrics.registry.collect()
        for sample in family.samples
        if sample.name == metric and labels.items() <= sample.labels.items()
    )


def test_what_a_claim_reaches_is_counted_by_condition(stage: Stage) -> None:
    stage.grown()
    for type_ in ("Launched", "Registered", "Initialized", "Ready"):
        labels = {**DEFAULT, "type": type_, "status": "True", "reason": type_}
        assert stage.metrics.value(CLAIMS.transitions, **labels) == 1, type_
        everywhere = {"group": "karpenter.sh", "kind": "NodeClaim", "type": type_, "status": "True", "reason": type_}
        assert stage.metrics.value(ALL.transitions, **everywhere) == 1, type_


def test_how_long_a_condition_stood_is_observed_when_it_changes(stage: Stage) -> None:
    name = stage.grown()
    took = stage.metrics.value(CLAIMS.transition_seconds, "_sum", **DEFAULT, type="Registered", status="Unknown")
    claim = stage.operator.state.claim(name)
    assert claim is not None
    registered, launched = claim.condition("Registered"), claim.condition("Launched")
    assert registered is not None
    assert launched is not None
    assert took == registered.since - launched.since > 0


def test_how_conditions_stand_is_shown_while_the_object_is_there(stage: Stage) -> None:
    name = stage.grown()
    which = {**DEFAULT, "namespace": "", "name": name, "type": "Ready", "status": "True", "reason": "Ready"}
    assert stage.metrics.value(CLAIMS.count, **which) == 1
    before = stage.metrics.value(CLAIMS.current, **which)
    assert before is not None
    stage.run(10)
    assert stage.metrics.value(CLAIMS.current, **which) == pytest.approx(before + 10)
    stage.api.delete(kinds.NODE_CLAIM, name)
    stage.until(lambda: name not in stage.names(kinds.NODE_CLAIM))
    assert counted(stage, CLAIMS.count.name, name=name) == 0


def test_how_long_an_end_takes_is_shown_and_then_observed(stage: Stage) -> None:
    name = stage.grown()
    stage.api.delete(kinds.NODE_CLAIM, name)
    start = stage.clock.now()
    stage.until(lambda: counted(stage, CLAIMS.ending.name, name=name) > 0)
    stage.until(lambda: name not in stage.names(kinds.NODE_CLAIM))
    stage.run(0)
    assert counted(stage, CLAIMS.ending.name, name=name) == 0
    assert stage.metrics.value(CLAIMS.ended, "_count", **DEFAULT) == 1
    took = stage.metrics.value(CLAIMS.ended, "_sum", **DEFAULT)
    assert took is not None
    assert 0 < took <= stage.clock.now() - start + 1


def test_changes_are_told_on_the_object_itself(stage: Stage) -> None:
    name = stage.grown()
    for type_ in ("Launched", "Registered", "Initialized", "Ready"):
        text = f"Status condition transitioned, Type: {type_}, Status: Unknown -> True, Reason: {type_}"
        assert told(stage, "NodeClaim", name).count(text) == 1


def test_a_condition_that_not_every_object_will_have_is_no_change_when_it_comes(stage: Stage) -> None:
    name = stage.grown()
    assert not [text for text in told(stage, "NodeClaim", name) if "ConsistentStateFound" in text]


def test_a_kubelet_that_falls_ill_is_told_on_the_node(stage: Stage) -> None:
    stage.grown()
    (node,) = stage.nodes
    name = node["metadata"]["name"]
    stage.run(30)
    sick: Mapping[str, Any] = {
        "type": "Ready",
        "status": "False",
        "reason": "KubeletNotReady",
        "message": "it is sick",
        "lastTransitionTime": "2026-01-05T09:01:00Z",
    }
    stage.api.patch(kinds.NODE, name, {"status": {"conditions": [sick]}}, subresource="status")
    stage.run(1)
    text = "Status condition transitioned, Type: Ready, Status: True -> False, Reason: KubeletNotReady, Message: it is sick"
    assert text in told(stage, "Node", name)
    ill = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "karpenter_sh_nodepool": "default"}
    assert counted(stage, "operator_node_status_condition_transitions_total", **ill) == 1


def test_the_end_of_an_object_is_told_with_its_name(stage: Stage) -> None:
    name = stage.grown()
    stage.api.delete(kinds.NODE_CLAIM, name)
    stage.until(lambda: name not in stage.names(kinds.NODE_CLAIM))
    stage.run(1)
    assert told(stage, "NodeClaim", name)[-1] == "Finalized karpenter.sh/termination"


def test_after_a_restart_nothing_that_stood_before_is_told_again(stage: Stage) -> None:
    objects = (("NodeClaim", stage.grown()), ("NodePool", "default"))
    before = {each: len(told(stage, *each)) for each in objects}
    stage.operator = stage.start()
    stage.run(5)
    for each in objects:
        assert [text for text in told(stage, *each)[before[each] :] if "transitioned" in text] == []
