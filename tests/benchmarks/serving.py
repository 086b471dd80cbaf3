"""The embedded API server: calls a second in process and over HTTP, and events a second on a watch."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import Measure, duration, rate, seconds

from karpy.objects.kinds import POD
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from karpy.sim.http import ApiServerHttp, serve

KUBECTL = Path(sys.executable).parent / "kubectl"
CALLS = 2_000
OVER_HTTP = 500
WATCHERS = 10
LISTED, PRINTED = 10_000, 5_000
PODS = "/api/v1/namespaces/default/pods"


def measures() -> Iterator[Measure]:
    yield from _in_process()
    yield from _over_http()


def _in_process() -> Iterator[Measure]:
    def fresh() -> ApiServer:
        return ApiServer(VirtualClock())

    def filled() -> ApiServer:
        api = fresh()
        for obj in _pods(CALLS):
            api.create(POD, obj)
        return api

    def create_all() -> None:
        api = fresh()
        for obj in pods:
            api.create(POD, obj)

    def patch_all() -> None:
        for index in range(CALLS):
            api.patch(POD, f"pod-{index}", {"metadata": {"labels": {"round": str(next(rounds))}}}, "default")

    pods, rounds = _pods(CALLS), iter(range(1_000_000))
    yield rate("API server in process: create pods", "calls/s", CALLS, create_all)
    name = f"API server in process: create pods, {WATCHERS} watchers follow"
    yield rate(name, "calls/s", CALLS, lambda: _followed(pods))
    yield rate(f"{name}: events told", "events/s", CALLS * WATCHERS, lambda: _followed(pods))
    api = filled()
    yield rate(
        "API server in process: get a pod", "calls/s", CALLS, _each(lambda i: api.get(POD, f"pod-{i}", "default"))
    )
    yield rate("API server in process: merge-patch a pod", "calls/s", CALLS, patch_all)
    yield rate("API server in process: watch events taken", "events/s", CALLS, lambda: _watched(api, patch_all))


def _followed(pods: list[dict[str, Any]]) -> None:
    """Create pods while watchers take in each at once."""
    api = ApiServer(VirtualClock())
    watches = [api.watch(POD, api.list(POD).resource_version) for _ in range(WATCHERS)]
    for obj in pods:
        api.create(POD, obj)
        for watch in watches:
            watch.poll()


def _watched(api: ApiServer, write: Callable[[], None]) -> None:
    """Write, and take in what a watch tells of it."""
    watch = api.watch(POD, api.list(POD).resource_version)
    write()
    assert len(watch.poll()) == CALLS
    watch.stop()


def _over_http() -> Iterator[Measure]:
    server = serve(ApiServer(VirtualClock()))
    try:
        client = _Client(server)
        names = iter(range(1_000_000))
        yield rate(
            "API server over HTTP: create pods",
            "calls/s",
            OVER_HTTP,
            lambda: [client.create(next(names)) for _ in _BATCH],
        )
        yield rate("API server over HTTP: get a pod", "calls/s", OVER_HTTP, lambda: [client.get(0) for _ in _BATCH])
        rounds = iter(range(1_000_000))
        yield rate(
            "API server over HTTP: merge-patch a pod",
            "calls/s",
            OVER_HTTP,
            lambda: [client.patch(0, next(rounds)) for _ in _BATCH],
        )
        rounds = iter(range(1_000_000, 2_000_000))
        yield rate("API server over HTTP: watch events received", "events/s", OVER_HTTP, lambda: client.watch(rounds))
    finally:
        server.stop()
    yield _listed()
    if KUBECTL.exists():
        yield _printed()


def _listed() -> Measure:
    """One list of many pods, read to the end and parsed; each time a pod is another one."""
    with _filled(LISTED) as server:
        client, rounds = _Client(server), iter(range(1_000_000))

        def once() -> float:
            client.patch(0, next(rounds))
            return seconds(client.list)

        return duration(f"API server over HTTP: list {LISTED:,} pods", once)


def _printed() -> Measure:
    """``kubectl get pods``, as a process."""
    with _filled(PRINTED) as server, tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        server.write_kubeconfig(kubeconfig)
        command = [str(KUBECTL), "--kubeconfig", str(kubeconfig), "get", "pods"]
        environment = {"PATH": "", "HOME": folder}

        def once() -> None:
            found = subprocess.run(command, capture_output=True, check=True, env=environment)
            assert found.stdout.count(b"\n") == PRINTED + 1

        return duration(f"API server over HTTP: kubectl get {PRINTED:,} pods", lambda: seconds(once))


@contextmanager
def _filled(count: int) -> Iterator[ApiServerHttp]:
    api = ApiServer(VirtualClock())
    for obj in _pods(count):
        api.create(POD, obj)
    server = serve(api)
    try:
        yield server
    finally:
        server.stop()


_BATCH = range(OVER_HTTP)


class _Client:
    """The least of a client: one connection that is kept."""

    def __init__(self, server: ApiServerHttp) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection(server.host, server.port)

    def create(self, index: int) -> None:
        self._call("POST", PODS, json.dumps(_pod(index)))

    def get(self, index: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._call("GET", f"{PODS}/pod-{index}"))
        return found

    def list(self) -> None:
        assert len(json.loads(self._call("GET", PODS))["items"]) == LISTED

    def patch(self, index: int, round_: int) -> None:
        body = json.dumps({"metadata": {"labels": {"round": str(round_)}}})
        self._call("PATCH", f"{PODS}/pod-{index}", body, "application/merge-patch+json")

    def watch(self, rounds: Iterator[int]) -> None:
        """Open a watch, write, and read everything that it tells."""
        version = self.get(0)["metadata"]["resourceVersion"]
        other = http.client.HTTPConnection(self._server.host, self._server.port)
        other.request("GET", f"{PODS}?watch=true&resourceVersion={version}")
        answer = other.getresponse()
        for _ in _BATCH:
            self.patch(0, next(rounds))
        for _ in _BATCH:
            assert json.loads(answer.readline())["type"] == "MODIFIED"
        other.close()

    def _call(self, method: str, path: str, body: str = "", content_type: str = "application/json") -> bytes:
        self._connection.request(method, path, body or None, {"Content-Type": content_type})
        answer = self._connection.getresponse()
        content = answer.read()
        assert answer.status < 300, content
        return content


def _pods(count: int) -> list[dict[str, Any]]:
    return [_pod(index) for index in range(count)]


def _pod(index: int) -> dict[str, Any]:
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    metadata = {"name": f"pod-{index}", "namespace": "default", "labels": {"app": "bench"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def _each(call: Callable[[int], object]) -> Callable[[], None]:
    def run() -> None:
        for index in range(CALLS):
            call(index)

    return run
