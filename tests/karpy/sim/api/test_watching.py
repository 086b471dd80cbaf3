"""Lists and watches over REST: pages of one moment, versions of the past, streaming lists, selections, and what is too late."""

from __future__ import annotations

import json
from typing import Any

import pytest

from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.sim.api.features import LIVING
from karpy.sim.api.wire.listing import WatchStream
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from tests.karpy.sim.api.conftest import Client, events

NODES = "/api/v1/nodes"
STREAMING = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}


def add(rest: Client, *names: str, **labels: str) -> None:
    for name in names:
        rest.server.create(kinds.NODE, {"metadata": {"name": name, "labels": labels}})


def label(rest: Client, name: str, **labels: str | None) -> None:
    rest.server.patch(kinds.NODE, name, {"metadata": {"labels": labels}})


def names(answer: dict) -> list[str]:
    return [item["metadata"]["name"] for item in answer["items"]]


def listed(rest: Client, **query: str) -> dict:
    code, answer = rest("GET", NODES, **query)
    assert code == 200, answer
    found: dict = answer
    return found


def last_line(stream: WatchStream) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stream.lines()[-1])
    return found


class TestLists:
    def test_the_pages_of_a_list_show_one_moment(self, rest: Client) -> None:
        add(rest, "a", "b", "c", "d")
        first = listed(rest, limit="2")
        assert (names(first), first["metadata"]["remainingItemCount"]) == (["a", "b"], 2)
        rest.server.delete(kinds.NODE, "c")
        add(rest, "cc")
        label(rest, "d", x="y")
        second = listed(rest, limit="2", **{"continue": first["metadata"]["continue"]})
        assert names(second) == ["c", "d"]
        assert second["items"][1]["metadata"].get("labels") is None
        assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        assert "continue" not in second["metadata"]

    def test_an_exact_version_shows_the_past_and_a_minimal_one_the_present(self, rest: Client) -> None:
        add(rest, "a")
        then = listed(rest)["metadata"]["resourceVersion"]
        add(rest, "b")
        rest.server.delete(kinds.NODE, "a")
        exact = listed(rest, resourceVersion=then, resourceVersionMatch="Exact")
        assert (names(exact), exact["metadata"]["resourceVersion"]) == (["a"], then)
        assert names(listed(rest, resourceVersion=then, resourceVersionMatch="NotOlderThan")) == ["b"]
        assert names(listed(rest, resourceVersion=then)) == ["b"]
        assert names(listed(rest, resourceVersion="0")) == ["b"]

    def test_a_page_of_a_moment_that_is_forgotten_is_gone_and_leads_on(self) -> None:
        rest = Client(ApiServer(VirtualClock(), log_capacity=4))
        add(rest, "a", "b", "c")
        token = listed(rest, limit="1")["metadata"]["continue"]
        for i in range(12):
            label(rest, "a", n=str(i))
        code, answer = rest("GET", NODES, limit="1", **{"continue": token})
        assert (code, answer["reason"]) == (410, "Expired")
        assert "The provided continue parameter is too old" in answer["message"]
        assert names(listed(rest, **{"continue": answer["metadata"]["continue"]})) == ["b", "c"]
        code, answer = rest("GET", NODES, resourceVersion="3", resourceVersionMatch="Exact")
        assert (code, answer["message"]) == (410, "The resourceVersion for the provided list is too old.")

    def test_a_version_that_has_not_come_yet_times_out(self, rest: Client) -> None:
        code, answer = rest("GET", NODES, resourceVersion="99999", resourceVersionMatch="NotOlderThan")
        assert (code, answer["reason"], answer["details"]["retryAfterSeconds"]) == (504, "Timeout", 1)
        assert answer["details"]["causes"][0] == {
            "reason": "ResourceVersionTooLarge",
            "message": "Too large resource version",
        }


class TestStreamingLists:
    """Watches that begin with a list, where the server has them."""

    @pytest.fixture
    def rest(self) -> Client:
        return Client(ApiServer(VirtualClock(), features=LIVING))

    def test_they_end_with_a_bookmark_that_says_so(self, rest: Client) -> None:
        add(rest, "a", "b")
        stream = rest.watch(NODES, **STREAMING, allowWatchBookmarks="true")
        lines = [json.loads(line) for line in stream.lines()]
        assert [line["type"] for line in lines] == ["ADDED", "ADDED", "BOOKMARK"]
        mark = lines[-1]["object"]
        assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert mark["metadata"]["resourceVersion"] == str(rest.server.store.revision)
        assert (mark["kind"], mark["apiVersion"]) == ("Node", "v1")
        add(rest, "c")
        assert events(stream) == [("ADDED", "c")]

    def test_one_of_the_future_times_out(self, rest: Client) -> None:
        assert rest("GET", NODES, watch="true", resourceVersion="99999", **STREAMING)[0] == 504

    def test_a_bare_server_refuses_them_so_that_clients_fall_back(self) -> None:
        code, answer = Client(ApiServer(VirtualClock()))("GET", NODES, watch="true", **STREAMING)
        assert (code, answer["reason"]) == (422, "Invalid")
        assert "unless the WatchList feature gate is enabled" in answer["message"]


