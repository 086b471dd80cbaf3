from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.podfacts import available_since
from karpy.sim.workloads.objects import Wishes, template_hash, with_condition


def test_equal_templates_have_equal_hashes_however_they_are_written() -> None:
    assert template_hash({"a": 1, "b": [2]}) == template_hash({"b": [2], "a": 1})
    assert template_hash({"a": 1}) != template_hash({"a": 2})
    assert template_hash({}) == "l7t7jbdt44"


def test_a_pod_is_available_some_time_after_it_is_ready() -> None:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:01:00Z"}
    pod = {"metadata": {}, "status": {"conditions": [ready]}}
    assert available_since(pod, 30.0) == 90.0
    assert available_since({"metadata": {}}, 30.0) is None


def test_the_transition_time_of_a_condition_moves_only_with_its_status() -> None:
    first = with_condition((), "Available", "False", "Few", "too few", 0.0)
    second = with_condition(first, "Available", "False", "Fewer", "even fewer", 60.0)
    third = with_condition(second, "Available", "True", "Enough", "enough", 120.0)
    times = [each[0]["lastTransitionTime"] for each in (first, second, third)]
    assert times == ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:02:00Z"]
    assert with_condition(third, "Available", "True", "Enough", "enough", 180.0) == third


def test_a_wish_wakes_once_and_a_status_never() -> None:
    wishes = Wishes()
    metadata = {"name": "web", "namespace": "default", "uid": "u", "generation": 1, "resourceVersion": "1"}

    def woken(kind: EventType = EventType.MODIFIED, status: int = 0, **changed: Any) -> bool:
        obj = {"metadata": {**metadata, **changed}, "status": {"replicas": status}}
        return bool(wishes.requests(WatchEvent(kind, kinds.DEPLOYMENT, obj)))

    assert woken(EventType.ADDED)
    assert not woken(status=1, resourceVersion="2")
    assert woken(generation=2)
    assert woken(generation=2, annotations={"a": "b"})
    assert woken(generation=2, annotations={"a": "b"}, deletionTimestamp="2026-01-05T09:00:00Z")
    assert woken(EventType.DELETED)
    assert woken(EventType.ADDED, generation=2)
