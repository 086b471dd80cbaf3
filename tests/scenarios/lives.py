"""Lives to be disturbed: one machine's from launch to end, those of ten in three pools while the cloud misbehaves, and those of
machines that are replaced, for what they cost and for what their pool became."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from karpy import labels
from karpy.objects import kinds
from karpy.sim.faults import Faults
from karpy.sim.processes.process import Program
from karpy.sim.weather import Mishap, Shortage, Weather, Where
from karpy.sim.world import World
from karpy.testing.sweeping import Act, Story
from tests.scenarios.survival import MINUTE, app, claims, karpy, machines, of_capacity, pool, running, scale, world_of

__all__ = ["MANY", "ONE", "REPLACED", "one"]


def gently(name: str) -> dict[str, Any]:
    """Of these pods only one at a time may be missing."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}


def apart(name: str) -> dict[str, Any]:
    """Fields of pods that never share a node with their like."""
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": labels.HOSTNAME}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def expecting(*, pods: int, most_machines: int) -> Callable[[World], Iterator[str]]:
    """Nothing is lost, leaked or doubled."""

    def wrong(world: World) -> Iterator[str]:
        if running(world) != pods:
            yield f"{running(world)} pods run instead of {pods}"
        if claims(world) != set(machines(world)):
            yield f"claims {sorted(claims(world))} stand for machines {machines(world)}"
        if len(machines(world)) > most_machines:
            yield f"{len(machines(world))} machines where {most_machines} do"
        names = {node["metadata"]["name"] for node in world.api.list(kinds.NODE).items}
        if len(names) != len(machines(world)):
            yield f"nodes {sorted(names)} for machines {machines(world)}"

    return wrong


def nothing(_world: World) -> None:
    """Let it come up."""


def delete_claims(world: World) -> None:
    for name in sorted(claims(world)):
        world.api.delete(kinds.NODE_CLAIM, name)


def fewer(world: World) -> None:
    scale(world, "apart", 3)


def none(world: World) -> None:
    for deployment in world.api.list(kinds.DEPLOYMENT).items:
        scale(world, deployment["metadata"]["name"], 0)


def shrink(world: World) -> None:
    """Each machine is too large for what is left on it."""
    scale(world, "apart", 0)


def let_drift(world: World) -> None:
    world.api.patch(kinds.NODE_POOL, "pool", {"spec": {"template": {"metadata": {"labels": {"generation": "2"}}}}})


def all_new(pods: int, most_machines: int) -> Callable[[World], Iterator[str]]:
    """Besides, no machine is left of those that have drifted."""
    usual = expecting(pods=pods, most_machines=most_machines)

    def wrong(world: World) -> Iterator[str]:
        yield from usual(world)
        for claim in world.api.list(kinds.NODE_CLAIM).items:
            if claim["metadata"]["labels"].get("generation") != "2":
                yield f"{claim['metadata']['name']} has drifted, and stays"

    return wrong


def _one(faults: Faults, program: Program = karpy) -> World:
    return world_of(program, app(replicas=2), gently("web"), faults=str(faults))


def _many(faults: Faults) -> World:
    """Three pools: of spot machines, sold out in a zone, of which one is interrupted; one with little room; and one more."""
    weather = Weather(shortages=(Shortage(Where(zone="sim-1a")),), mishaps=(Mishap("interruption", 40.0, 1),))
    pools = (
        pool("spot", weight=50, template=of_capacity("spot"), limits={"nodes": "4"}),
        pool("few", weight=20, template=of_capacity("on-demand"), limits={"cpu": "8"}),
        pool("last", template=of_capacity("on-demand")),
    )
    pods = (app("apart", 10, "500m", **apart("apart")), app("web", 4), gently("web"))
    return world_of(karpy, *pools, *pods, weather=weather, faults=str(faults))


def _replaced(faults: Faults) -> World:
    """Machines of one pool. For some minutes there are no others to be had."""
    weather = Weather(shortages=(Shortage(from_s=4 * MINUTE, until_s=9 * MINUTE),))
    pods = (app("apart", 3, "3", **apart("apart")), gently("web"))
    return world_of(karpy, pool(template=of_capacity("on-demand")), *pods, weather=weather, faults=str(faults))


def one(program: Program) -> Story:
    """A machine's life from launch to end, twice over, as this program leads it."""
    return Story(
        "one machine",
        lambda faults: _one(faults, program),
        (
            Act("it comes up", nothing, 3 * MINUTE, expecting(pods=2, most_machines=1)),
            Act("its claim is deleted", delete_claims, 6 * MINUTE, expecting(pods=2, most_machines=1)),
            Act("nobody needs it", none, 12 * MINUTE, expecting(pods=0, most_machines=0)),
        ),
    )


ONE = one(karpy)
MANY = Story(
    "ten machines",
    _many,
    (
        Act("they come up", nothing, 8 * MINUTE, expecting(pods=14, most_machines=12)),
        Act("most go", fewer, 8 * MINUTE, expecting(pods=7, most_machines=5)),
        Act("nobody needs them", none, 12 * MINUTE, expecting(pods=0, most_machines=0)),
    ),
)
REPLACED = Story(
    "machines that are replaced",
    _replaced,
    (
        Act("they come up", nothing, 3 * MINUTE, expecting(pods=3, most_machines=3)),
        Act(
            "others come to them",
            lambda world: world.apply([app("web", 3, "500m")]),
            MINUTE,
            expecting(pods=6, most_machines=3),
        ),
        Act("smaller ones would do, and are not to be had", shrink, 4 * MINUTE, expecting(pods=3, most_machines=3)),
        Act("they are to be had", nothing, 8 * MINUTE, expecting(pods=3, most_machines=1)),
        Act("the pool has changed", let_drift, 8 * MINUTE, all_new(pods=3, most_machines=1)),
        Act("nobody needs them", none, 8 * MINUTE, expecting(pods=0, most_machines=0)),
    ),
)
