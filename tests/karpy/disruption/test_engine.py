from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.disruption.command import Command, Decision, Reason
from karpy.state.cluster import ClusterState
from karpy.testing import (
    START,
    make_catalog,
    make_condition,
    make_instance_type,
    make_machine,
    make_nodepool,
    make_pod,
    selector,
)
from tests.karpy.disruption.deciding import next_command, still_valid

READY = [make_condition("Consolidatable")]
ON_DEMAND_ONLY = [selector(labels.CAPACITY_TYPE, "In", "on-demand")]
DO_NOT = {"karpenter.sh/do-not-disrupt": "true"}


def machine(name: str, **arguments: Any) -> list[dict[str, Any]]:
    room = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    return list(make_machine(name, instance_type="c16", room=room, conditions=READY, **arguments))


class World:
    """A cluster that can be changed between finding a command and carrying it out."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        pool = make_nodepool(disruption={"budgets": [{"nodes": "100%"}]}, requirements=ON_DEMAND_ONLY)
        self.objects = {(obj["kind"], obj["metadata"]["name"]): obj for obj in (pool, *objects)}

    def change(self, *objects: dict[str, Any]) -> None:
        self.objects |= {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}

    def state(self) -> ClusterState:
        return ClusterState.of(self.objects.values())

    def command(self) -> Command | None:
        snapshot = self.state().snapshot()
        return next_command(snapshot, make_catalog(snapshot), now=START)

    def validate(self, command: Command, **catalog: Any) -> Command | None:
        snapshot = self.state().snapshot()
        return still_valid(command, snapshot, make_catalog(snapshot, **catalog), now=START + 15)


@pytest.fixture
def empties() -> World:
    return World(*machine("a"), *machine("b"))


@pytest.fixture
def replaceable() -> World:
    return World(*machine("a"), make_pod("p", node="a", requests={"cpu": "1"}))


def found(world: World) -> Command:
    command = world.command()
    assert command is not None
    return command


def test_a_cluster_without_machines_has_nothing_to_disrupt() -> None:
    assert World().command() is None


@pytest.mark.core("CORE-616")
def test_empty_nodes_go_before_any_other() -> None:
    world = World(*machine("a"), *machine("b"), make_pod("p", node="a", requests={"cpu": "1"}))
    assert (found(world).reason, found(world).nodes) == (Reason.EMPTY, ("b",))


def test_the_same_picture_gives_the_same_command(replaceable: World) -> None:
    assert str(found(replaceable)) == str(found(replaceable))


# What may have changed while it was waited for


def test_what_did_not_change_may_go_ahead(empties: World, replaceable: World) -> None:
    for world in (empties, replaceable):
        command = found(world)
        confirmed = world.validate(command)
        assert confirmed is not None
        assert (confirmed.claims, confirmed.decision) == (command.claims, command.decision)


def test_of_several_empty_nodes_those_that_still_are_go(empties: World) -> None:
    command = found(empties)
    empties.change(make_pod("p", node="a"))
    confirmed = empties.validate(command)
    assert confirmed is not None
    assert confirmed.claims == ("b",)


def test_nodes_that_became_empty_since_wait_for_their_own_command(empties: World) -> None:
    command = found(empties)
    empties.change(*machine("c"))
    confirmed = empties.validate(command)
    assert confirmed is not None
    assert confirmed.claims == ("a", "b")


def test_when_none_is_empty_any_more_nothing_goes(empties: World) -> None:
    command = found(empties)
    empties.change(make_pod("p", node="a"), make_pod("q", node="b"))
    assert empties.validate(command) is None


@pytest.mark.core("CORE-582", "CORE-583")
@pytest.mark.parametrize(
    "change",
    [
        [make_pod("p", node="a", requests={"cpu": "1"}, annotations=DO_NOT)],
        [make_pod("p", node="a", requests={"cpu": "15"})],
        [
            make_pod("new", node="a", requests={"cpu": "2"}, spec={"nodeSelector": {labels.ARCH: "arm64"}}),
            make_pod("p", node="a", spec={"nodeSelector": {labels.ARCH: "amd64"}}),
        ],
        machine("a", metadata={"deletionTimestamp": "2026-01-05T09:00:00Z"}),
        [make_nodepool(disruption={"budgets": [{"nodes": "0"}]})],
    ],
    ids=["must not be disturbed", "too large now", "would need two", "leaving already", "budget closed"],
)
def test_a_replacement_that_is_no_longer_right_is_given_up(replaceable: World, change: list[dict[str, Any]]) -> None:
    command = found(replaceable)
    replaceable.change(*change)
    assert replaceable.validate(command) is None


@pytest.mark.core("CORE-581")
def test_a_replacement_must_still_allow_the_types_that_it_would_launch(replaceable: World) -> None:
    command = found(replaceable)
    dearer = [make_instance_type("c16", cpu="16", price=0.8), make_instance_type("a1", cpu="1", price=0.01)]
    assert replaceable.validate(command, types=dearer) is None


def test_a_replacement_that_became_unnecessary_is_looked_at_anew(replaceable: World) -> None:
    command = found(replaceable)
    assert command.decision is Decision.REPLACE
    replaceable.change(*machine("roomy"), make_pod("q", node="roomy", annotations=DO_NOT))
    assert replaceable.validate(command) is None


def test_a_nomination_that_came_meanwhile_saves_the_node(empties: World) -> None:
    command = found(empties)
    state = empties.state()
    state.nominate("a", (), until=START + 60)
    snapshot = state.snapshot()
    confirmed = still_valid(command, snapshot, make_catalog(snapshot), now=START + 15)
    assert confirmed is not None
    assert confirmed.claims == ("b",)
