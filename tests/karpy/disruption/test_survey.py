from __future__ import annotations

from typing import Any

import pytest

from karpy.disruption.command import Command, Method
from karpy.disruption.survey import InTurn, Survey
from karpy.disruption.verdicts import BlockedBy, BudgetSpent, Chosen, NoCheaper, NotCandidate
from karpy.scheduling.plan import Nomination
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_condition, make_machine, make_node, make_nodepool, make_pod

READY = [make_condition("Consolidatable")]


def survey(*objects: Any, budget: str = "100%") -> Survey:
    pool = make_nodepool(disruption={"budgets": [{"nodes": budget}], "consolidateAfter": "0s"})
    flat = [part for obj in objects for part in (obj if isinstance(obj, tuple) else (obj,))]
    snapshot = Snapshot.from_objects([pool, *flat])
    return Survey(snapshot, make_catalog(snapshot), now=START)


def machine(name: str, *pods: str, **more: Any) -> tuple[dict[str, Any], ...]:
    """A machine of four cores that may be consolidated, with pods of one core."""
    running = (make_pod(f"{name}-{pod}", node=name, requests={"cpu": "1"}) for pod in pods)
    return (*make_machine(name, instance_type="c4", conditions=READY, **more), *running)


def test_each_node_is_judged_as_if_it_were_the_only_one() -> None:
    found = survey(machine("a", "1"), machine("b", "1"))
    alone = [judged.alone for judged in found.nodes]
    assert [command.nodes for command in alone if isinstance(command, Command)] == [("a",), ("b",)]
    assert [command.nodes for command in found.next.commands] != [("a",), ("b",)]


def test_who_could_go_but_is_not_first_waits_for_his_turn() -> None:
    found = survey(machine("a", "1"), machine("b", "1", "2"), machine("empty"))
    assert isinstance(found.verdict("empty"), Chosen)
    verdict = found.verdict("a")
    assert isinstance(verdict, InTurn)
    assert str(verdict) == "It could go by itself, but other commands come first"
    assert verdict.explain().startswith(f"{verdict}: the pods of a fit on the other nodes")


def test_who_may_not_go_has_no_turn_to_wait_for() -> None:
    closed = make_nodepool("closed", disruption={"budgets": [{"nodes": "0"}], "consolidateAfter": "0s"})
    found = survey(closed, machine("a", "1", pool="closed"), machine("b", "1"), machine("empty"))
    assert [command.nodes for command in found.next.commands] == [("empty",)]
    assert isinstance(found.verdict("a"), BudgetSpent)
    assert isinstance(found.verdict("b"), InTurn)


def test_each_method_is_asked_as_if_it_were_the_first() -> None:
    found = survey(machine("a", "1"), machine("b", "1", "2"), machine("empty"))
    assert [command.method for command in found.next.commands] == [Method.EMPTINESS]
    assert [command.nodes for command in found.methods[Method.EMPTINESS]] == [("empty",)]
    assert [command.nodes for command in found.methods[Method.SINGLE_NODE]] == [("a",)]


def test_what_a_node_may_do_alone_does_not_hang_on_budgets() -> None:
    found = survey(machine("a", "1"), machine("b", "1", "2"), budget="0")
    assert isinstance(found.verdict("a"), BudgetSpent)
    assert isinstance(found.judge("a").alone, Command)
    assert isinstance(found.judge("a").found[Method.SINGLE_NODE], BudgetSpent)
    assert found.methods[Method.SINGLE_NODE] == ()


def test_methods_that_a_node_concerns_are_named_also_if_they_let_it_stay() -> None:
    found = survey(
        machine("full", "1", "2", "3", "4", capacity_type="spot"), machine("empty", room={"cpu": "1", "pods": "9"})
    )
    judged = found.judge("full")
    assert set(judged.methods) == {Method.MULTI_NODE, Method.SINGLE_NODE}
    assert isinstance(judged.alone, NoCheaper)
    assert found.judge("empty").methods == (Method.EMPTINESS,)


def test_a_node_with_a_deadline_may_be_looked_at_by_methods_that_do_not_wait_for_its_pods() -> None:
    keep = make_pod("keep", node="a", annotations={"karpenter.sh/do-not-disrupt": "true"})
    held = survey(machine("a"), keep).judge("a")
    assert isinstance(held.graceful, BlockedBy)
    assert held.eventual == held.graceful
    assert not held.is_candidate

    drifted = [make_condition("Drifted")]
    timed = make_machine("a", instance_type="c4", conditions=drifted, spec={"terminationGracePeriod": "1h"})
    judged = survey(timed, keep).judge("a")
    assert isinstance(judged.graceful, BlockedBy)
    assert judged.eventual is None
    assert judged.methods == (Method.DRIFT,)


def test_why_a_drifted_node_is_not_replaced_comes_before_why_it_is_not_consolidated() -> None:
    drifted = [*READY, make_condition("Drifted")]
    found = survey(make_machine("a", instance_type="c4", conditions=drifted), machine("b", "1"), budget="0")
    assert "may go for Drifted" in str(found.verdict("a"))
    assert "may go for Underutilized" in str(found.verdict("b"))


def test_nodes_of_others_are_there_too() -> None:
    judged = survey(make_node("theirs")).judge("theirs")
    assert judged.graceful == NotCandidate("Node isn't managed by karpenter")
    assert (judged.price, judged.methods, judged.alone) == (0.0, (), None)


def test_no_node_is_without_a_verdict() -> None:
    waiting = make_machine("young", instance_type="c4", reached=("Launched",))
    found = survey(machine("a", "1"), machine("empty"), waiting, make_node("theirs"))
    assert all(str(found.verdict(judged.name)) for judged in found.nodes)


def test_where_pods_would_go_can_be_asked_of_any_node() -> None:
    found = survey(machine("a", "1"), machine("b", "1", "2", "3"))
    outcome = found.plan_without("a").outcome("default/a-1")
    assert isinstance(outcome, Nomination)
    assert outcome.node == "b"


def test_who_is_not_there_cannot_be_judged() -> None:
    with pytest.raises(KeyError):
        survey(machine("a")).judge("b")
