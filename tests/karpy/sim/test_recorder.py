from __future__ import annotations

from karpy.objects import kinds
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from tests.karpy.sim.manifests import bare_pod


class Setup:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.api = ApiServer(self.clock)
        self.recorder = Recorder(self.api, self.clock, "tester")
        self.pod = self.api.create(kinds.POD, bare_pod("a"), "default")

    def tell(self, message: str) -> None:
        self.recorder.record(kinds.POD, self.pod, WARNING, "Trouble", message)

    @property
    def events(self) -> list[tuple[str, int]]:
        return sorted((event["message"], event["count"]) for event in self.api.list(kinds.EVENT).items)


def test_an_event_names_its_object_and_its_component() -> None:
    it = Setup()
    it.tell("it hurts")
    (event,) = it.api.list(kinds.EVENT, "default").items
    assert event["involvedObject"]["uid"] == it.pod["metadata"]["uid"]
    assert event["involvedObject"]["kind"] == "Pod"
    assert (event["type"], event["reason"], event["source"]) == ("Warning", "Trouble", {"component": "tester"})


def test_a_repetition_within_a_minute_is_dropped_and_a_later_one_counts_up() -> None:
    it = Setup()
    it.tell("it hurts")
    it.tell("it hurts")
    assert it.events == [("it hurts", 1)]
    it.clock.advance(61)
    it.tell("it hurts")
    assert it.events == [("it hurts", 2)]


def test_another_message_is_another_event() -> None:
    it = Setup()
    it.tell("it hurts")
    it.tell("it burns")
    assert it.events == [("it burns", 1), ("it hurts", 1)]


def test_events_about_cluster_objects_live_in_the_default_namespace() -> None:
    it = Setup()
    node = it.api.create(kinds.NODE, {"metadata": {"name": "n"}})
    it.recorder.record(kinds.NODE, node, NORMAL, "Fine", "all is well")
    assert [event["message"] for event in it.api.list(kinds.EVENT, "default").items] == ["all is well"]


def test_an_event_that_cannot_be_written_does_not_stop_the_work() -> None:
    it = Setup()
    lost = {"metadata": {"name": "a", "namespace": "gone", "uid": "u"}}
    it.recorder.record(kinds.POD, lost, NORMAL, "Fine", "nobody hears")
    it.clock.advance(61)
    it.recorder.record(kinds.POD, lost, NORMAL, "Fine", "nobody hears")
    assert it.events == []
