from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import KubeError
from karpy.kube.client import ObjectList
from karpy.kube.watch import Reflector
from karpy.objects.kinds import POD, Kind
from karpy.objects.watchevent import EventType, WatchEvent

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED


def pod(name: str, version: int = 1) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "resourceVersion": str(version)}}


class Server:
    """Lists what is there; its watches say what they are told to, or fail."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.objects = list(objects)
        self.pending: list[WatchEvent | KubeError] = []
        self.lists = 0
        self.stopped = 0

    def list(self, _kind: Kind) -> ObjectList:
        self.lists += 1
        return ObjectList(tuple(self.objects), "7")

    def watch(self, _kind: Kind, resource_version: str) -> Server:
        assert resource_version == "7"
        return self

    def poll(self) -> list[WatchEvent]:
        events, self.pending = self.pending, []
        for event in events:
            if isinstance(event, KubeError):
                raise event
        return [event for event in events if isinstance(event, WatchEvent)]

    def stop(self) -> None:
        self.stopped += 1


def reflect(server: Any) -> tuple[Reflector, list[tuple[EventType, str]]]:
    told: list[tuple[EventType, str]] = []
    return Reflector(server, POD, lambda event: told.append((event.type, event.object["metadata"]["name"]))), told


def test_what_is_there_is_told_first() -> None:
    reflector, told = reflect(Server(pod("a"), pod("b")))
    assert reflector.poll() == 2
    assert told == [(ADDED, "a"), (ADDED, "b")]


def test_then_what_happens() -> None:
    server = Server(pod("a"))
    reflector, told = reflect(server)
    reflector.poll()
    server.pending = [WatchEvent(MODIFIED, POD, pod("a", 2)), WatchEvent(DELETED, POD, pod("a", 3))]
    assert reflector.poll() == 2
    assert told[1:] == [(MODIFIED, "a"), (DELETED, "a")]
    assert reflector.objects == {}
    assert reflector.poll() == 0


def test_after_a_gap_the_story_has_no_hole() -> None:
    server = Server(pod("gone"), pod("same"), pod("changed"))
    reflector, told = reflect(server)
    reflector.poll()
    told.clear()
    server.objects = [pod("same"), pod("changed", 9), pod("new")]
    server.pending = [KubeError("too old", code=410)]
    assert reflector.poll() == 3
    assert told == [(DELETED, "gone"), (MODIFIED, "changed"), (ADDED, "new")]
    assert set(reflector.objects) == {("default", name) for name in ("same", "changed", "new")}


def test_another_failure_is_told_and_the_next_poll_lists_again() -> None:
    server = Server(pod("a"))
    reflector, told = reflect(server)
    reflector.poll()
    server.pending = [KubeError("unavailable", code=503)]
    with pytest.raises(KubeError, match="unavailable"):
        reflector.poll()
    assert server.stopped == 1
    reflector.poll()
    assert server.lists == 2
    assert told == [(ADDED, "a")]  # nothing new happened


def test_stopping_twice_is_harmless() -> None:
    server = Server()
    reflector, _told = reflect(server)
    reflector.poll()
    reflector.stop()
    reflector.stop()
    assert server.stopped == 1
