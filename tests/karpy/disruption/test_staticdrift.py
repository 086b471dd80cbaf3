"""Nodes of static pools that drifted: each gets a new one in its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from karpy import labels
from karpy.disruption.command import Command, Method
from karpy.disruption.scene import Scene
from karpy.disruption.staticdrift import drifted_static_nodes
from karpy.disruption.verdicts import BudgetSpent, NotWanted
from karpy.labels import CORE_LABELS
from karpy.lifecycle.launch import new_claim
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_condition, make_nodepool
from tests.karpy.disruption.deciding import Json, flat, machine, pod


def pool(name: str = "default", replicas: int = 3, nodes: str = "100%", **more: Any) -> Json:
    return make_nodepool(name, disruption={"budgets": [{"nodes": nodes}]}, spec={"replicas": replicas}, **more)


def drifted(name: str, *, hours: float = 1, **arguments: Any) -> list[Json]:
    return machine(name, "c4", 4, conditions=[make_condition("Drifted", START - 3600 * hours)], **arguments)


def three(**arguments: Any) -> list[Json]:
    return flat([drifted(name, hours=hours, **arguments) for name, hours in (("a", 1), ("b", 3), ("c", 2))])


def scene_of(*objects: Json | list[Json]) -> Scene:
    snapshot = Snapshot.from_objects(flat(objects))
    return Scene(snapshot, make_catalog(snapshot), now=START)


def nodes(commands: Iterable[Command]) -> list[tuple[str, ...]]:
    return [command.nodes for command in commands]


def test_each_is_a_command_of_its_own_with_a_new_node_of_the_pool() -> None:
    commands = drifted_static_nodes(scene_of(pool(), three(), pod("p", "a")))
    assert nodes(commands) == [("b",), ("c",), ("a",)]
    assert {command.method for command in commands} == {Method.STATIC_DRIFT}
    for command in commands:
        (launch,) = command.replacements
        assert (launch.pool.name, launch.pods) == ("default", ())


def test_the_new_claim_is_as_the_template_has_it() -> None:
    (command, *_) = drifted_static_nodes(scene_of(pool(), three()))
    raw = new_claim(command.replacements[0], CORE_LABELS)
    assert {requirement["key"] for requirement in raw["spec"]["requirements"]} == {
        labels.NODEPOOL,
        labels.node_class_label(
            command.replacements[0].pool.node_class.group, command.replacements[0].pool.node_class.kind
        ),
    }


@pytest.mark.core("CORE-621")
@pytest.mark.parametrize(("budget", "count"), [("0", 0), ("2", 2), ("34%", 2), ("100%", 3)])
def test_no_more_go_than_the_budgets_allow(budget: str, count: int) -> None:
    scene = scene_of(pool(nodes=budget), three())
    assert len(drifted_static_nodes(scene)) == count
    assert sum(isinstance(scene.docket.last(name), BudgetSpent) for name in "abc") == 3 - count


@pytest.mark.core("CORE-622")
@pytest.mark.parametrize(("limit", "count"), [(None, 3), (3, 0), (4, 1), (6, 3)])
def test_no_more_are_launched_than_the_limit_has_room_for(limit: int | None, count: int) -> None:
    limits = None if limit is None else {"nodes": str(limit)}
    scene = scene_of(pool(limits=limits), three())
    assert len(drifted_static_nodes(scene)) == count
    stay = [str(scene.docket.last(name)) for name in "abc" if isinstance(scene.docket.last(name), NotWanted)]
    assert stay == ['NodePool "default" has no room for a node more: its limit of nodes is reached'] * (3 - count)


@pytest.mark.core("CORE-623", "CORE-624")
@pytest.mark.parametrize("replicas", [2, 0])
def test_while_there_are_too_many_those_go_first(replicas: int) -> None:
    scene = scene_of(pool(replicas=replicas), three())
    assert drifted_static_nodes(scene) == ()
    assert "those too many go first" in str(scene.docket.last("a"))


@pytest.mark.core("CORE-624")
def test_pools_do_not_hold_each_other_up() -> None:
    full, free = pool("full", replicas=1, limits={"nodes": "1"}), pool("free", replicas=1)
    commands = drifted_static_nodes(scene_of(full, free, drifted("x", pool="full"), drifted("y", pool="free")))
    assert nodes(commands) == [("y",)]


@pytest.mark.core("CORE-625")
def test_nodes_that_did_not_drift_or_are_not_to_be_disturbed_stay() -> None:
    claim, node = drifted("a")
    node["metadata"]["annotations"] = {labels.DO_NOT_DISRUPT: "true"}
    guarded = pod("p", "c", annotations={labels.DO_NOT_DISRUPT: "true"})
    objects = ([claim, node], machine("b", "c4", 4, conditions=[]), drifted("c"), guarded)
    assert drifted_static_nodes(scene_of(pool(), *objects)) == ()
