"""The actors over HTTP: they reach the server through a kubeconfig, as they would reach a real one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from karpy.clock import SystemClock
from karpy.kube.remote import RemoteKube
from karpy.objects import kinds
from karpy.sim.apiserver import ApiServer
from karpy.sim.http import serve
from karpy.sim.outpost import Outpost
from karpy.sim.podfacts import is_ready
from tests.karpy.sim.manifests import NODE_CLASS, QUICK, deployment, workload

PATIENCE_S = 30.0


@pytest.fixture
def server() -> ApiServer:
    return ApiServer(SystemClock(), rbac=True)


@pytest.fixture
def outpost(server: ApiServer, tmp_path: Path) -> Iterator[Outpost]:
    """At work in a thread of its own, five times as fast as the wall clock."""
    face = serve(server)
    face.write_kubeconfig(tmp_path / "kc")
    stop, woken = threading.Event(), threading.Event()
    kube = RemoteKube(tmp_path / "kc", woken.set)
    outpost = Outpost(kube, timing=QUICK)
    for zone in "abc":
        outpost.cloud.add_machine("s-4x-amd64", f"sim-1{zone}", NODE_CLASS)
    thread = threading.Thread(target=outpost.run, args=(stop, woken, 5.0))
    thread.start()
    yield outpost
    stop.set()
    thread.join()
    kube.close()
    face.stop()


def soon(holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold before patience runs out."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.usefixtures("outpost")
def test_workloads_run_on_nodes_that_joined(server: ApiServer) -> None:
    server.create(kinds.DEPLOYMENT, deployment(replicas=3), "default")
    server.create(kinds.DAEMON_SET, workload(kinds.DAEMON_SET, "agent"), "default")

    def all_run() -> bool:
        pods = server.list(kinds.POD).items
        return len(pods) == 6 and all(is_ready(pod) for pod in pods)

    assert soon(all_run), [each.get("status") for each in server.list(kinds.POD).items]
    on = {pod["spec"]["nodeName"] for pod in server.list(kinds.POD).items if pod["metadata"]["labels"]["app"] == "web"}
    assert len(on) == 3
    assert soon(lambda: server.get(kinds.DEPLOYMENT, "web", "default")["status"].get("availableReplicas") == 3)
    server.delete(kinds.DEPLOYMENT, "web", "default")
    assert soon(lambda: len(server.list(kinds.POD).items) == 3)
