"""What is said of nodes that stay: each text once in a while on each object, and none hides another."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.metrics import CONSOLIDATION_MOVES, CONSOLIDATION_SCORE, DISRUPTION_PASSES_SINCE_JUDGED, DISRUPTION_VERDICTS
from karpy.objects import kinds
from tests.karpy.controllers.disruption.commanding import peopled, told
from tests.karpy.controllers.stage import Stage, apps, conditions, pool


def texts(stage: Stage, reason: str, kind: str = "Node") -> list[str]:
    """What was said for this reason, each time that it was, in order."""
    events = sorted(stage.all(kinds.EVENT), key=lambda event: int(event["metadata"]["resourceVersion"]))
    about = (event for event in events if event["involvedObject"]["kind"] == kind)
    return [event["message"] for event in about if event["reason"] == reason]


def stir(stage: Stage) -> None:
    """Something changes, so that nodes are looked at anew."""
    annotations = {"stirred": str(stage.clock.now())}
    stage.api.patch(kinds.NODE_POOL, "default", {"metadata": {"annotations": annotations}})


def on_demand() -> dict[str, Any]:
    wanted = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
    return pool(requirements=[wanted])


def test_that_a_node_is_as_cheap_as_it_can_be_is_said_every_quarter_of_an_hour() -> None:
    stage = Stage(on_demand())
    stage.grown(apps("a", 2))
    for _ in range(80):
        stir(stage)
        stage.run(10)
    assert texts(stage, "Unconsolidatable") == ["Can't replace with a cheaper node"]
    for _ in range(30):
        stir(stage)
        stage.run(10)
    assert texts(stage, "Unconsolidatable") == ["Can't replace with a cheaper node"] * 2
    assert texts(stage, "Unconsolidatable", "NodeClaim") == texts(stage, "Unconsolidatable")


def test_what_else_keeps_a_node_is_said_at_once() -> None:
    """Karpenter says one thing of a node every two minutes, whatever it is."""
    stage = Stage(on_demand())
    name = stage.grown(apps("a", 2))
    stage.until(lambda: bool(texts(stage, "Unconsolidatable")))
    stage.api.patch(kinds.NODE, name, {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}})
    stage.run(11)
    stage.api.patch(kinds.NODE, name, {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": None}}})
    selector = {"matchLabels": {"app": "a"}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    stage.world.apply([{**budget, "spec": {"maxUnavailable": 0, "selector": selector}}])
    stage.run(11)
    said = texts(stage, "DisruptionBlocked")
    assert said[0] == 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation'
    assert "default/b" in said[1]
    assert texts(stage, "DisruptionBlocked", "NodeClaim") == said


def test_a_budget_is_named_though_something_else_held_the_same_pod_before() -> None:
    stage = Stage(on_demand())
    stage.grown(apps("a", 1))
    stage.until(lambda: bool(texts(stage, "Unconsolidatable")))
    (pod,) = stage.names(kinds.POD)
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    stage.world.apply([{**budget, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "a"}}}}])
    for wish in ("true", None):
        patch = {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": wish}}}
        stage.api.patch(kinds.POD, pod, patch, "default")
        stage.run(15)
    first, second = texts(stage, "DisruptionBlocked")
    assert first == f'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/{pod})'
    assert second == "Pdb prevents pod evictions (PodDisruptionBudget=[default/b])"


@pytest.mark.core("CORE-543", "CORE-544")
@pytest.mark.parametrize(
    ("disruption", "text"),
    [
        ({"consolidateAfter": "Never"}, 'NodePool "default" has consolidation disabled'),
        (
            {"consolidationPolicy": "WhenEmpty"},
            'NodePool "default" has consolidation policy WhenEmpty, but node is not empty',
        ),
    ],
)
def test_that_the_pool_does_not_want_it_is_said_on_node_and_claim(disruption: dict[str, str], text: str) -> None:
    kept = pool()
    kept["spec"]["disruption"] |= disruption
    stage = Stage(kept)
    name = stage.grown(apps("a", 2))
    stage.run(300)
    assert told(stage, "Unconsolidatable") == {("Node", name): text, ("NodeClaim", name): text}


@pytest.mark.core("CORE-542")
def test_of_a_node_that_pods_came_to_lately_nothing_is_said() -> None:
    stage = peopled(2, pool=on_demand())
    first, _second = stage.names(kinds.NODE_CLAIM)
    stage.until(lambda: all("Consolidatable" in conditions(claim) for claim in stage.claims))
    stage.world.apply([apps("b", 1, "100m")])
    stage.run(25)
    assert first in {name for _, name in told(stage, "Unconsolidatable")}
    assert not any("consolidateAfter" in text or "disabled" in text for text in texts(stage, "Unconsolidatable"))


def test_how_many_nodes_have_which_verdict_is_a_metric() -> None:
    stage = peopled(2, pool=on_demand())
    stage.until(lambda: all("Consolidatable" in conditions(claim) for claim in stage.claims))
    stage.run(15)

    def shown(verdict: str) -> float | None:
        return stage.metrics.value(DISRUPTION_VERDICTS, nodepool="default", verdict=verdict)

    assert (shown("NoCheaper"), shown("NotCandidate")) == (2, None)
    assert stage.metrics.told(DISRUPTION_PASSES_SINCE_JUDGED)[-1] == (0.0, {})
    for count, name in enumerate(stage.names(kinds.NODE), start=1):
        stage.api.patch(kinds.NODE, name, {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}})
        stage.run(11)
        assert (shown("NoCheaper"), shown("NotCandidate")) == (2 - count or None, count)


@pytest.mark.core("CORE-641")
def test_what_a_pool_of_the_policy_balanced_approves_of_is_told_and_counted() -> None:
    balanced = on_demand()
    balanced["spec"]["disruption"]["consolidationPolicy"] = "Balanced"
    stage = Stage(balanced)
    name = stage.grown(apps("a", 4))
    stage.scale("a", 1)
    stage.until(lambda: bool(told(stage, "ConsolidationApproved")))
    said = told(stage, "ConsolidationApproved")
    assert said.keys() == {("Node", name), ("NodeClaim", name)}
    assert said["Node", name].startswith("score ")
    assert ">= threshold 0.50 (k: 2, savings " in said["Node", name]
    stage.until(lambda: bool(stage.metrics.told(CONSOLIDATION_MOVES)))
    own = {"decision": "approved", "nodepool": "default", "policy": "Balanced"}
    assert stage.metrics.told(CONSOLIDATION_MOVES) == [(1.0, own)]
    ((score, labels),) = stage.metrics.told(CONSOLIDATION_SCORE)
    assert (score >= 0.5, labels) == (True, own)
