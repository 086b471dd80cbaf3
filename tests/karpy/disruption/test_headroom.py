"""Nodes go only as far as the room that CapacityBuffers keep ready does not go with them."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.disruption.candidates import candidates
from karpy.disruption.command import Command, Decision, Reason
from karpy.disruption.headroom import NO_HEADROOM, standing_headroom
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    START,
    make_buffer,
    make_catalog,
    make_condition,
    make_machine,
    make_nodepool,
    make_pod,
    make_pod_template,
    selector,
)
from tests.karpy.disruption.deciding import next_command, still_valid

READY = [make_condition("Consolidatable")]
FREE = {"budgets": [{"nodes": "100%"}]}
ON_DEMAND_ONLY = [
    selector(labels.CAPACITY_TYPE, "In", "on-demand"),
    selector(labels.INSTANCE_TYPE, "In", "c1", "c2", "c4", "c8"),
]
CHUNK = make_pod_template("chunk", requests={"cpu": "1"})

Json = dict[str, Any]


def machine(name: str, cpu: int, **arguments: Any) -> list[Json]:
    arguments.setdefault("conditions", READY)
    room = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"}
    known = {labels.ARCH: "amd64", labels.OS: "linux"}
    return list(make_machine(name, instance_type=f"c{cpu}", room=room, labels=known, **arguments))


def buffer(replicas: int, name: str = "b") -> Json:
    return make_buffer(name, template="chunk", replicas=replicas)


def pod(name: str, node: str, cpu: str = "1") -> Json:
    return make_pod(name, node=node, requests={"cpu": cpu})


def cluster(*objects: Json | list[Json], disruption: Json | None = None) -> Snapshot:
    flat = [part for obj in objects for part in ([obj] if isinstance(obj, dict) else obj)]
    pool = make_nodepool(disruption=disruption or FREE, requirements=ON_DEMAND_ONLY)
    return Snapshot.from_objects([pool, CHUNK, *flat])


def decide(*objects: Json | list[Json], disruption: Json | None = None) -> Command | None:
    snapshot = cluster(*objects, disruption=disruption)
    return next_command(snapshot, make_catalog(snapshot), now=START)


def test_without_buffers_nothing_is_worked_out() -> None:
    snapshot = cluster(machine("a", 4))
    assert standing_headroom(snapshot, make_catalog(snapshot)) is NO_HEADROOM


# Empty nodes


@pytest.mark.core("CORE-597", "CORE-608")
def test_an_empty_node_whose_room_is_kept_ready_stays() -> None:
    node = machine("a", 4)
    assert decide(node, buffer(3)) is None
    freed = decide(node)
    assert freed is not None
    assert (freed.reason, freed.nodes) == (Reason.EMPTY, ("a",))


@pytest.mark.core("CORE-608")
@pytest.mark.parametrize(
    "wish", [buffer(0), make_buffer(template="lost", replicas=3)], ids=["of nothing", "unresolved"]
)
def test_a_buffer_without_pods_keeps_no_node(wish: Json) -> None:
    assert decide(machine("a", 4), wish) is not None


@pytest.mark.core("CORE-608")
def test_of_several_empty_nodes_those_stay_that_the_room_is_on() -> None:
    found = decide(machine("a", 4), machine("b", 4), machine("c", 4), buffer(6))
    assert found is not None
    assert (found.reason, found.nodes) == (Reason.EMPTY, ("c",))


def test_room_on_a_node_with_pods_lets_empty_ones_go() -> None:
    found = decide(machine("a", 8), pod("p", "a"), machine("b", 4), buffer(3))
    assert found is not None
    assert (found.reason, found.nodes) == (Reason.EMPTY, ("b",))


def test_the_policy_that_only_empties_keeps_a_node_that_is_too_large_for_its_room() -> None:
    assert decide(machine("a", 8), buffer(1), disruption={**FREE, "consolidationPolicy": "WhenEmpty"}) is None


# Consolidation


@pytest.mark.core("CORE-597")
def test_a_node_whose_pods_and_room_fit_on_others_goes() -> None:
    found = decide(machine("a", 4), pod("p", "a"), machine("b", 8, conditions=()), pod("q", "b"), buffer(3))
    assert found is not None
    assert (found.decision, found.reason, found.nodes) == (Decision.DELETE, Reason.UNDERUTILIZED, ("a",))


def test_a_node_whose_end_would_take_the_room_stays() -> None:
    """Its pod alone would fit on the other node; the pod and what is kept ready do not."""
    nodes = [*machine("a", 4), pod("p", "a"), *machine("b", 4, conditions=()), pod("q", "b", "2")]
    assert decide(*nodes) is not None
    assert decide(*nodes, buffer(5)) is None


def test_a_node_that_only_keeps_room_is_replaced_by_one_that_suffices() -> None:
    found = decide(machine("a", 8), buffer(2))
    assert found is not None
    assert (found.decision, found.reason, found.nodes) == (Decision.REPLACE, Reason.UNDERUTILIZED, ("a",))
    (replacement,) = found.replacements
    assert replacement.instance_types[0].name == "c2"
    assert len(replacement.headroom["default/b"]) == 2


def test_pods_and_room_move_to_one_cheaper_machine_together() -> None:
    found = decide(machine("a", 8), pod("p", "a"), buffer(3))
    assert found is not None
    (replacement,) = found.replacements
    assert (replacement.instance_types[0].name, replacement.requests["cpu"]) == ("c4", 4000)


def test_a_machine_that_is_too_dear_to_replace_keeps_pods_and_room() -> None:
    assert decide(machine("a", 4), pod("p", "a"), buffer(3)) is None


def test_room_that_is_missing_anyway_holds_no_node() -> None:
    """No machine is large enough for what the one buffer asks for; that says nothing about the nodes that are there."""
    impossible = make_pod_template("impossible", requests={"cpu": "500"})
    nodes = [*machine("a", 2), pod("p", "a"), *machine("b", 8, conditions=()), pod("q", "b", "5")]
    found = decide(*nodes, buffer(2), impossible, make_buffer("large", template="impossible", replicas=2))
    assert found is not None
    assert (found.decision, found.nodes) == (Decision.DELETE, ("a",))


def test_room_that_waits_for_a_machine_anyway_is_not_laid_at_a_nodes_door() -> None:
    """Of twelve there is room for four now; that eight need machines is so with or without the node."""
    nodes = [*machine("a", 2), pod("p", "a"), *machine("b", 8, conditions=()), pod("q", "b", "5")]
    assert decide(*nodes, buffer(12)) is None  # one of the four would be lost, on a machine of its own for nine
    found = decide(
        *nodes, make_pod_template("big", requests={"cpu": "4"}), make_buffer("big", template="big", replicas=3)
    )
    assert found is not None
    assert (found.decision, found.nodes) == (Decision.DELETE, ("a",))


def test_room_on_a_machine_that_may_yet_fail_to_come_up_is_not_there() -> None:
    young = machine("young", 8, reached=("Launched", "Registered"))
    assert decide(machine("a", 2), young, buffer(2)) is None


# Afterwards


def test_a_command_is_dropped_when_its_node_is_needed_for_room_by_then() -> None:
    empty = cluster(machine("a", 4))
    found = next_command(empty, make_catalog(empty), now=START)
    assert found is not None
    later = cluster(machine("a", 4), buffer(4))
    assert still_valid(found, later, make_catalog(later), now=START + 15) is None


def test_what_room_costs_to_move_is_nothing() -> None:
    snapshot = cluster(machine("a", 4), buffer(3))
    (candidate,), _ = candidates(snapshot, make_catalog(snapshot), now=START)
    assert candidate.disruption_cost == 1.0
    assert not candidate.is_empty
