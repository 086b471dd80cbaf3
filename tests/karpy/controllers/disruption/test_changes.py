"""A pool changes while one of its nodes is on the way out: the command ends, or everything is as it was. Nothing is lost, leaked or
doubled, and nothing is left on nodes that stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from karpy.disruption.command import Command
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.settings import Settings
from tests.karpy.controllers.disruption.commanding import apart, is_marked, queue, told
from tests.karpy.controllers.stage import Stage, apps, conditions, pool, refusal

Change = Callable[[Stage], None]
Moment = Callable[[Stage, Change], None]


def patched(**spec: Any) -> Change:
    """The pool that the node is of has these fields from now on."""

    def change(stage: Stage) -> None:
        stage.api.patch(kinds.NODE_POOL, "default", {"spec": spec})

    return change


def drift(stage: Stage, generation: str = "2") -> None:
    patched(template={"metadata": {"labels": {"generation": generation}}})(stage)


def delete(stage: Stage) -> None:
    stage.api.delete(kinds.NODE_POOL, "default")


CHANGES: dict[str, Change] = {
    "its limits leave room for nothing": patched(limits={"cpu": "1"}),
    "its limits leave room for no more nodes": patched(limits={"nodes": "1"}),
    "its budget is closed": patched(disruption={"budgets": [{"nodes": "0"}]}),
    "it gives up empty nodes only": patched(disruption={"consolidationPolicy": "WhenEmpty"}),
    "it consolidates no more": patched(disruption={"consolidateAfter": "Never"}),
    "its template is another": lambda stage: drift(stage, "3"),
    "it is deleted": delete,
}


# When that happens


def while_it_is_made_sure(stage: Stage, change: Change) -> None:
    stage.until(lambda: bool(told(stage, "ConsolidationCandidate")))
    stage.run(5)
    change(stage)


def just_before_the_replacement_is_asked_for(stage: Stage, change: Change) -> None:
    once(stage, "create", change)


def while_it_comes_up(stage: Stage, change: Change) -> None:
    stage.until(lambda: len(stage.claims) == 2)
    stage.until(lambda: "Launched" in conditions(stage.claims[1]))
    change(stage)


def just_before_the_node_goes(stage: Stage, change: Change) -> None:
    """The API server has no time for the deletion at that moment."""
    once(stage, "delete", change, refusal(500))


def once(stage: Stage, verb: str, change: Change, error: Exception | None = None) -> None:
    """Have the pool change in the moment before the first such call about a claim, and the call fail if there is an error."""
    done: list[str] = []

    def call(real: Any, kind: Kind, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM and not done:
            done.append(verb)
            change(stage)
            if error is not None:
                raise error
        return real(kind, *rest, **more)

    stage.kube.through(verb, call)
    stage.until(lambda: bool(done))


DURING_DRIFT: tuple[Moment, ...] = (
    just_before_the_replacement_is_asked_for,
    while_it_comes_up,
    just_before_the_node_goes,
)
DURING_CONSOLIDATION: tuple[Moment, ...] = (while_it_is_made_sure, *DURING_DRIFT)


# What comes of it


def oversized() -> Stage:
    """A node that is far too large for the pods that are left on it. Who finds no place in its pool finds one in another."""
    first, second = pool(), pool("other")
    for each, weight in ((first, 10), (second, 1)):
        each["spec"]["weight"] = weight
        each["spec"]["disruption"]["budgets"] = [{"nodes": "100%"}]
    stage = Stage(first, second)
    stage.grown(apps("a", 6))
    return stage


def settled(stage: Stage, *, pods: int, nodes: int) -> None:
    """Everybody runs, on as many machines as it takes; each has its claim and its node, and none bears marks of a command."""
    stage.run(1200)
    assert stage.running("a") == pods
    names = set(stage.names(kinds.NODE_CLAIM))
    assert len(names) == nodes
    assert set(stage.names(kinds.NODE)) == names
    assert {each.claim for each in stage.cloud.machines if each.terminating_since is None} == names
    assert queue(stage).busy == frozenset()
    assert not any(is_marked(stage, name) for name in names)
    assert not any(view.is_leaving for view in stage.operator.state.snapshot().nodes)
    assert stage.world.check() == ()


def begun(stage: Stage) -> list[Command]:
    return [decision for _, decision in stage.decisions if isinstance(decision, Command)]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("moment", DURING_CONSOLIDATION, ids=lambda each: each.__name__)
def test_while_a_node_is_replaced_by_a_smaller_one(moment: Moment, change: str) -> None:
    stage = oversized()
    stage.scale("a", 1)
    moment(stage, CHANGES[change])
    settled(stage, pods=1, nodes=1)


@pytest.mark.parametrize("change", ["its budget is closed", "it gives up empty nodes only", "it consolidates no more"])
def test_what_its_pool_no_longer_wants_is_not_begun(change: str) -> None:
    stage = oversized()
    (node,) = stage.names(kinds.NODE)
    stage.scale("a", 1)
    while_it_is_made_sure(stage, CHANGES[change])
    stage.run(600)
    assert begun(stage) == []
    assert told(stage, "ConsolidationRejected", "Node").keys() == {("Node", node)}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("moment", DURING_DRIFT, ids=lambda each: each.__name__)
def test_while_a_node_that_drifted_is_replaced(moment: Moment, change: str) -> None:
    stage = oversized()
    drift(stage)
    moment(stage, CHANGES[change])
    settled(stage, pods=6, nodes=1)


@pytest.mark.parametrize("change", ["its limits leave room for nothing", "its template is another", "it is deleted"])
@pytest.mark.parametrize("moment", DURING_CONSOLIDATION, ids=lambda each: each.__name__)
def test_while_several_nodes_go_together(moment: Moment, change: str) -> None:
    stage = oversized()
    stage.world.apply([apart("b", 3)])
    stage.until(lambda: len(stage.claims) == 3)
    stage.run(60)
    stage.scale("a", 2)
    stage.scale("b", 0)
    moment(stage, CHANGES[change])
    settled(stage, pods=2, nodes=1)


# Static pools


def several() -> Stage:
    """Two nodes of a static pool, and a pool that may grow."""
    fixed = pool()
    fixed["spec"]["replicas"] = 2
    fixed["spec"]["disruption"]["budgets"] = [{"nodes": "100%"}]
    stage = Stage(fixed, pool("other"), settings=Settings(static_capacity=True))
    stage.until(lambda: len(stage.nodes) == 2)
    stage.world.apply([apps("a", 2, "100m")])
    stage.run(30)
    return stage


@pytest.mark.parametrize("replicas", [0, 1, 2, 3])
@pytest.mark.parametrize("moment", DURING_DRIFT, ids=lambda each: each.__name__)
def test_while_nodes_of_a_static_pool_are_replaced_others_are_wanted(moment: Moment, replicas: int) -> None:
    stage = several()
    drift(stage)
    moment(stage, patched(replicas=replicas))
    settled(stage, pods=2, nodes=max(replicas, 1))
    of_pool = [each["metadata"]["labels"] for each in stage.claims if "generation" in each["metadata"]["labels"]]
    assert [each["generation"] for each in of_pool] == ["2"] * replicas


@pytest.mark.parametrize("moment", DURING_DRIFT, ids=lambda each: each.__name__)
def test_while_nodes_of_a_static_pool_are_replaced_it_is_deleted(moment: Moment) -> None:
    stage = several()
    drift(stage)
    moment(stage, delete)
    settled(stage, pods=2, nodes=1)


@pytest.mark.parametrize("moment", DURING_DRIFT, ids=lambda each: each.__name__)
def test_while_nodes_of_a_static_pool_are_replaced_it_changes_once_more(moment: Moment) -> None:
    stage = several()
    drift(stage)
    moment(stage, lambda stage: drift(stage, "3"))
    settled(stage, pods=2, nodes=2)
    assert [each["metadata"]["labels"]["generation"] for each in stage.claims] == ["3", "3"]


@pytest.mark.parametrize("moment", DURING_DRIFT, ids=lambda each: each.__name__)
def test_while_nodes_of_a_static_pool_are_replaced_there_is_room_for_no_more(moment: Moment) -> None:
    stage = several()
    drift(stage)
    moment(stage, patched(limits={"nodes": "2"}))
    settled(stage, pods=2, nodes=2)
