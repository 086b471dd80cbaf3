"""What methods find is carried out: several commands of one look, drift without a second look, consolidation after one."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.disruption.command import Command, Method
from karpy.errors import InsufficientCapacity
from karpy.metrics import DISRUPTION_FAILED_VALIDATIONS
from karpy.objects import kinds
from karpy.settings import Settings
from tests.karpy.controllers.disruption.commanding import apart, is_going, is_marked, keeping, peopled, told
from tests.karpy.controllers.stage import Stage, apps, conditions, pool
from tests.karpy.sim.manifests import bare_pod


def commands(stage: Stage, method: Method | None = None) -> list[tuple[float, Command]]:
    return [
        (at, decision)
        for at, decision in stage.decisions
        if isinstance(decision, Command) and method in (None, decision.method)
    ]


def budgeted(nodes: str, found: dict[str, Any]) -> dict[str, Any]:
    found["spec"]["disruption"]["budgets"] = [{"nodes": nodes}]
    return found


def drift(stage: Stage) -> None:
    template = {"spec": {"template": {"metadata": {"labels": {"generation": "2"}}}}}
    stage.api.patch(kinds.NODE_POOL, "default", template)


def test_drift_begins_when_it_is_found() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    drift(stage)
    stage.until(lambda: conditions(stage.api.get(kinds.NODE_CLAIM, old)).get("Drifted") == "True")
    waited = stage.until(lambda: is_marked(stage, old))
    assert waited <= 2
    stage.until(lambda: old not in stage.names(kinds.NODE_CLAIM) and stage.running("a") == 1)
    (new,) = stage.claims
    assert new["metadata"]["labels"]["generation"] == "2"


def test_as_many_as_the_budget_lets_go_begin_at_once() -> None:
    stage = peopled(3, pool=budgeted("2", keeping()))
    drift(stage)
    stage.until(lambda: len(commands(stage)) == 2)
    (first, _), (second, _) = commands(stage)
    assert first == second


@pytest.mark.core("CORE-609")
def test_what_is_under_way_counts_against_the_budget() -> None:
    stage = peopled(3, pool=budgeted("1", keeping()))
    drift(stage)
    for count in (1, 2, 3):
        stage.until(lambda count=count: len(commands(stage)) == count)  # type: ignore[misc]
        begun = {claim for _, command in commands(stage)[:-1] for claim in command.claims}
        there = [claim for claim in stage.claims if claim["metadata"]["name"] in begun]
        assert all(conditions(claim).get("InstanceTerminating") == "True" for claim in there)


def test_all_commands_of_a_look_are_begun() -> None:
    fixed = budgeted("2", keeping())
    fixed["spec"]["replicas"] = 3
    stage = Stage(fixed, settings=Settings(static_capacity=True))
    stage.until(lambda: len(stage.nodes) == 3)
    stage.run(10)
    drift(stage)
    stage.until(lambda: bool(commands(stage)))
    stage.run(0.1)
    assert [command.method for _, command in commands(stage)] == [Method.STATIC_DRIFT] * 2
    stage.until(lambda: len(commands(stage)) == 3)
    stage.run(60)
    assert [claim["metadata"]["labels"]["generation"] for claim in stage.claims] == ["2"] * 3


@pytest.mark.core("CORE-617")
def test_a_drifted_node_stays_as_it_was_when_its_replacement_cannot_be_had() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    stage.cloud.fail_launches(InsufficientCapacity("none left"))
    drift(stage)
    stage.until(lambda: bool(told(stage, "DisruptionAbandoned")))
    assert not is_marked(stage, old)
    assert stage.running("a") == 1
    stage.until(lambda: old not in stage.names(kinds.NODE_CLAIM))  # the next one comes


@pytest.mark.core("CORE-506")
def test_one_replacement_after_another() -> None:
    stage = Stage()
    sizes = [stage.grown(apps("a", 12))]
    for replicas in (6, 2):
        stage.scale("a", replicas)
        stage.until(lambda old=sizes[-1]: old not in stage.names(kinds.NODE_CLAIM))  # type: ignore[misc]
        stage.run(30)
        (claim,) = stage.claims
        sizes.append(claim["metadata"]["name"])
        assert stage.running("a") == replicas
    assert [len(command.replacements) for _, command in commands(stage)] == [1, 1]


@pytest.mark.core("CORE-580", "CORE-587")
def test_consolidation_is_made_sure_of_for_a_while() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 4))
    stage.scale("a", 1)
    stage.until(lambda: bool(told(stage, "ConsolidationCandidate")))
    found = stage.clock.now()
    stage.until(lambda: bool(commands(stage)))
    assert stage.clock.now() - found == 15
    assert commands(stage)[0][1].nodes == (name,)


@pytest.mark.core("CORE-607")
def test_that_nodes_are_empty_is_made_sure_of_for_a_while() -> None:
    stage = Stage(budgeted("100%", pool()))
    name = stage.grown(apps("a", 2))
    stage.scale("a", 0)
    stage.until(lambda: conditions(stage.claims[0]).get("Consolidatable") == "True")
    assert 15 <= stage.until(lambda: bool(commands(stage))) <= 17
    assert commands(stage, Method.EMPTINESS)[0][1].nodes == (name,)


@pytest.mark.core("CORE-607")
def test_empty_nodes_of_a_static_pool_stay() -> None:
    """There are so many of them because somebody wants so many."""
    fixed = budgeted("100%", pool())
    fixed["spec"]["replicas"] = 2
    stage = Stage(fixed, settings=Settings(static_capacity=True))
    stage.until(lambda: len(stage.nodes) == 2)
    names = stage.names(kinds.NODE_CLAIM)
    stage.run(600)
    assert stage.names(kinds.NODE_CLAIM) == names
    assert commands(stage) == []


@pytest.mark.core("CORE-593")
def test_a_pod_that_comes_while_a_node_is_replaced_goes_to_the_replacement() -> None:
    stage = Stage()
    old = stage.grown(apps("a", 4))
    stage.scale("a", 1)
    stage.until(lambda: len(stage.claims) == 2)
    (new,) = set(stage.names(kinds.NODE_CLAIM)) - {old}
    stage.world.apply([bare_pod("late")])
    stage.until(lambda: bool(stage.api.get(kinds.POD, "late", "default")["spec"].get("nodeName")))
    assert stage.api.get(kinds.POD, "late", "default")["spec"]["nodeName"] == new
    stage.until(lambda: stage.names(kinds.NODE_CLAIM) == [new] and stage.running("a") == 1)
    stage.run(60)
    assert stage.names(kinds.NODE_CLAIM) == [new]


@pytest.mark.core("CORE-594")
def test_a_node_that_was_launched_for_pods_of_a_node_that_goes_waits_for_them() -> None:
    """They come one after another, and whoever comes last finds a place too."""
    hasty = budgeted("100%", pool())
    hasty["spec"]["disruption"]["consolidateAfter"] = "0s"
    stage = Stage(hasty)
    old = stage.grown(apps("a", 4))
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}}
    stage.world.apply([{**budget, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "a"}}}}])
    stage.run(60)
    before = commands(stage)
    stage.api.delete(kinds.NODE_CLAIM, old)
    stage.until(lambda: len(stage.claims) == 2)
    (new,) = set(stage.names(kinds.NODE_CLAIM)) - {old}
    stage.until(lambda: stage.names(kinds.NODE_CLAIM) == [new] and stage.running("a") == 4)
    stage.run(120)
    assert stage.names(kinds.NODE_CLAIM) == [new]
    assert commands(stage) == before


def several() -> Stage:
    """Three nodes that held much, and now a pod of nearly nothing each."""
    stage = Stage(budgeted("100%", pool()))
    stage.world.apply([apps("a", 3, "100m"), apart("big", 3)])
    stage.run(60)
    names = stage.names(kinds.NODE)
    for number, node in enumerate(names):
        stage.world.apply([bare_pod(f"small-{number}", nodeName=node)])
    stage.scale("a", 0)
    stage.scale("big", 0)
    stage.until(lambda: bool(told(stage, "ConsolidationCandidate")))
    return stage


@pytest.mark.core("CORE-587")
def test_several_nodes_go_together_after_a_second_look() -> None:
    stage = several()
    assert stage.names(kinds.NODE)
    stage.until(lambda: bool(commands(stage)))
    ((_, command),) = commands(stage)
    assert command.method is Method.MULTI_NODE
    assert len(command.nodes) >= 2
    assert any("-node consolidation)" in text for text in told(stage, "ConsolidationCandidate").values())
    stage.until(lambda: all(is_going(stage, name) for name in command.nodes))


@pytest.mark.core("CORE-547", "CORE-589")
def test_where_several_may_no_longer_go_together_one_may_go_alone() -> None:
    stage = several()
    stage.run(5)
    candidates = sorted(name for kind, name in told(stage, "ConsolidationCandidate") if kind == "Node")
    stage.world.apply([bare_pod("late", nodeName=candidates[0])])
    stage.until(lambda: bool(told(stage, "ConsolidationRejected")))
    assert commands(stage) == []
    assert stage.metrics.told(DISRUPTION_FAILED_VALIDATIONS) == [(1.0, {"consolidation_type": "multi"})]
    stage.until(lambda: bool(commands(stage)), 16)
    assert commands(stage)[0][1].method is Method.SINGLE_NODE
