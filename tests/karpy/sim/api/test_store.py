from __future__ import annotations

import pytest

from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.objects.watchevent import EventType
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock


def _node(name: str) -> dict:
    return {"metadata": {"name": name}}


def test_a_watch_sees_what_came_after_its_version_in_order(server: ApiServer) -> None:
    version = server.list(kinds.NODE).resource_version
    server.create(kinds.NODE, _node("a"))
    server.patch(kinds.NODE, "a", {"metadata": {"labels": {"x": "y"}}})
    server.delete(kinds.NODE, "a")
    events = server.watch(kinds.NODE, version).poll()
    assert [event.type for event in events] == [EventType.ADDED, EventType.MODIFIED, EventType.DELETED]
    versions = [int(event.object["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


def test_a_watch_of_one_namespace_sees_only_that(server: ApiServer) -> None:
    watch = server.watch(kinds.CONFIG_MAP, "", "kube-system")
    server.create(kinds.CONFIG_MAP, {"metadata": {"name": "a"}})
    server.create(kinds.CONFIG_MAP, {"metadata": {"name": "b", "namespace": "kube-system"}})
    assert [event.object["metadata"]["name"] for event in watch.poll()] == ["b"]
    assert watch.poll() == []


def test_watchers_share_the_events(server: ApiServer) -> None:
    first, second = server.watch(kinds.NODE, ""), server.watch(kinds.NODE, "")
    server.create(kinds.NODE, _node("a"))
    assert first.poll()[0] is second.poll()[0]


def test_a_watch_from_too_long_ago_is_gone(clock: VirtualClock) -> None:
    server = ApiServer(clock, log_capacity=4)
    version = server.list(kinds.NODE).resource_version
    behind = server.watch(kinds.NODE, version)
    for i in range(20):
        server.create(kinds.NODE, _node(f"n{i}"))
    with pytest.raises(KubeError) as refused:
        server.watch(kinds.NODE, version)
    assert refused.value.gone
    with pytest.raises(KubeError) as lost:
        behind.poll()
    assert lost.value.gone


def test_a_stopped_watch_is_silent(server: ApiServer) -> None:
    watch = server.watch(kinds.NODE, "")
    watch.stop()
    watch.stop()
    server.create(kinds.NODE, _node("a"))
    assert watch.poll() == []


def test_every_write_calls_the_listeners_until_they_leave(server: ApiServer) -> None:
    calls: list[None] = []
    leave = server.on_write(lambda: calls.append(None))
    server.create(kinds.NODE, _node("a"))
    assert len(calls) == 1
    leave()
    leave()
    server.create(kinds.NODE, _node("b"))
    assert len(calls) == 1


def test_lists_are_ordered_by_namespace_and_name(server: ApiServer) -> None:
    for name, space in (("b", "default"), ("a", "default"), ("z", "kube-system"), ("c", "default")):
        server.create(kinds.CONFIG_MAP, {"metadata": {"name": name, "namespace": space}})
    names = [item["metadata"]["name"] for item in server.list(kinds.CONFIG_MAP).items]
    assert names == ["a", "b", "c", "z"]


def test_reads_return_the_stored_object_itself(server: ApiServer) -> None:
    created = server.create(kinds.NODE, _node("a"))
    assert server.get(kinds.NODE, "a") is created
    assert server.list(kinds.NODE).items[0] is created
