from __future__ import annotations

from typing import Any

import pytest

from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.cluster import ClusterState
from karpy.testing import START, make_daemon_set, make_pod


def of_set(name: str, created: float = START, **more: Any) -> dict[str, Any]:
    """A pod of the DaemonSet whose uid is ``set``."""
    made = make_pod(name, owner="DaemonSet", namespace="kube-system", created=created, **more)
    made["metadata"]["ownerReferences"][0]["uid"] = "set"
    return made


def newest(state: ClusterState) -> str:
    pod = state.snapshot().daemon_pods.get("set")
    return "" if pod is None else pod.metadata.name


def told(state: ClusterState, pod: dict[str, Any], event: EventType = EventType.ADDED) -> str:
    state.apply(WatchEvent(event, kinds.POD, pod))
    return newest(state)


@pytest.mark.core("CORE-341", "CORE-491")
def test_the_newest_pod_of_a_set_is_known_as_pods_come_and_go() -> None:
    state = ClusterState()
    old, middle, young = (of_set(name, START + n, node="n") for n, name in enumerate(("old", "middle", "young")))
    assert told(state, middle) == "middle"
    assert told(state, old) == "middle"
    assert told(state, young) == "young"
    assert told(state, young, EventType.DELETED) == "middle"
    assert told(state, of_set("middle", START + 1, node="n", status={"phase": "Failed"})) == "old"
    assert told(state, old, EventType.DELETED) == ""


def test_of_pods_of_the_same_age_the_last_by_name_counts_in_whatever_order_they_come() -> None:
    for names in (("a", "b"), ("b", "a")):
        assert newest(ClusterState.of([of_set(name, node="n") for name in names])) == "b"


def test_what_the_newest_pod_has_become_is_known() -> None:
    state = ClusterState.of([of_set("p")])
    assert not state.snapshot().daemon_pods["set"].spec.node_name
    told(state, of_set("p", node="n"), EventType.MODIFIED)
    assert state.snapshot().daemon_pods["set"].spec.node_name == "n"


@pytest.mark.core("CORE-491")
def test_pods_that_another_kind_or_nobody_controls_are_left_aside() -> None:
    loose = of_set("loose", node="n")
    loose["metadata"]["ownerReferences"][0]["controller"] = False
    state = ClusterState.of([loose, make_pod("p", node="n"), make_pod("q", owner="", node="n"), make_daemon_set()])
    assert state.snapshot().daemon_pods == {}


def test_a_picture_is_handed_out_again_while_no_daemon_changes() -> None:
    state = ClusterState.of([of_set("p", node="n")])
    before = state.snapshot().daemon_pods
    state.apply(WatchEvent(EventType.ADDED, kinds.POD, make_pod("other", node="n")))
    assert state.snapshot().daemon_pods is before