class TestWatches:
    def test_a_watch_without_a_version_begins_with_what_there_is(self, rest: Client) -> None:
        add(rest, "a", "b")
        stream = rest.watch(NODES)
        assert events(stream) == [("ADDED", "a"), ("ADDED", "b")]
        label(rest, "a", x="y")
        rest.server.delete(kinds.NODE, "b")
        assert events(stream) == [("MODIFIED", "a"), ("DELETED", "b")]

    def test_a_watch_from_a_version_tells_what_came_after_it(self, rest: Client) -> None:
        add(rest, "a")
        then = listed(rest)["metadata"]["resourceVersion"]
        add(rest, "b")
        assert events(rest.watch(NODES, resourceVersion=then)) == [("ADDED", "b")]

    def test_objects_enter_and_leave_a_selection(self, rest: Client) -> None:
        add(rest, "a", zone="x")
        add(rest, "b", zone="y")
        stream = rest.watch(NODES, labelSelector="zone=x", resourceVersion="0")
        assert events(stream) == [("ADDED", "a")]
        label(rest, "b", zone="x")
        label(rest, "b", more="z")
        label(rest, "a", zone="y")
        assert events(stream) == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")]
        label(rest, "a", again="w")
        rest.server.delete(kinds.NODE, "a")
        rest.server.delete(kinds.NODE, "b")
        assert events(stream) == [("DELETED", "b")]

    def test_what_leaves_is_shown_as_it_last_was_with_the_version_that_took_it_out(self, rest: Client) -> None:
        add(rest, "a", zone="x")
        stream = rest.watch(NODES, labelSelector="zone=x")
        stream.lines()
        label(rest, "a", zone="y")
        told = last_line(stream)["object"]["metadata"]
        assert told["labels"] == {"zone": "x"}
        assert told["resourceVersion"] == str(rest.server.store.revision)

    def test_fields_select_too(self, rest: Client) -> None:
        add(rest, "a", "b")
        stream = rest.watch(NODES, fieldSelector="spec.unschedulable=true")
        rest.server.patch(kinds.NODE, "b", {"spec": {"unschedulable": True}})
        rest.server.patch(kinds.NODE, "b", {"spec": {"unschedulable": None}})
        assert events(stream) == [("ADDED", "b"), ("DELETED", "b")]

    def test_a_bookmark_tells_how_far_a_watch_has_come(self, rest: Client) -> None:
        stream = rest.watch(NODES, allowWatchBookmarks="true")
        stream.lines()
        rest.server.create(kinds.CONFIG_MAP, {"metadata": {"name": "elsewhere"}})
        mark = json.loads(stream.bookmark())
        assert mark["object"]["metadata"]["resourceVersion"] == str(rest.server.store.revision)
        assert events(rest.watch(NODES, resourceVersion=mark["object"]["metadata"]["resourceVersion"])) == []

    def test_a_version_that_is_forgotten_is_gone_from_the_start(self) -> None:
        rest = Client(ApiServer(VirtualClock(), log_capacity=4))
        add(rest, "a")
        then = listed(rest)["metadata"]["resourceVersion"]
        for i in range(12):
            label(rest, "a", n=str(i))
        stream = rest.watch(NODES, resourceVersion=then)
        with pytest.raises(KubeError, match=rf"^too old resource version: {then} \(") as lost:
            stream.lines()
        assert lost.value.gone

    def test_a_watch_that_falls_behind_is_told_so(self) -> None:
        rest = Client(ApiServer(VirtualClock(), log_capacity=4))
        add(rest, "a")
        stream = rest.watch(NODES)
        stream.lines()
        for i in range(12):
            label(rest, "a", n=str(i))
        with pytest.raises(KubeError) as lost:
            stream.lines()
        assert lost.value.gone

    def test_one_object_can_be_watched_by_its_name(self, rest: Client) -> None:
        add(rest, "a", "b")
        stream = rest.watch(f"{NODES}/a")
        label(rest, "b", x="y")
        label(rest, "a", x="y")
        assert events(stream) == [("ADDED", "a"), ("MODIFIED", "a")]

    def test_the_timeout_is_the_clients(self, rest: Client) -> None:
        assert rest.watch(NODES, timeoutSeconds="7").timeout_s == 7.0
        assert rest.watch(NODES).timeout_s is None

    def test_the_older_paths_of_watches_still_lead_there(self, rest: Client) -> None:
        add(rest, "a", "b")
        stream = rest.answer("GET", "/api/v1/watch/nodes", fieldSelector="metadata.name=a")
        assert isinstance(stream, WatchStream)
        assert events(stream) == [("ADDED", "a")]
