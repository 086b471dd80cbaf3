"""Clusters in which controllers have to survive, and what is seen of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.objects import kinds
from karpy.operator import Operator
from karpy.settings import Settings
from karpy.sim.cloud import Timing
from karpy.sim.faults import Faults
from karpy.sim.generic import NODE_CLASS
from karpy.sim.processes.process import Program, Surroundings
from karpy.sim.weather import Weather
from karpy.sim.world import World

QUICK = Timing(boot=(5.0, 20.0), ready=(1.0, 5.0), terminate=(2.0, 8.0))
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
NODE_CLASS_OBJECT = {
    "apiVersion": NODE_CLASS.api_version,
    "kind": NODE_CLASS.kind,
    "metadata": {"name": "default"},
}


def karpy(surroundings: Surroundings, **settings: Any) -> Operator:
    """karpy as it is."""
    return Operator(
        kube=surroundings.kube,
        providers=surroundings.providers,
        clock=surroundings.clock,
        settings=Settings(**settings),
        on_decision=surroundings.on_decision,
        log=surroundings.log,
    )


def pool(name: str = "pool", **spec: Any) -> dict[str, Any]:
    """A NodePool without a budget in the way; ``spec`` changes its fields."""
    ref = {"group": NODE_CLASS.group, "kind": NODE_CLASS.kind, "name": "default"}
    fields = {
        "template": {"spec": {"nodeClassRef": ref, "requirements": []}},
        "disruption": {
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "consolidateAfter": "30s",
            "budgets": [{"nodes": "100%"}],
        },
    }
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": {**fields, **spec}}


def of_capacity(*types: str) -> dict[str, Any]:
    """The template of a pool that buys these capacity types only."""
    template: dict[str, Any] = pool()["spec"]["template"]
    wanted = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": list(types)}
    return {"spec": {**template["spec"], "requirements": [wanted]}}


def app(name: str = "web", replicas: int = 3, cpu: str = "1", memory: str = "1Gi", **spec: Any) -> dict[str, Any]:
    """A Deployment; ``spec`` are more fields of its pods."""
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def world_of(
    program: Program,
    *objects: Mapping[str, Any],
    seed: int = 0,
    weather: Weather | None = None,
    faults: str = "",
    replicas: int = 1,
    start: float | None = None,
) -> World:
    """A world in which ``program`` runs, with a pool and these objects."""
    begins = {} if start is None else {"start": start}
    world = World(seed, timing=QUICK, weather=weather, faults=Faults.parse(faults), **begins)
    world.start(program, "it", replicas=replicas)
    has_pool = any(obj["kind"] in ("NodePool", "Provisioner") for obj in objects)
    world.apply([NODE_CLASS_OBJECT, *([] if has_pool else [pool()]), *map(dict, objects)])
    return world


def scale(world: World, name: str, replicas: int) -> None:
    world.api.patch(kinds.DEPLOYMENT, name, {"spec": {"replicas": replicas}}, "default")


def broken(world: World) -> set[str]:
    """The names of the invariants that did not hold."""
    return {violation.invariant for violation in world.check()}


def running(world: World, name: str = "") -> int:
    """How many pods run (of one app)."""
    pods = world.api.list(kinds.POD, label_selector=f"app={name}" if name else "").items
    return sum(
        1 for pod in pods if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
    )


def claims(world: World) -> set[str]:
    return {obj["metadata"]["name"] for obj in world.api.list(kinds.NODE_CLAIM).items}


def machines(world: World) -> list[str]:
    """The claims of all machines that run."""
    return sorted(machine.claim for machine in world.cloud.machines if machine.terminating_since is None)


def launches(world: World) -> int:
    """How many machines were ever launched by a process."""
    return sum(1 for call in world.trace if call.is_of_cloud and call.verb == "create" and call.is_ok)


def writes(world: World) -> int:
    return sum(1 for call in world.trace if call.is_write and not call.is_of_cloud)
