"""Nodes that go all at once: drained under budgets, their pods on other nodes, their machines ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from measure import Measure, duration, seconds
from worlds import deployment, pool

from karpy.errors import InternalError
from karpy.objects import kinds
from karpy.objects.watchevent import WatchEvent
from karpy.operator import Operator
from karpy.scenarios.rehearsal import Silence, installed_models
from karpy.sim.world import World

NODES, ON_EACH, APPS = 500, 30, 30
MAY_BE_MISSING = "10%"
HOUR = 3_600


def measures() -> Iterator[Measure]:
    name = f"world: {NODES} nodes with {NODES * ON_EACH:,} pods under budgets drained and terminated at once"
    yield duration(name, all_at_once, runs=1)


def all_at_once() -> float:
    """Seconds from the deletion of all claims until their nodes are gone and all pods run elsewhere. No budget is overspent."""
    world = World(0, installed_models())
    world.install(Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Silence()))
    names = [f"app-{index}" for index in range(APPS)]
    replicas = NODES * ON_EACH // APPS
    world.apply([*pool(), *(obj for name in names for obj in _app(name, replicas))])
    assert world.run_until(lambda: _ready(world, names) == NODES * ON_EACH, HOUR), f"{_ready(world, names)} pods run"
    world.run(60)
    old = [claim["metadata"]["name"] for claim in world.api.list(kinds.NODE_CLAIM).items]
    assert len(old) == NODES, f"{len(old)} nodes"
    world.loop.subscribe(kinds.POD_DISRUPTION_BUDGET, _check)

    def end() -> None:
        for name in old:
            world.api.delete(kinds.NODE_CLAIM, name)
        gone = set(old)

        def is_over() -> bool:
            there = {name for _, name in world.loop.objects(kinds.NODE_CLAIM)}
            return gone.isdisjoint(there) and _ready(world, names) == NODES * ON_EACH

        assert world.run_until(is_over, HOUR)

    return seconds(end)


def _check(event: WatchEvent) -> None:
    status: dict[str, Any] = event.object.get("status") or {}
    if status.get("currentHealthy", 0) < status.get("desiredHealthy", 0):
        raise InternalError(
            f"{event.object['metadata']['name']} has fewer healthy pods than its budget allows: {status}"
        )


def _app(name: str, replicas: int) -> Iterator[dict[str, Any]]:
    obj = deployment(replicas)
    own = {"app": name}
    obj["metadata"]["name"] = name
    obj["spec"]["selector"] = {"matchLabels": own}
    obj["spec"]["template"]["metadata"] = {"labels": own}
    obj["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "390m"}
    yield obj
    yield {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": own}, "maxUnavailable": MAY_BE_MISSING},
    }


def _ready(world: World, names: list[str]) -> int:
    statuses = (world.api.get(kinds.DEPLOYMENT, name, "default").get("status", {}) for name in names)
    return sum(int(status.get("readyReplicas", 0)) for status in statuses)
