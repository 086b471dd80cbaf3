"""Nodes that go all at once, under budgets: drained, their pods on other nodes, their machines ended.

Nothing has to be launched or scheduled, since that is measured elsewhere: whatever leaves is bound to a node that stands by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from measure import Measure, duration, seconds
from worlds import pool

from karpy import labels
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import InternalError
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.operator import Operator
from karpy.scenarios.rehearsal import Silence, installed_models
from karpy.sim.world import World
from karpy.testing.builders import selector

NODES, ON_EACH, APPS = 500, 30, 30
MAY_BE_MISSING = 0.1
HOUR = 3_600


def measures() -> Iterator[Measure]:
    name = f"world: {NODES} nodes with {NODES * ON_EACH:,} pods under {APPS} budgets drained and terminated at once"
    yield duration(name, all_at_once, runs=1)


class Owners:
    """Whoever owns the pods: one that is gone comes again, on a node that stands by."""

    name = "owners"

    def __init__(self, world: World) -> None:
        self._world = world
        self._gone: dict[str, str] = {}
        self._made = 0

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.POD, self._when_gone),)

    def _when_gone(self, event: WatchEvent) -> tuple[Request, ...]:
        metadata = event.object["metadata"]
        if event.type is not EventType.DELETED:
            return ()
        self._gone[metadata["name"]] = metadata["labels"]["app"]
        return (Request(metadata["name"]),)

    def reconcile(self, request: Request) -> Result:
        create(self._world, self._gone.pop(request.name), f"again-{self._made}", f"spare-{self._made % NODES}")
        self._made += 1
        return DONE


def all_at_once() -> float:
    """Seconds from the deletion of all claims until they are gone. No budget is overspent."""
    world = World(0, installed_models())
    world.install(Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Silence()))
    settle(world)
    old = frozenset(name for _, name in world.loop.objects(kinds.NODE_CLAIM))
    world.loop.subscribe(kinds.POD_DISRUPTION_BUDGET, check)
    world.loop.add(Owners(world))

    def end() -> None:
        for name in sorted(old):
            world.api.delete(kinds.NODE_CLAIM, name)
        assert world.run_until(lambda: not world.loop.objects(kinds.NODE_CLAIM), HOUR)

    taken = seconds(end)
    assert len(world.loop.objects(kinds.POD)) == NODES * ON_EACH
    return taken


def settle(world: World) -> None:
    """Nodes of karpy's with pods on them, and as many nodes that stand by."""
    node_class, nodepool = pool()
    nodepool["spec"]["disruption"] = {"consolidateAfter": "Never"}
    world.apply([node_class, nodepool, *(claim(number) for number in range(NODES)), *(map(budget, apps()))])
    for number in range(NODES):
        world.cloud.add_machine("s-12x-amd64", "sim-1a", node_class, f"spare-{number}")
    assert world.run_until(lambda: len(world.loop.objects(kinds.NODE)) == 2 * NODES, HOUR)
    world.run(60)
    nodes = [node["metadata"]["name"] for node in world.api.list(kinds.NODE, label_selector=labels.NODEPOOL).items]
    assert len(nodes) == NODES
    for number in range(NODES * ON_EACH):
        create(world, apps()[number % APPS], f"pod-{number}", nodes[number // ON_EACH])
        if number % 1_000 == 0:
            world.run(0.01)  # who watches keeps up
    world.run(60)
    assert all(is_healthy(each) for each in world.api.list(kinds.POD_DISRUPTION_BUDGET).items)


def apps() -> list[str]:
    return [f"app-{number}" for number in range(APPS)]


def claim(number: int) -> dict[str, Any]:
    return {
        "apiVersion": kinds.NODE_CLAIM.api_version,
        "kind": kinds.NODE_CLAIM.kind,
        "metadata": {"name": f"claim-{number}", "labels": {labels.NODEPOOL: "default"}},
        "spec": {
            "nodeClassRef": {"group": "sim.karpy.dev", "kind": "SimNodeClass", "name": "default"},
            "requirements": [selector(labels.INSTANCE_TYPE, "In", "s-12x-amd64")],
            "expireAfter": "Never",
        },
    }


def budget(app: str) -> dict[str, Any]:
    kept = int(NODES * ON_EACH // APPS * (1 - MAY_BE_MISSING))
    return {
        "apiVersion": kinds.POD_DISRUPTION_BUDGET.api_version,
        "kind": kinds.POD_DISRUPTION_BUDGET.kind,
        "metadata": {"name": app},
        "spec": {"selector": {"matchLabels": {"app": app}}, "minAvailable": kept},
    }


def create(world: World, app: str, name: str, node: str) -> None:
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": "100m"}}}
    metadata = {"name": name, "namespace": "default", "labels": {"app": app}}
    spec = {"containers": [container], "nodeName": node}
    world.api.create(kinds.POD, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def check(event: WatchEvent) -> None:
    if event.type is not EventType.DELETED and not is_healthy(event.object):
        raise InternalError(f"PodDisruptionBudget {event.object['metadata']['name']} is overspent")


def is_healthy(obj: Any) -> bool:
    status = obj.get("status") or {}
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 1))
