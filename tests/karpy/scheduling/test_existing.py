from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.scheduling.plan import Plan
from karpy.scheduling.scheduler import solve
from karpy.state.cluster import ClusterState
from karpy.testing import make_catalog, make_claim, make_machine, make_node, make_nodepool, make_pod, selector
from tests.judge import plan_of, violations

BOOT = {"key": "boot", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
TWO_CPUS = {"cpu": "2", "memory": "8Gi", "pods": "10"}
YOUNG = ("Launched",)


def nominated(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {nomination.node: nomination.pods for nomination in plan.nominations}


@pytest.mark.core("CORE-098", "CORE-099")
def test_a_node_of_anybody_that_has_room_is_used_before_a_new_one() -> None:
    plan = plan_of(make_nodepool(), make_node("n"), make_pod("p"), make_pod("q"))
    assert nominated(plan) == {"n": ("default/p", "default/q")}
    assert plan.launches == ()


@pytest.mark.core("CORE-078", "CORE-094")
def test_a_machine_that_is_on_its_way_is_filled_before_another_is_launched() -> None:
    claim = make_claim("young", reached=YOUNG, room=TWO_CPUS)
    plan = plan_of(make_nodepool(), claim, *(make_pod(f"p{n}", requests={"cpu": "1"}) for n in range(3)))
    assert nominated(plan) == {"young": ("default/p0", "default/p1")}
    assert [launch.pods for launch in plan.launches] == [("default/p2",)]


def test_a_claim_without_an_instance_offers_what_it_was_planned_for() -> None:
    claim = make_claim("planned", reached=(), spec={"resources": {"requests": {"cpu": "1", "pods": "1"}}})
    plan = plan_of(make_nodepool(), claim, make_pod("p", requests={"cpu": "1"}), make_pod("q", requests={"cpu": "1"}))
    assert nominated(plan) == {"planned": ("default/p",)}
    assert len(plan.launches) == 1


@pytest.mark.core("CORE-079", "CORE-081", "CORE-101")
def test_a_selector_that_the_machine_does_not_meet_opens_another() -> None:
    claim = make_claim("young", reached=YOUNG, zone="zone-a")
    fits = make_pod("fits", spec={"nodeSelector": {labels.ZONE: "zone-a"}})
    plan = plan_of(make_nodepool(), claim, fits, make_pod("other", spec={"nodeSelector": {labels.ZONE: "zone-b"}}))
    assert nominated(plan) == {"young": ("default/fits",)}
    assert [launch.pods for launch in plan.launches] == [("default/other",)]


def test_a_label_that_a_node_lacks_is_one_that_it_lacks() -> None:
    """A new machine's architecture may still be chosen; a node's may not."""
    plan = plan_of(make_nodepool(), make_node("n"), make_pod(spec={"nodeSelector": {labels.ARCH: "amd64"}}))
    assert plan.nominations == ()
    assert len(plan.launches) == 1


@pytest.mark.core("CORE-080")
def test_a_pod_too_large_for_the_machine_opens_another() -> None:
    claim = make_claim("young", reached=YOUNG, room=TWO_CPUS)
    plan = plan_of(make_nodepool(), claim, make_pod(requests={"cpu": "3"}))
    assert (len(plan.nominations), len(plan.launches)) == (0, 1)


@pytest.mark.core("CORE-082")
def test_a_machine_that_is_leaving_takes_nothing_and_its_pods_move() -> None:
    claim, node = make_machine("m", metadata={"deletionTimestamp": "2026-01-05T09:00:00Z"})
    plan = plan_of(make_nodepool(), claim, node, make_pod("waits"), make_pod("moves", node="m"))
    assert plan.nominations == ()
    assert plan.launches[0].pods == ("default/moves", "default/waits")


@pytest.mark.core("CORE-086", "CORE-087", "CORE-088", "CORE-089")
@pytest.mark.parametrize(
    ("reached", "taints", "taken"),
    [
        (("Launched", "Registered"), [NOT_READY, BOOT], True),
        (("Launched", "Registered"), [{"key": "dedicated", "effect": "NoSchedule"}], False),
        (("Launched", "Registered", "Initialized"), [BOOT], False),
        (("Launched", "Registered", "Initialized"), [NOT_READY], False),
    ],
)
def test_taints_that_will_pass_do_not_matter_until_the_node_is_up(
    reached: tuple[str, ...], taints: list[dict[str, str]], taken: bool
) -> None:
    machine = make_machine("m", reached=reached, taints=taints, spec={"startupTaints": [BOOT]})
    assert bool(plan_of(make_nodepool(), *machine, make_pod()).nominations) is taken


@pytest.mark.core("CORE-096", "CORE-100")
def test_nodes_that_are_up_come_first_then_go_by_name() -> None:
    objects = [make_claim("a-young", reached=YOUNG), make_node("c"), make_node("b")]
    assert list(nominated(plan_of(*objects, make_pod()))) == ["b"]


@pytest.mark.core("CORE-090")
def test_a_node_that_is_not_ready_for_a_while_still_counts() -> None:
    claim, node = make_machine("m")
    node["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    assert len(plan_of(make_nodepool(), claim, node, make_pod()).nominations) == 1


def test_a_node_with_more_promised_than_there_is_takes_nothing() -> None:
    node, hog = make_node("n", room=TWO_CPUS), make_pod("hog", node="n", requests={"cpu": "5"})
    assert plan_of(make_nodepool(), node, hog, make_pod()).nominations == ()


def test_room_is_given_out_once() -> None:
    node = make_node("n", room=TWO_CPUS)
    plan = plan_of(node, *(make_pod(f"p{n}", requests={"cpu": "800m"}) for n in range(4)))
    assert nominated(plan) == {"n": ("default/p0", "default/p1")}
    assert len(plan.unschedulable[0].pods) == 2


# Pods that an earlier pass launched a machine for


def assigned(*pods: dict[str, Any], to: str = "planned") -> Plan:
    """The plan for a cluster with a node that has room, and a claim that ``pods`` were planned onto a moment ago."""
    claim = make_claim("planned", reached=(), spec={"resources": {"requests": {"cpu": "4", "pods": "9"}}})
    state = ClusterState.of([make_nodepool(), make_node("has-room"), claim, *pods])
    state.nominate(to, [pod["metadata"]["uid"] for pod in pods], until=0.0)
    snapshot = state.snapshot()
    catalog = make_catalog(snapshot)
    plan = solve(snapshot, catalog)
    assert violations(plan, snapshot, catalog, snapshot.to_place) == []
    return plan


@pytest.mark.core("CORE-095")
def test_a_pod_stays_with_the_machine_that_was_launched_for_it() -> None:
    plan = assigned(make_pod("p", requests={"cpu": "1"}), make_pod("q", requests={"cpu": "1"}))
    assert nominated(plan) == {"planned": ("default/p", "default/q")}


def test_it_goes_elsewhere_when_it_no_longer_fits_there() -> None:
    assert list(nominated(assigned(make_pod("p", requests={"cpu": "1", "acme.com/gpu": "0", "memory": "1Gi"})))) == [
        "has-room"
    ]


def test_it_goes_elsewhere_when_that_machine_is_gone() -> None:
    assert list(nominated(assigned(make_pod("p"), to="gone"))) == ["has-room"]


def test_who_is_assigned_goes_before_who_is_not() -> None:
    claim = make_claim("planned", reached=(), spec={"resources": {"requests": {"cpu": "1", "pods": "1"}}})
    stranger, own = make_pod("a-stranger", requests={"cpu": "1"}), make_pod("b-own", requests={"cpu": "1"})
    state = ClusterState.of([make_nodepool(), claim, stranger, own])
    state.nominate("planned", ["b-own-uid"], until=0.0)
    plan = solve(state.snapshot(), make_catalog(state.snapshot()))
    assert nominated(plan) == {"planned": ("default/b-own",)}


def test_who_is_assigned_is_not_robbed_by_a_larger_stranger() -> None:
    claim = make_claim("planned", reached=(), spec={"resources": {"requests": {"cpu": "2", "pods": "2"}}})
    stranger, own = make_pod("stranger", requests={"cpu": "2"}), make_pod("own", requests={"cpu": "1"})
    state = ClusterState.of([make_nodepool(), claim, stranger, own])
    state.nominate("planned", ["own-uid"], until=0.0)
    plan = solve(state.snapshot(), make_catalog(state.snapshot()))
    assert nominated(plan) == {"planned": ("default/own",)}


@pytest.mark.core("CORE-105")
def test_pods_that_want_to_be_together_join_one_that_is_planned_and_not_bound_yet() -> None:
    term = {"topologyKey": labels.ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
    together = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    first, second = (make_pod(n, requests={"cpu": "1"}, labels={"app": "web"}, spec=together) for n in ("a", "b"))
    claim = make_claim("planned", reached=("Launched",), zone="zone-b", room={"cpu": "1", "pods": "9"})
    state = ClusterState.of([make_nodepool(), claim, first, second])
    state.nominate("planned", ["a-uid"], until=0.0)
    plan = solve(state.snapshot(), make_catalog(state.snapshot()))
    assert nominated(plan) == {"planned": ("default/a",)}
    assert [launch.requirements.labels()[labels.ZONE] for launch in plan.launches] == ["zone-b"]


def test_two_passes_over_the_same_picture_say_the_same() -> None:
    objects = [make_nodepool(requirements=[selector(labels.ARCH, "In", "amd64")]), make_node("n", room=TWO_CPUS)]
    state = ClusterState.of([*objects, *(make_pod(f"p{n}", requests={"cpu": "1"}) for n in range(5))])
    snapshot = state.snapshot()
    one, two = (solve(snapshot, make_catalog(snapshot)) for _ in range(2))
    assert [attrs.astuple(launch) for launch in one.launches] == [attrs.astuple(launch) for launch in two.launches]
    assert nominated(one) == nominated(two)
