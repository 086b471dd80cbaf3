"""A world that holds very many objects: how large its process is, and how long a step of it takes.

``python largeworld.py`` prints as JSON what `measures` reports; it is a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import Measure, seconds

from karpy.objects.kinds import NODE, POD, Kind
from karpy.operator import Operator
from karpy.scenarios.rehearsal import Silence, installed_models
from karpy.sim.world import World
from karpy.testing.builders import make_node, make_nodepool, make_pod

NODES, ON_EACH = 5_000, 30
STEPS = 5


def measures() -> Iterator[Measure]:
    name = f"world: {NODES:,} nodes and {NODES * ON_EACH:,} pods"
    command = [sys.executable, Path(__file__)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for what, unit in (("to load", "s"), ("resident", "MiB"), ("a second in which a pod goes and comes", "ms")):
        yield Measure(f"{name}, {what}", found[what], unit, 1, "lower")


def large() -> dict[str, float]:
    world = World(0, installed_models())
    world.install(Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Silence()))
    world.apply([make_nodepool()])
    return {
        "to load": seconds(lambda: fill(world)),
        "a second in which a pod goes and comes": statistics.median(step(world) * 1000 for _ in range(STEPS)),
        "resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def fill(world: World) -> None:
    for number in range(NODES):
        zone = {"topology.kubernetes.io/zone": f"sim-1{'abc'[number % 3]}"}
        store(world, NODE, make_node(f"node-{number}", labels=zone))
    for number in range(NODES * ON_EACH):
        on = f"node-{number // ON_EACH}"
        store(world, POD, make_pod(f"pod-{number}", node=on, labels={"app": f"app-{number % 300}"}, owner=""))
        if number % 10_000 == 0:
            world.run(0.01)  # who watches keeps up
    world.run(1)


def step(world: World) -> float:
    world.api.delete(POD, "pod-0", "default", grace_period_s=0)
    store(world, POD, make_pod("pod-0", node="node-0", owner=""))
    return seconds(lambda: world.run(1))


def store(world: World, kind: Kind, obj: dict[str, Any]) -> None:
    """Create an object and write the status that it comes with."""
    for key in ("uid", "resourceVersion", "creationTimestamp"):
        obj["metadata"].pop(key, None)
    world.api.create(kind, obj)
    namespace = obj["metadata"].get("namespace", "")
    world.api.patch(kind, obj["metadata"]["name"], {"status": obj["status"]}, namespace, subresource="status")


if __name__ == "__main__":
    sys.stdout.write(json.dumps(large()))
