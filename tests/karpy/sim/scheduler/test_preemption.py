"""Who has to go, and from where: each rule of kube-scheduler's preemption on clusters of a few pods."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy import labels
from karpy.sim.scheduler.nodes import Nodes, PlacedPod
from karpy.sim.scheduler.placement import Placer
from karpy.sim.scheduler.preemption import Budget, Preemption, Victims, least_harm, search
from karpy.sim.scheduler.shape import Shapes
from tests.karpy.sim.scheduler.scenes import Scene, affinity, node, pod, spread

HOST = labels.HOSTNAME


def vip(cpu: str = "3", priority: int = 100, **spec: Any) -> dict[str, Any]:
    return pod("vip", cpu=cpu, priority=priority, **spec)


def held(*nodes: dict[str, Any]) -> Cluster:
    return Cluster(Scene(*nodes))


class Cluster:
    """A scene whose pods have names and ages."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def holds(self, node_name: str, name: str, priority: int = 0, since: float = 0.0, **spec: Any) -> Cluster:
        made = pod(name, priority=priority, **spec)
        shape = self.scene.shapes.of(made)
        self.scene.nodes.place(PlacedPod(("default", name), shape, node_name, started=since))
        return self

    def best(self, wanted: dict[str, Any], *budgets: Budget) -> dict[str, list[str]]:
        """The nodes that would be cleared, and of whom."""
        room = self.scene.room_for(wanted, *budgets)
        chosen = least_harm(room.candidates) if room.candidates else ()
        return {each.node: [victim.key[1] for victim in each.pods] for each in chosen}


def budget(app: str, allowed: int, *disrupted: str) -> Budget:
    return Budget("default", lambda found: found.get("app") == app, allowed, frozenset(disrupted))


def test_only_as_many_go_as_must_and_the_more_important_stay() -> None:
    cluster = held(node("n1", cpu="4"))
    cluster.holds("n1", "low", 1, cpu="2").holds("n1", "mid", 5, cpu="1").holds("n1", "tiny", 3, cpu="500m")
    assert cluster.best(vip("2")) == {"n1": ["low"]}
    assert cluster.best(vip("2500m")) == {"n1": ["low"]}
    assert cluster.best(vip("3500m")) == {"n1": ["mid", "low"]}


def test_equals_are_not_driven_out() -> None:
    cluster = held(node("n1", cpu="4")).holds("n1", "equal", 100, cpu="3")
    assert cluster.scene.room_for(vip()) == Preemption(
        message="0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_a_pod_that_would_not_fit_even_then_is_told_what_is_still_lacking() -> None:
    cluster = held(node("n1", cpu="4"), node("n2", cpu="4", unschedulable=True)).holds("n1", "low", 1, cpu="2")
    assert cluster.scene.room_for(vip("5")).message == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 Preemption is not helpful for scheduling."
    )


def test_who_may_not_preempt_waits() -> None:
    cluster = held(node("n1", cpu="4")).holds("n1", "low", 1, cpu="2")
    assert cluster.scene.room_for(vip(preemptionPolicy="Never")).message == (
        "not eligible due to preemptionPolicy=Never."
    )


def test_pods_within_their_budget_go_before_those_whose_budget_would_break() -> None:
    nodes = (node("n1", cpu="4"), node("n2", cpu="4"))
    cluster = held(*nodes).holds("n1", "guarded", 1, app="db", cpu="3").holds("n2", "free", 5, app="web", cpu="3")
    assert cluster.best(vip(), budget("db", 0)) == {"n2": ["free"]}
    assert cluster.best(vip(), budget("db", 1)) == {"n1": ["guarded"]}
    assert cluster.best(vip(), budget("db", 0, "guarded")) == {"n1": ["guarded"]}


def test_on_one_node_the_pod_with_a_budget_is_spared_even_if_it_is_less_important() -> None:
    cluster = held(node("n1", cpu="4"))
    cluster.holds("n1", "guarded", 1, app="db", cpu="2").holds("n1", "free", 5, app="web", cpu="2")
    assert cluster.best(vip("2"), budget("db", 0)) == {"n1": ["free"]}
    assert cluster.best(vip("2")) == {"n1": ["guarded"]}


