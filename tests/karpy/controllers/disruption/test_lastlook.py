"""Nobody looks twice at the same: what counts as news, and when time alone is."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from karpy import labels
from karpy.clock import format_time
from karpy.controllers.disruption.lastlook import LastLook
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.cluster import ClusterState
from karpy.testing import (
    START,
    make_catalog,
    make_condition,
    make_instance_types,
    make_machine,
    make_nodepool,
    make_pod,
)

PDB = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
}
BY_KIND = {
    kind.kind: kind for kind in (kinds.NODE, kinds.NODE_CLAIM, kinds.POD, kinds.NODE_POOL, kinds.POD_DISRUPTION_BUDGET)
}


class Watched:
    """A cluster of one node with a pod, at which nothing was found."""

    def __init__(self, **pod: Any) -> None:
        claim, node = make_machine("m", instance_type="c4", conditions=[make_condition("Consolidatable")])
        self.objects = {
            "NodeClaim": claim,
            "Node": node,
            "Pod": make_pod("p", node="m", **pod),
            "NodePool": make_nodepool(),
        }
        self.state = ClusterState.of(self.objects.values())
        self.last_look = LastLook()
        self.catalog = make_catalog(self.state.snapshot())
        self.rest()

    def rest(self, now: float = START) -> None:
        self.last_look.rest(self.state.snapshot(), self.catalog, now)

    def left(self, now: float = START) -> float:
        return self.last_look.left_s(self.state.snapshot(), self.catalog, now)

    def tell(self, obj: dict[str, Any], type_: EventType = EventType.MODIFIED) -> None:
        kind: Kind = BY_KIND[obj["kind"]]
        self.state.apply(WatchEvent(type_, kind, obj))

    def change(self, kind: str, **status: Any) -> None:
        """The object is told anew, under another version, with other fields of its status."""
        obj = copy.deepcopy(self.objects[kind])
        obj["metadata"]["resourceVersion"] = "2"
        obj["status"] = {**obj.get("status", {}), **status}
        self.tell(obj)


def test_while_nothing_is_new_there_is_nothing_to_look_for_for_five_minutes() -> None:
    watched = Watched()
    assert watched.left(START) == 300
    assert watched.left(START + 299) == 1
    assert watched.left(START + 300) == 0


def test_without_memory_there_is_a_look() -> None:
    watched = Watched()
    watched.last_look.forget()
    assert watched.left() == 0


@pytest.mark.parametrize("kind", ["Node", "NodeClaim", "Pod"])
def test_an_object_that_is_told_again_unchanged_is_no_news(kind: str) -> None:
    watched = Watched()
    before = watched.state.snapshot().version
    watched.change(kind)
    assert watched.state.snapshot().version > before
    assert watched.left() == 300
    watched.change(kind)
    assert watched.left() == 300


def heartbeat(at: float) -> list[dict[str, str]]:
    return [{**make_condition("Ready"), "lastHeartbeatTime": format_time(at)}]


def test_a_heartbeat_is_no_news() -> None:
    watched = Watched()
    watched.change("Node", conditions=heartbeat(START + 10))
    assert watched.left() == 300


def not_ready(watched: Watched) -> None:
    watched.change("Node", conditions=[make_condition("Ready", status="False")])


def consolidatable_no_more(watched: Watched) -> None:
    watched.change("NodeClaim", conditions=[])


def another_pod(watched: Watched) -> None:
    watched.tell(make_pod("q", node="m"), EventType.ADDED)


def no_pod(watched: Watched) -> None:
    watched.tell(watched.objects["Pod"], EventType.DELETED)


def pending(watched: Watched) -> None:
    watched.tell(make_pod("q"), EventType.ADDED)


def ended(watched: Watched) -> None:
    watched.change("Pod", phase="Succeeded")


def budget(watched: Watched) -> None:
    watched.tell(PDB, EventType.ADDED)


def heavier(watched: Watched) -> None:
    watched.tell(make_nodepool(weight=3))


def marked(watched: Watched) -> None:
    watched.state.mark_for_deletion(["m"])


def nominated(watched: Watched) -> None:
    watched.state.nominate("m", (), until=START + 20)


def another_node(watched: Watched) -> None:
    for obj in make_machine("n"):
        watched.tell(obj, EventType.ADDED)


NEWS = (
    *(not_ready, consolidatable_no_more, another_pod, no_pod, pending, ended),
    *(budget, heavier, marked, nominated, another_node),
)


@pytest.mark.parametrize("happens", NEWS, ids=lambda each: each.__name__)
def test_what_may_change_the_answer_is_news(happens: Any) -> None:
    watched = Watched()
    happens(watched)
    assert watched.left() == 0
    assert watched.left() == 0  # until there was a look at it
    watched.rest()
    assert watched.left() > 0


def test_other_prices_are_news() -> None:
    watched = Watched()
    watched.catalog = make_catalog(watched.state.snapshot(), make_instance_types())
    assert watched.left() == 0


def test_the_end_of_a_nomination_is_news() -> None:
    watched = Watched()
    watched.state.nominate("m", (), until=START + 20)
    watched.rest()
    assert watched.left(START + 5) == 15
    assert watched.left(START + 20) == 0


def test_the_end_of_a_pods_protection_is_news() -> None:
    watched = Watched(annotations={labels.DO_NOT_DISRUPT: "1m"}, status={"startTime": format_time(START)})
    assert watched.left(START + 10) == 50
    assert watched.left(START + 60) == 0


def test_a_clock_that_jumped_back_makes_nobody_wait_for_longer() -> None:
    watched = Watched()
    assert watched.left(START - 3600) == 0
