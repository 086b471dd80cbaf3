"""Reading a cluster over HTTP: the embedded one, and a server that answers what it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpy.errors import InvalidObject, KubeError
from karpy.kube.reading import ClusterReader
from karpy.objects.kinds import DAEMON_SET, NODE_POOL, POD
from karpy.sim.http import serve
from karpy.sim.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A cluster without anybody in it, served; its kubeconfig is ``kubeconfig``."""
    found = World(0, actors=False)
    http = serve(found.api)
    http.write_kubeconfig(tmp_path / "kubeconfig")
    yield found
    http.stop()


def pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "pause"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


class Answers:
    """A server that gives these answers by path, and remembers what it was asked."""

    def __init__(self, answers: Mapping[str, tuple[int, Any]]) -> None:
        self.asked: list[tuple[str, str]] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, self.headers.get("Authorization", "")))
                status, body = answers.get(self.path.partition("?")[0], (404, {}))
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_arguments: Any) -> None:
                """Nothing is logged."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Any]:
    """Starts a server of fixed answers, and gives it and a reader of it."""
    servers = []

    def start(answers: Mapping[str, tuple[int, Any]], **user: str) -> tuple[Answers, ClusterReader]:
        server = Answers(answers)
        servers.append(server)
        path = tmp_path / "kubeconfig"
        path.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "c", "cluster": {"server": server.url}}],
                    "users": [{"name": "u", "user": user}],
                    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                    "current-context": "c",
                }
            )
        )
        return server, ClusterReader(path)

    yield start
    for server in servers:
        server.stop()


def page(api_version: str, *names: str, more: str = "") -> tuple[int, Any]:
    items = [{"metadata": {"name": name}} for name in names]
    return 200, {"apiVersion": api_version, "metadata": {"continue": more}, "items": items}


def group(*versions: str) -> tuple[int, Any]:
    return 200, {"versions": [{"version": each} for each in versions], "preferredVersion": {"version": versions[0]}}


def test_objects_say_what_they_are_though_items_of_lists_do_not(world: World, tmp_path: Path) -> None:
    world.apply([pod("a"), pod("b")])
    found = list(ClusterReader(tmp_path / "kubeconfig").read([POD]))
    assert [(obj["apiVersion"], obj["kind"], obj["metadata"]["name"]) for obj in found] == [
        ("v1", "Pod", "a"),
        ("v1", "Pod", "b"),
    ]


def test_long_lists_come_in_pages(world: World, tmp_path: Path) -> None:
    world.apply([pod(f"p{number:04d}") for number in range(1100)])
    found = [obj["metadata"]["name"] for obj in ClusterReader(tmp_path / "kubeconfig").read([POD])]
    assert found == [f"p{number:04d}" for number in range(1100)]


def test_a_kind_is_read_in_its_own_version_where_that_is_served(answering: Any) -> None:
    served = {
        "/apis/karpenter.sh": group("v2", "v1"),
        "/apis/karpenter.sh/v1/nodepools": page("karpenter.sh/v1", "a"),
    }
    _, reader = answering(served)
    (found,) = reader.read([NODE_POOL])
    assert (found["apiVersion"], found["kind"]) == ("karpenter.sh/v1", "NodePool")


def test_else_in_the_one_that_the_cluster_prefers(answering: Any) -> None:
    served = {
        "/apis/karpenter.sh": group("v1beta1"),
        "/apis/karpenter.sh/v1beta1/nodepools": page("karpenter.sh/v1beta1", "a"),
    }
    _, reader = answering(served)
    assert [obj["apiVersion"] for obj in reader.read([NODE_POOL])] == ["karpenter.sh/v1beta1"]


def test_kinds_that_the_cluster_does_not_have_are_skipped(answering: Any) -> None:
    _, reader = answering({"/apis/apps": group("v1"), "/apis/apps/v1/daemonsets": page("apps/v1", "d")})
    assert [obj["kind"] for obj in reader.read([NODE_POOL, POD, DAEMON_SET])] == ["DaemonSet"]


def test_the_token_of_the_kubeconfig_is_shown(answering: Any) -> None:
    server, reader = answering({"/api/v1/pods": page("v1")}, token="let-me-in")
    assert not list(reader.read([POD]))
    assert server.asked == [("/api/v1/pods?limit=500", "Bearer let-me-in")]


def test_a_refusal_is_told_in_the_servers_words(answering: Any) -> None:
    message = 'pods is forbidden: User "me" cannot list resource "pods"'
    _, reader = answering({"/api/v1/pods": (403, {"kind": "Status", "message": message})})
    with pytest.raises(KubeError, match="pods is forbidden") as refused:
        list(reader.read([POD]))
    assert refused.value.code == 403


def test_a_cluster_that_is_not_there_is_named(answering: Any) -> None:
    server, reader = answering({})
    server.stop()
    with pytest.raises(KubeError, match=f"{server.url} does not answer: "):
        list(reader.read([POD]))


def test_without_a_kubeconfig_it_is_said_what_would_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject, match=r"accepted: a kubeconfig, in KUBECONFIG or"):
        ClusterReader(tmp_path / "missing")