def test_of_several_nodes_the_one_with_the_least_important_victim_is_cleared() -> None:
    cluster = held(node("n1", cpu="4"), node("n2", cpu="4"))
    cluster.holds("n1", "five", 5, cpu="3").holds("n2", "four", 4, cpu="1500m").holds("n2", "three", 3, cpu="1500m")
    assert cluster.best(vip("4")) == {"n2": ["four", "three"]}


def test_then_the_smallest_sum_then_the_fewest_then_the_latest_start() -> None:
    nodes = (node("n1", cpu="4"), node("n2", cpu="4"))
    sums = held(*nodes).holds("n1", "a", 4, cpu="2").holds("n1", "b", 3, cpu="2")
    sums.holds("n2", "c", 4, cpu="2").holds("n2", "d", 2, cpu="2")
    assert sums.best(vip("4")) == {"n2": ["c", "d"]}
    counts = held(*nodes).holds("n1", "a", 0, cpu="2").holds("n1", "b", 0, cpu="2").holds("n2", "c", 0, cpu="4")
    assert counts.best(vip("4")) == {"n2": ["c"]}
    starts = held(*nodes).holds("n1", "old", since=100.0, cpu="3").holds("n2", "young", since=200.0, cpu="3")
    assert starts.best(vip()) == {"n2": ["young"]}
    alike = held(*nodes).holds("n1", "one", cpu="3").holds("n2", "two", cpu="3")
    assert set(alike.best(vip())) == {"n1", "n2"}


def test_the_longest_running_of_equals_is_spared() -> None:
    cluster = held(node("n1", cpu="4"))
    cluster.holds("n1", "young", since=200.0, cpu="2").holds("n1", "old", since=100.0, cpu="2")
    assert cluster.best(vip("2")) == {"n1": ["young"]}


def test_a_port_a_spread_and_an_aversion_are_cleared_too() -> None:
    ports = held(node("n1")).holds("n1", "low", hostPort=443).holds("n1", "other")
    assert ports.best(vip("1", hostPort=443)) == {"n1": ["low"]}
    shy = held(node("n1")).holds("n1", "low", app="x", affinity=affinity("y", HOST, anti=True)).holds("n1", "other")
    assert shy.best(vip("1", app="y")) == {"n1": ["low"]}
    shunned = held(node("n1")).holds("n1", "low", app="z").holds("n1", "other")
    assert shunned.best(vip("1", app="y", affinity=affinity("z", HOST, anti=True))) == {"n1": ["low"]}
    uneven = held(node("n1"), node("n2", cpu="1")).holds("n1", "low").holds("n1", "other", app="other")
    assert uneven.best(vip("2", topologySpreadConstraints=[spread(HOST)])) == {"n1": ["low"]}


def test_while_victims_are_still_going_no_more_are_driven_out() -> None:
    cluster = held(node("n1", cpu="4"), node("n2", cpu="4")).holds("n2", "low", cpu="3")
    shape = cluster.scene.shapes.of(pod("going", cpu="3"))
    cluster.scene.nodes.place(PlacedPod(("default", "going"), shape, "n1", is_deleting=True, makes_room=True))
    assert cluster.scene.room_for(vip(), nominated="n1").message == (
        "not eligible due to a terminating pod on the nominated node."
    )
    cluster.scene.nodes.describe(node("n1", cpu="4", unschedulable=True))
    assert cluster.best(vip()) == {"n2": ["low"]}


def test_room_that_was_made_for_a_more_important_pod_is_not_taken() -> None:
    scene = Scene(node("n1", cpu="4"))
    scene.nominations.put(("default", "vip"), scene.shapes.of(vip("3")), "n1")
    assert scene.message(pod(cpu="2")) == "0/1 nodes are available: 1 Insufficient cpu."
    assert scene.best(pod(cpu="1")) == ("n1",)
    assert scene.best(pod(cpu="2", priority=200)) == ("n1",)


