"""Nodes that drifted go one at a time, and what replaces them may cost anything."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.disruption.command import Command, Decision, Method
from karpy.disruption.engine import eligible, look
from karpy.disruption.past import Past
from karpy.disruption.scene import Scene
from karpy.disruption.verdicts import BlockedBy, BudgetSpent, Chosen
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_condition, make_nodepool, make_pod, selector
from tests.karpy.disruption.deciding import Json, commands_by, flat, machine, pod

FREE = {"budgets": [{"nodes": "100%"}]}
STAY = {labels.DO_NOT_DISRUPT: "true"}


def drifted(name: str, instance_type: str = "c4", cpu: int = 4, *, hours: float = 1, **arguments: Any) -> list[Json]:
    """``hours`` ago it was found out. Its pool need not want to save money."""
    return machine(name, instance_type, cpu, conditions=[make_condition("Drifted", START - 3600 * hours)], **arguments)


def snapshot_of(*objects: list[Json] | Json, disruption: Json | None = None, **pool: Any) -> Snapshot:
    wanted = {"consolidateAfter": "Never", **(disruption or FREE)}
    return Snapshot.from_objects([make_nodepool(disruption=wanted, **pool), *flat(objects)])


def found(*objects: list[Json] | Json, **pool: Any) -> list[Command]:
    snapshot = snapshot_of(*objects, **pool)
    return list(commands_by(Method.DRIFT, snapshot, make_catalog(snapshot), now=START))


def scene_of(*objects: list[Json] | Json, **pool: Any) -> Scene:
    snapshot = snapshot_of(*objects, **pool)
    return Scene(snapshot, make_catalog(snapshot), now=START)


@pytest.mark.core("CORE-616", "CORE-506")
def test_a_node_that_drifted_is_replaced_whatever_that_costs() -> None:
    (command,) = found(
        drifted("a", "c1", 1), pod("p", "a"), requirements=[selector("node.kubernetes.io/instance-type", "In", "c16")]
    )
    assert (command.method, command.decision, command.nodes) == (Method.DRIFT, Decision.REPLACE, ("a",))
    assert command.savings < 0


@pytest.mark.core("CORE-616")
def test_it_only_goes_if_its_pods_have_a_place_already() -> None:
    (command,) = found(drifted("a"), machine("roomy", "c16", 16), pod("p", "a"))
    assert command.decision is Decision.DELETE
    assert [(move.pod, move.to) for move in command.moves] == [("default/p", "roomy")]


@pytest.mark.core("CORE-616", "CORE-619")
def test_one_goes_at_a_time_those_without_pods_first_and_then_the_earliest() -> None:
    nodes = (drifted("late", hours=1), drifted("early", hours=9), drifted("empty", hours=2))
    pods = (pod("p", "late"), pod("q", "early"))
    assert [command.nodes for command in found(*nodes, *pods)] == [("empty",)]
    assert [command.nodes for command in found(*nodes[:2], *pods)] == [("early",)]


def test_a_pass_does_not_spend_all_its_work_on_nodes_whose_pods_have_no_place() -> None:
    """Those that it did not come to are the first of the next."""
    lost = {"nodeSelector": {"nowhere": "to-be-found"}}
    stuck = [part for n in "abcdef" for part in (drifted(n, hours=9), pod(f"p-{n}", n, spec=lost))]
    snapshot = snapshot_of(*stuck, drifted("z", hours=1), pod("p-z", "z"))
    catalog, settings, past = make_catalog(snapshot), Settings(disruption_work=8), Past()
    judged: list[str] = []
    gone: list[str] = []
    for _ in range(8):
        found = look(snapshot, catalog, now=START, settings=settings, past=past)
        past = found.past
        verdicts = {name: found.docket.of(name).get(Method.DRIFT) for name in "abcdefz"}
        judged.append("".join(name for name in verdicts if isinstance(verdicts[name], (BlockedBy, Chosen))))
        gone.append("".join(name for command in found.commands for name in command.nodes))
    assert judged[:4] == ["ab", "cd", "ef", "z"]
    assert gone[:4] == ["", "", "", "z"]
    assert all(set("".join(judged[n : n + 4])) == set("abcdefz") for n in range(5))


@pytest.mark.core("CORE-618")
def test_several_machines_may_take_its_place() -> None:
    pods = (
        pod("p", "a", spec={"nodeSelector": {labels.ARCH: "amd64"}}),
        pod("q", "a", spec={"nodeSelector": {labels.ARCH: "arm64"}}),
    )
    (command,) = found(drifted("a"), *pods)
    assert len(command.replacements) == 2
    assert sorted(move.to for move in command.moves) == [0, 1]


@pytest.mark.core("CORE-611")
def test_a_node_that_did_not_drift_stays() -> None:
    well = machine("a", "c4", 4, conditions=[make_condition("Drifted", status="False")])
    assert found(well, machine("b", "c4", 4)) == []


@pytest.mark.core("CORE-609")
def test_no_more_go_than_the_budgets_allow() -> None:
    closed = {"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]}
    scene = scene_of(drifted("a"), pod("p", "a"), disruption=closed)
    assert commands(scene) == []
    assert isinstance(scene.docket.last("a"), BudgetSpent)
    others = {"budgets": [{"nodes": "0", "reasons": ["Empty"]}]}
    assert [command.nodes for command in found(drifted("a"), disruption=others)] == [("a",)]


@pytest.mark.core("CORE-609")
def test_they_are_counted_as_eligible() -> None:
    scene = scene_of(drifted("a"), drifted("b"), machine("c", "c4", 4))
    counts = {reason.value: count for reason, count in eligible(scene.all_candidates).items()}
    assert counts == {"Empty": 0, "Underutilized": 0, "Drifted": 2}


@pytest.mark.core("CORE-610")
def test_one_whose_pods_have_no_place_stays_and_says_which_and_the_next_goes() -> None:
    stuck = pod("stuck", "a", spec={"nodeSelector": {labels.ARCH: "s390x"}})
    scene = scene_of(drifted("a", hours=9), drifted("b"), stuck, pod("p", "b"))
    assert [command.nodes for command in commands(scene)] == [("b",)]
    verdict = scene.docket.last("a")
    assert isinstance(verdict, BlockedBy)
    assert verdict.pod == "default/stuck"
    assert str(verdict).startswith("Not all pods would schedule, default/stuck => ")


def test_it_is_not_moved_onto_a_node_that_may_fail_to_come_up() -> None:
    coming = machine("coming", "c16", 16, reached=("Launched", "Registered"), conditions=[])
    scene = scene_of(drifted("a"), coming, pod("p", "a"))
    assert commands(scene) == []
    assert "would schedule against uninitialized nodeclaim/coming, node/coming" in str(scene.docket.last("a"))


@pytest.mark.core("CORE-612")
@pytest.mark.parametrize(("value", "goes"), [("true", False), ("false", True)])
def test_a_node_that_is_not_to_be_disturbed_stays(value: str, goes: bool) -> None:
    claim, node = drifted("a")
    node["metadata"]["annotations"] = {labels.DO_NOT_DISRUPT: value}
    assert bool(found([claim, node])) == goes


@pytest.mark.core("CORE-613")
def test_a_pod_that_is_not_to_be_disturbed_holds_it_unless_its_end_has_a_deadline() -> None:
    guarded = pod("guarded", "a", annotations=STAY)
    assert found(drifted("a"), guarded) == []
    (command,) = found(drifted("a", spec={"terminationGracePeriod": "1h"}), guarded, pod("p", "a"))
    # Until the deadline the pod stays where it is, so no place is made for it.
    assert [move.pod for move in command.moves] == ["default/p"]


@pytest.mark.core("CORE-614")
def test_so_does_a_budget_of_its_pods() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0},
        "status": {"disruptionsAllowed": 0},
    }
    web = pod("web", "a", labels={"app": "web"})
    assert found(drifted("a"), web, budget) == []
    (command,) = found(drifted("a", spec={"terminationGracePeriod": "1h"}), web, budget)
    assert command.nodes == ("a",)


@pytest.mark.core("CORE-615")
@pytest.mark.parametrize(("text", "goes"), [("1h", False), ("never", True)])
def test_a_pod_may_want_that_for_a_while(text: str, goes: bool) -> None:
    young = make_pod("young", node="a", requests={"cpu": "1"}, annotations={labels.DO_NOT_DISRUPT: text})
    assert bool(found(drifted("a"), young)) == goes


@pytest.mark.core("CORE-620")
def test_static_pools_have_their_own_way() -> None:
    assert found(drifted("a"), spec={"replicas": 1}) == []


def commands(scene: Scene) -> list[Command]:
    from karpy.disruption.drift import drifted_nodes

    return list(drifted_nodes(scene))
