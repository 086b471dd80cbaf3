"""What is remembered of pods while they wait."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.objects.kinds import NODE_CLAIM, POD
from karpy.objects.pod import Pod
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.cluster import ClusterState
from karpy.state.podtimes import PodTimes, Times
from karpy.testing import make_claim, make_pod

Json = dict[str, Any]


def told(state: ClusterState, obj: Json, type_: EventType = EventType.MODIFIED) -> None:
    state.apply(WatchEvent(type_, POD, obj))


def waiting(*names: str) -> tuple[ClusterState, list[Pod]]:
    state = ClusterState.of([make_pod(name) for name in names])
    return state, list(state.snapshot().pending)


@pytest.mark.core("CORE-463", "CORE-466")
def test_a_time_once_known_stays() -> None:
    state, pods = waiting("p")
    for now in (1.0, 2.0):
        state.note_waiting(pods, now)
        state.note_decided([(pods[0], True)], [], now + 10)
    assert state.pod_times("p-uid") == Times(1.0, 11.0, 11.0, 11.0)


@pytest.mark.core("CORE-462")
def test_a_place_in_a_pool_whose_nodes_do_not_join_counts_only_as_a_place() -> None:
    state, (pod,) = waiting("p")
    state.note_decided([(pod, False)], [], 1.0)
    assert state.pod_times("p-uid") == Times(None, 1.0, 1.0, None)
    state.note_decided([(pod, True)], [], 2.0)
    assert state.pod_times("p-uid") == Times(None, 1.0, 1.0, 2.0)


@pytest.mark.core("CORE-464", "CORE-467")
def test_a_pod_that_is_refused_after_all_has_no_place_and_no_claim() -> None:
    state, (pod,) = waiting("p")
    state.apply(WatchEvent(EventType.ADDED, NODE_CLAIM, make_claim("c", reached=())))
    state.note_waiting([pod], 1.0)
    state.note_decided([(pod, True)], [], 2.0)
    state.nominate("c", ["p-uid"], until=0.0)
    assert state.snapshot().assignments == {"p-uid": "c"}
    state.note_decided([], [pod], 3.0)
    assert state.pod_times("p-uid") == Times(1.0, 2.0)
    assert state.snapshot().assignments == {}


@pytest.mark.core("CORE-464", "CORE-467")
def test_what_is_known_of_a_pod_goes_with_it() -> None:
    state, (pod, other) = waiting("p", "q")
    state.apply(WatchEvent(EventType.ADDED, NODE_CLAIM, make_claim("c", reached=())))
    state.note_waiting([pod, other], 1.0)
    state.note_decided([(pod, True), (other, True)], [], 2.0)
    state.nominate("c", ["p-uid", "q-uid"], until=0.0)
    told(state, make_pod("p"), EventType.DELETED)
    again = make_pod("q")
    again["metadata"]["uid"] = "another"
    told(state, again)
    assert [state.pod_times(uid) for uid in ("p-uid", "q-uid", "another")] == [Times()] * 3
    assert state.snapshot().assignments == {}
    state.note_decided([(pod, True)], [other], 3.0)  # a pass that began before
    assert (state.pod_times("p-uid"), state.pod_times("q-uid")) == (Times(), Times())


@pytest.mark.core("CORE-465")
def test_of_a_pod_that_has_a_node_nothing_more_is_remembered() -> None:
    state, (late, pod) = waiting("p", "late")
    state.note_waiting([pod], 1.0)
    told(state, make_pod("p", node="n"))
    told(state, make_pod("late", node="n"))
    state.note_waiting([late], 2.0)
    state.note_decided([(pod, True), (late, True)], [], 2.0)
    assert (state.pod_times("p-uid"), state.pod_times("late-uid")) == (Times(1.0), Times())


def test_a_pod_may_be_planned_for_before_it_was_seen_to_wait() -> None:
    times = PodTimes()
    times.refuse("a", 1.0)
    times.acknowledge("a", 2.0)
    assert (times.of("a"), len(times)) == (Times(2.0, 1.0), 1)
    times.forget("a")
    times.forget("a")
    assert len(times) == 0
