from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import KubeError
from karpy.kube.recorder import EventRecorder
from karpy.objects.kinds import NODE, POD, Kind
from karpy.objects.meta import ObjectMeta
from karpy.testing import FakeClock

ABOUT = ObjectMeta(name="p", namespace="web", uid="p-uid")


class Server:
    def __init__(self, *, fails: bool = False) -> None:
        self.created: list[tuple[str, dict[str, Any]]] = []
        self.fails = fails

    def create(self, _kind: Kind, obj: dict[str, Any], namespace: str) -> None:
        if self.fails:
            raise KubeError("namespace is terminating", code=403)
        self.created.append((namespace, obj))


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def recorder(server: Any, clock: FakeClock) -> EventRecorder:
    return EventRecorder(server, clock)


def test_an_event_stands_beside_the_object_that_it_is_about(recorder: EventRecorder, server: Server) -> None:
    recorder.warning(POD, ABOUT, "FailedScheduling", "no room")
    ((namespace, event),) = server.created
    assert namespace == event["metadata"]["namespace"] == "web"
    assert event["metadata"]["generateName"] == "p."
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p",
        "uid": "p-uid",
        "namespace": "web",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "FailedScheduling", "no room")
    assert event["source"] == {"component": "karpenter"}
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-01-05T09:00:00Z"


def test_what_is_about_a_cluster_scoped_object_stands_in_the_default_namespace(
    recorder: EventRecorder, server: Server
) -> None:
    recorder.normal(NODE, ObjectMeta(name="n", uid="n-uid"), "Disrupted", "gone")
    ((namespace, event),) = server.created
    assert namespace == "default"
    assert "namespace" not in event["involvedObject"]


@pytest.mark.core("CORE-742")
def test_the_same_is_not_told_again_for_a_while(recorder: EventRecorder, server: Server, clock: FakeClock) -> None:
    for seconds in (0, 60, 59):
        clock.advance(seconds)
        recorder.normal(POD, ABOUT, "Nominated", "to n")
    assert len(server.created) == 1
    clock.advance(1)
    recorder.normal(POD, ABOUT, "Nominated", "to n")
    assert len(server.created) == 2


class Jumping(FakeClock):
    """A clock that may be set back."""

    ahead_s = 86_400.0

    def now(self) -> float:
        return super().now() + self.ahead_s


def test_a_clock_that_jumped_back_keeps_nothing_untold(server: Any) -> None:
    clock = Jumping()
    recorder = EventRecorder(server, clock)
    for text in ("no room", *map(str, range(24))):
        recorder.warning(POD, ABOUT, "FailedScheduling", text)
    clock.ahead_s = 0.0
    recorder.warning(POD, ABOUT, "FailedScheduling", "no room")
    clock.advance(300)
    recorder.warning(POD, ABOUT, "FailedScheduling", "no room")
    assert [event["message"] for _, event in server.created][-1] == "no room"


@pytest.mark.core("CORE-742")
def test_another_text_object_or_reason_is_news(recorder: EventRecorder, server: Server) -> None:
    recorder.normal(POD, ABOUT, "Nominated", "to n")
    recorder.normal(POD, ABOUT, "Nominated", "to m")
    recorder.normal(POD, ABOUT, "Evicted", "to n")
    recorder.normal(POD, ObjectMeta(name="q", namespace="web", uid="q-uid"), "Nominated", "to n")
    assert len(server.created) == 4


@pytest.mark.core("CORE-742")
def test_how_long_is_up_to_the_teller(recorder: EventRecorder, server: Server, clock: FakeClock) -> None:
    recorder.normal(POD, ABOUT, "Nominated", "to n")
    clock.advance(10)
    recorder.normal(POD, ABOUT, "Nominated", "to n", repeat_s=10)
    assert len(server.created) == 2


def test_an_event_that_is_refused_stops_nothing(clock: FakeClock) -> None:
    server: Any = Server(fails=True)
    recorder = EventRecorder(server, clock)
    recorder.normal(POD, ABOUT, "Nominated", "to n")
    assert recorder.lost == 1


def test_what_was_told_is_forgotten_in_the_end(recorder: EventRecorder, clock: FakeClock) -> None:
    for number in range(25_000):
        clock.advance(1)
        recorder.normal(POD, ABOUT, "Nominated", f"to n{number}")
    assert len(recorder._told) <= 10_000


@pytest.mark.core("CORE-742")
def test_where_a_crowd_of_pods_should_go_is_told_of_ten_at_once_and_then_of_five_a_second(
    recorder: EventRecorder, server: Server, clock: FakeClock
) -> None:
    def crowd(first: int) -> None:
        for number in range(first, first + 100):
            pod = ObjectMeta(name=f"p-{number}", namespace="web", uid=f"uid-{number}")
            recorder.normal(POD, pod, "Nominated", "Pod should schedule on: nodeclaim/c")

    crowd(0)
    assert len(server.created) == 10
    clock.advance(1)
    crowd(100)
    assert len(server.created) == 15
    clock.advance(60)
    crowd(200)
    assert len(server.created) == 25


def test_what_is_told_of_few_is_told_of_all(recorder: EventRecorder, server: Server) -> None:
    for number in range(100):
        pod = ObjectMeta(name=f"p-{number}", namespace="web", uid=f"uid-{number}")
        recorder.warning(POD, pod, "FailedScheduling", "Failed to schedule pod, no room")
    assert len(server.created) == 100


def test_one_object_gets_only_so_many_events(recorder: EventRecorder, server: Server, clock: FakeClock) -> None:
    for number in range(100):
        recorder.normal(POD, ABOUT, "Evicted", f"claim {number}")
    assert len(server.created) == 25
    recorder.normal(NODE, ObjectMeta(name="n", uid="n-uid"), "Ready", "it is")
    assert len(server.created) == 26
    clock.advance(600)
    for number in range(100, 200):
        recorder.normal(POD, ABOUT, "Evicted", f"claim {number}")
    assert len(server.created) == 28
