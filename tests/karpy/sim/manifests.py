"""Manifests and worlds that the tests of `karpy.sim` share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.cloud import Timing
from karpy.sim.world import World

NODE_CLASS = {"apiVersion": "sim.karpy.dev/v1", "kind": "SimNodeClass", "metadata": {"name": "default"}}
QUICK = Timing(boot=(1.0, 1.0), ready=(1.0, 1.0), terminate=(5.0, 5.0))


def template(app: str, cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    """A pod template with one container."""
    container = {"name": "main", "image": "nginx:1", "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}}}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container], **spec}}


def workload(kind: Kind, name: str, pod: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {**template(name), **(pod or {})},
            **spec,
        },
    }


def deployment(name: str = "web", replicas: int = 3, **spec: Any) -> dict[str, Any]:
    return workload(kinds.DEPLOYMENT, name, replicas=replicas, **spec)


def bare_pod(name: str = "pod", **spec: Any) -> dict[str, Any]:
    """A pod that nobody owns."""
    made = template(name, **spec)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **made["metadata"]}, "spec": made["spec"]}


def world_with_nodes(count: int = 3, *, instance_type: str = "s-4x-amd64", seed: int = 0, **more: Any) -> World:
    """A world in which ``count`` machines have joined, named node-1 and so on, one zone after the other."""
    world = World(seed, timing=QUICK, **more)
    for serial in range(count):
        world.cloud.add_machine(instance_type, f"sim-1{'abc'[serial % 3]}", NODE_CLASS)
    world.run(10)
    return world


def pods(world: World, namespace: str = "") -> list[Mapping[str, Any]]:
    return list(world.api.list(kinds.POD, namespace).items)


def phases(world: World) -> dict[str, int]:
    """How many pods are in each phase, those being deleted apart."""
    counts: dict[str, int] = {}
    for pod in pods(world):
        phase = "Terminating" if "deletionTimestamp" in pod["metadata"] else pod["status"]["phase"]
        counts[phase] = counts.get(phase, 0) + 1
    return counts


def status(world: World, kind: Kind, name: str, namespace: str = "default") -> Mapping[str, Any]:
    found: Mapping[str, Any] = world.api.get(kind, name, namespace if kind.namespaced else "")["status"]
    return found


def event_reasons(world: World, name: str) -> list[str]:
    """The reasons of the events about the object of that name, in order."""
    events = sorted(world.api.list(kinds.EVENT).items, key=lambda event: int(event["metadata"]["resourceVersion"]))
    return [event["reason"] for event in events if event["involvedObject"]["name"] == name]
