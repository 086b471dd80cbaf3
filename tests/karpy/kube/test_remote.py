"""The client for clusters somewhere else says what the one in process says, here against the embedded server's HTTP face."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from karpy.clock import SystemClock
from karpy.errors import KubeError
from karpy.kube.client import PatchType
from karpy.kube.remote import RemoteKube, RemoteWatch
from karpy.objects import kinds
from karpy.objects.watchevent import EventType
from karpy.sim.apiserver import ApiServer
from karpy.sim.http import ApiServerHttp, serve
from tests.karpy.sim.manifests import bare_pod

PATIENCE_S = 10.0


@pytest.fixture
def server() -> ApiServer:
    return ApiServer(SystemClock(), rbac=True, log_capacity=16)


@pytest.fixture
def face(server: ApiServer) -> Iterator[ApiServerHttp]:
    face = serve(server)
    yield face
    face.stop()


@pytest.fixture
def arrived() -> threading.Event:
    return threading.Event()


@pytest.fixture
def kube(face: ApiServerHttp, tmp_path: Path, arrived: threading.Event) -> Iterator[RemoteKube]:
    face.write_kubeconfig(tmp_path / "kc")
    kube = RemoteKube(tmp_path / "kc", arrived.set)
    yield kube
    kube.close()


def settings(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def take(watch: RemoteWatch, arrived: threading.Event, count: int) -> list[tuple[EventType, str]]:
    """The next events of a watch, when they have arrived."""
    found: list[tuple[EventType, str]] = []
    while len(found) < count:
        assert arrived.wait(PATIENCE_S), f"only {found} arrived"
        arrived.clear()
        found += [(event.type, event.object["metadata"]["name"]) for event in watch.poll()]
    return found


def test_objects_are_made_read_changed_and_deleted(kube: RemoteKube, server: ApiServer) -> None:
    made = kube.create(kinds.CONFIG_MAP, settings("a", x="1", y="2"), "default")
    assert kube.get(kinds.CONFIG_MAP, "a", "default") == server.get(kinds.CONFIG_MAP, "a", "default") == made
    kube.patch(kinds.CONFIG_MAP, "a", {"data": {"x": None, "z": "3"}}, "default")
    assert kube.get(kinds.CONFIG_MAP, "a", "default")["data"] == {"y": "2", "z": "3"}
    kube.patch(
        kinds.CONFIG_MAP,
        "a",
        [{"op": "replace", "path": "/data/y", "value": "4"}],
        "default",
        patch_type=PatchType.JSON,
    )
    applied = kube.patch(kinds.CONFIG_MAP, "a", settings("a", w="5"), "default", patch_type=PatchType.APPLY)
    assert applied["data"] == {"y": "4", "z": "3", "w": "5"}
    replaced = kube.replace(kinds.CONFIG_MAP, {**applied, "data": {}})
    assert not replaced.get("data")
    kube.delete(kinds.CONFIG_MAP, "a", "default", uid=made["metadata"]["uid"])
    assert not server.exists(kinds.CONFIG_MAP, "a", "default")


def test_lists_are_read_page_by_page_and_say_what_their_items_are(kube: RemoteKube, server: ApiServer) -> None:
    for number in range(501):
        server.create(kinds.CONFIG_MAP, settings(f"s{number}"), "default")
    server.create(kinds.CONFIG_MAP, {**settings("chosen"), "metadata": {"name": "chosen", "labels": {"a": "b"}}})
    found = kube.list(kinds.CONFIG_MAP, "default")
    assert {each["metadata"]["name"] for each in found.items} >= {f"s{number}" for number in range(501)}
    assert {each["kind"] for each in found.items} == {"ConfigMap"}
    chosen = kube.list(kinds.CONFIG_MAP, label_selector="a=b")
    assert [each["metadata"]["name"] for each in chosen.items] == ["chosen"]


@pytest.mark.parametrize(
    ("code", "reason", "call"),
    [
        (404, "NotFound", lambda kube: kube.get(kinds.POD, "none", "default")),
        (409, "AlreadyExists", lambda kube: kube.create(kinds.CONFIG_MAP, settings("there"), "default")),
        (409, "Conflict", lambda kube: kube.delete(kinds.CONFIG_MAP, "there", "default", uid="other")),
        (422, "Invalid", lambda kube: kube.create(kinds.CONFIG_MAP, settings("No Name"), "default")),
    ],
)
def test_what_the_server_refuses_is_said_as_it_says_it(
    kube: RemoteKube, server: ApiServer, code: int, reason: str, call: Any
) -> None:
    server.create(kinds.CONFIG_MAP, settings("there"), "default")
    with pytest.raises(KubeError) as refused:
        call(kube)
    assert (refused.value.code, refused.value.reason) == (code, reason)


def test_pods_are_bound_and_evicted_within_their_budgets(kube: RemoteKube, server: ApiServer) -> None:
    server.create(kinds.POD, bare_pod("p"), "default")
    kube.bind("p", "default", "n1")
    assert server.get(kinds.POD, "p", "default")["spec"]["nodeName"] == "n1"
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}},
    }
    server.create(kinds.POD_DISRUPTION_BUDGET, budget, "default")
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    server.patch(kinds.POD, "p", ready, "default", subresource="status")
    with pytest.raises(KubeError) as refused:
        kube.evict("p", "default")
    assert refused.value.code == 429
    server.delete(kinds.POD_DISRUPTION_BUDGET, "all", "default")
    kube.evict("p", "default", grace_period_s=0)
    assert not server.exists(kinds.POD, "p", "default")


def test_a_watch_tells_what_happens_after_its_version(
    kube: RemoteKube, server: ApiServer, arrived: threading.Event
) -> None:
    server.create(kinds.CONFIG_MAP, settings("before"), "default")
    watch = kube.watch(kinds.CONFIG_MAP, kube.list(kinds.CONFIG_MAP).resource_version)
    assert watch.poll() == []
    server.create(kinds.CONFIG_MAP, settings("new"), "default")
    server.patch(kinds.CONFIG_MAP, "before", {"data": {"a": "b"}}, "default")
    server.delete(kinds.CONFIG_MAP, "before", "default")
    assert take(watch, arrived, 3) == [
        (EventType.ADDED, "new"),
        (EventType.MODIFIED, "before"),
        (EventType.DELETED, "before"),
    ]
    watch.stop()


def test_what_a_watch_cannot_tell_any_more_must_be_listed(
    kube: RemoteKube, server: ApiServer, arrived: threading.Event
) -> None:
    start = kube.list(kinds.CONFIG_MAP).resource_version
    for number in range(40):
        server.create(kinds.CONFIG_MAP, settings(f"s{number}"), "default")
    watch = kube.watch(kinds.CONFIG_MAP, start)
    assert arrived.wait(PATIENCE_S)
    with pytest.raises(KubeError) as refused:
        watch.poll()
    assert refused.value.gone


def test_a_server_that_is_gone_is_said_to_be(face: ApiServerHttp, kube: RemoteKube, arrived: threading.Event) -> None:
    watch = kube.watch(kinds.CONFIG_MAP, kube.list(kinds.CONFIG_MAP).resource_version)
    face.stop()
    with pytest.raises(KubeError) as refused:
        kube.list(kinds.CONFIG_MAP)
    assert refused.value.code == 503
    assert arrived.wait(PATIENCE_S)
    with pytest.raises(KubeError) as broken:
        watch.poll()
    assert broken.value.code == 503
