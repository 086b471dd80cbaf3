"""Spare capacity on a whole simulated EKS cluster: pods start at once, and the room that they took is made anew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml

import karpy.scenarios
from karpy.cloud.model import load_models
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.operator import Operator
from karpy.settings import Settings
from karpy.sim.world import World

SILENT = structlog.wrap_logger(structlog.testing.CapturingLogger())
EKS = tuple(yaml.safe_load_all((Path(karpy.scenarios.__file__).parent / "eks.yaml").read_text()))
POOL = tuple(obj for obj in EKS if obj["kind"] != "Deployment")
POD = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "nginx", "resources": {"requests": {"cpu": "1"}}}]},
}
SPARE = (
    {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "web"}, "template": POD},
    {
        "apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "CapacityBuffer",
        "metadata": {"name": "spare"},
        "spec": {"podTemplateRef": {"name": "web"}, "replicas": 3},
    },
)
AT_ONCE_S = 1.0
A_MACHINE_S = 20.0
"""The least that a machine takes to come up."""


class Cluster:
    """A world with karpy in it that serves CapacityBuffers."""

    def __init__(self, *objects: Mapping[str, Any], seed: int = 0) -> None:
        self.world = World(seed=seed, models=load_models())
        self.world.install(
            Operator(
                kube=self.world.api,
                providers=[self.world.cloud],
                clock=self.world.clock,
                settings=Settings(capacity_buffer=True),
                log=SILENT,
            )
        )
        self.world.apply([*POOL, *objects])

    def deploy(self, replicas: int) -> float:
        """Apply a Deployment; how long it takes until all of its pods have their nodes."""
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": POD}
        self.world.apply([{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}])
        start = self.world.clock.now()
        assert self.world.run_until(lambda: self.bound == replicas)
        return self.world.clock.now() - start

    def items(self, kind: Kind) -> tuple[Mapping[str, Any], ...]:
        return self.world.api.list(kind).items

    @property
    def bound(self) -> int:
        return sum(1 for pod in self.items(kinds.POD) if pod["spec"].get("nodeName"))

    @property
    def free_cpus(self) -> int:
        """Whole CPUs that are free on nodes which are up, node by node."""
        taken: dict[str, int] = {}
        for pod in self.items(kinds.POD):
            node = pod["spec"].get("nodeName", "")
            taken[node] = taken.get(node, 0) + 1
        free = 0
        for node in self.items(kinds.NODE):
            cpu = node["status"]["allocatable"]["cpu"]
            milli = int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)
            free += milli // 1000 - taken.get(node["metadata"]["name"], 0)
        return free

    @property
    def room_is_there(self) -> bool:
        (buffer,) = self.items(kinds.CAPACITY_BUFFER)
        conditions = {each["type"]: each["status"] for each in (buffer.get("status") or {}).get("conditions", ())}
        return conditions.get("Provisioning") == "True"


@pytest.mark.parametrize("seed", [0, 1])
def test_pods_land_on_spare_capacity_at_once_and_it_is_made_anew(seed: int) -> None:
    cluster = Cluster(*SPARE, seed=seed)
    cluster.world.run(120)
    assert cluster.room_is_there
    assert cluster.free_cpus >= 3
    assert cluster.items(kinds.POD) == ()

    assert cluster.deploy(3) <= AT_ONCE_S
    cluster.world.run(300)
    assert cluster.room_is_there
    assert cluster.free_cpus >= 3

    cluster.world.run(1800)  # and consolidation does not take it
    assert cluster.room_is_there
    assert (cluster.bound, cluster.free_cpus >= 3) == (3, True)


def test_without_spare_capacity_pods_wait_for_a_machine() -> None:
    assert Cluster().deploy(3) > A_MACHINE_S


def test_spare_capacity_goes_with_its_buffer() -> None:
    cluster = Cluster(*SPARE)
    assert cluster.world.run_until(lambda: cluster.room_is_there)
    cluster.world.api.delete(kinds.CAPACITY_BUFFER, "spare", "default")
    assert cluster.world.run_until(lambda: cluster.items(kinds.NODE_CLAIM) == ())
    assert cluster.world.cloud.cost_per_hour() == 0