def test_the_nominated_node_is_taken_even_when_another_looks_better() -> None:
    scene = Scene(node("n1", cpu="4"), node("n2", cpu="64"))
    wanted = vip("3")
    scene.nominations.put(("default", "vip"), scene.shapes.of(wanted), "n1")
    assert scene.best(wanted) == ("n1",)


PODS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.sampled_from("ab"), st.integers(0, 3)), max_size=6)


@given(st.lists(PODS, min_size=1, max_size=3), st.integers(1, 5), st.integers(2, 8), st.integers(0, 2))
def test_victims_are_those_that_the_documented_procedure_names(
    clusters: list[list[tuple[int, int, str, int]]], priority: int, cpu: int, allowed: int
) -> None:
    """A second, naive reading: give back one pod after the other and count by hand what is left."""
    nodes, shapes = Nodes(), Shapes()
    everyone: dict[str, list[tuple[str, int, int, str, int]]] = {}
    for i, pods in enumerate(clusters):
        name = f"n{i}"
        nodes.describe(node(name, cpu="8"))
        everyone[name] = [(f"{name}-p{j}", *each) for j, each in enumerate(pods)]
        for pod_name, own, size, app, since in everyone[name]:
            shape = shapes.of(pod(pod_name, app=app, cpu=str(size), memory="1", priority=own))
            nodes.place(PlacedPod(("default", pod_name), shape, name, started=float(since)))
    wanted = shapes.of(vip(str(cpu), priority, memory="1"))
    outcome = Placer(nodes).place(("default", "vip"), wanted)
    if outcome.best:
        return
    assert outcome.rules is not None
    found = search(outcome.rules, nodes, outcome.refusals, (budget("a", allowed),))
    expected = {name: naive_victims(pods, priority, cpu, allowed) for name, pods in everyone.items()}
    clearable = {name: victims for name, victims in expected.items() if victims}
    assert {each.node: [victim.key[1] for victim in each.pods] for each in found.candidates} == clearable
    if not clearable:
        assert found.message.startswith(f"0/{len(clusters)} nodes are available: ")


def naive_victims(pods: list[tuple[str, int, int, str, int]], priority: int, cpu: int, allowed: int) -> list[str]:
    lesser = sorted((each for each in pods if each[1] < priority), key=lambda each: (-each[1], each[4], each[0]))
    used = sum(size for _, own, size, *_ in pods if own >= priority)
    if used + cpu > 8 or not lesser:
        return []
    guarded = [each for each in lesser if each[3] == "a"]
    breaking = guarded[allowed:]
    victims = []
    for each in itertools.chain(breaking, (each for each in lesser if each not in breaking)):
        if used + each[2] + cpu <= 8:
            used += each[2]
        else:
            victims.append(each)
    return [each[0] for each in sorted(victims, key=lambda each: (-each[1], each[4], each[0]))]


@pytest.mark.parametrize("violations", [0, 1])
def test_broken_budgets_weigh_more_than_anything(violations: int) -> None:
    shapes = Shapes()
    cheap = PlacedPod(("default", "cheap"), shapes.of(pod(priority=0)), "n1", started=0.0)
    dear = PlacedPod(("default", "dear"), shapes.of(pod(priority=9)), "n2", started=0.0)
    chosen = least_harm((Victims("n1", (cheap,), violations), Victims("n2", (dear,), 0)))
    assert [each.node for each in chosen] == ["n2" if violations else "n1"]


def test_of_very_many_nodes_a_hundred_candidates_will_do_if_one_keeps_all_budgets() -> None:
    cluster = held(*(node(f"n{number}", cpu="4") for number in range(120)))
    for number in range(120):
        cluster.holds(f"n{number}", f"p{number}", 1, cpu="4", app="guarded" if number < 110 else "free")
    guarded = budget("guarded", 0)
    assert len(cluster.scene.room_for(vip()).candidates) == 100
    found = cluster.scene.room_for(vip(), guarded).candidates
    assert len(found) == 111
    assert [each.node for each in least_harm(found)] == ["n110"]
