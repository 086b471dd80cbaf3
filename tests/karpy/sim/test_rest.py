"""After any storm of changes the cluster comes to rest as its objects ask, and the scheduler's picture is the truth."""

from __future__ import annotations

import random

import pytest

from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.sim.scheduler import Scheduler
from karpy.sim.world import World
from tests.karpy.sim.manifests import NODE_CLASS, deployment, phases, pods, status, workload, world_with_nodes

APPS = ("a", "b", "c", "d")


def storm(seed: int) -> World:
    dice = random.Random(seed)
    world = world_with_nodes(5, seed=seed)
    world.apply([deployment(app, dice.randrange(1, 8)) for app in APPS])
    world.apply([workload(kinds.DAEMON_SET, "agent"), workload(kinds.STATEFUL_SET, "db", replicas=3)])
    for step in range(40):
        try:
            strike(world, dice, step)
        except KubeError as error:
            if not error.not_found:  # what was to be struck is gone already
                raise
        world.run(dice.choice([0, 0.5, 3, 20, 100]))
    calm(world)
    return world


def strike(world: World, dice: random.Random, step: int) -> None:
    app = dice.choice(APPS)
    machines = world.cloud.machines
    victim = dice.choice(machines) if machines else None
    match dice.randrange(8):
        case 0:
            world.api.patch(kinds.DEPLOYMENT, app, {"spec": {"replicas": dice.randrange(10)}}, "default")
        case 1:
            changed = {"spec": {"template": {"metadata": {"annotations": {"step": str(step)}}}}}
            world.api.patch(kinds.DEPLOYMENT, app, changed, "default")
        case 2 if victim:
            world.cloud.kill(victim.provider_id)
        case 3 if victim:
            world.cloud.vanish(victim.provider_id)
        case 4 if victim:
            world.api.delete(kinds.NODE, victim.node_name)
        case 5 if victim:
            cordon = {"spec": {"unschedulable": dice.choice([True, None])}}
            world.api.patch(kinds.NODE, victim.node_name, cordon)
        case 6 if pods(world):
            metadata = dice.choice(pods(world))["metadata"]
            world.api.delete(kinds.POD, metadata["name"], metadata["namespace"])
        case _:
            world.cloud.add_machine("s-4x-amd64", f"sim-1{dice.choice('abc')}", NODE_CLASS)


def calm(world: World) -> None:
    """Clear away what is dead, lift cordons, and make enough room for everything."""
    for machine in world.cloud.machines:
        if machine.is_dead:
            world.cloud.vanish(machine.provider_id)
    for node in world.api.list(kinds.NODE).items:
        world.api.patch(kinds.NODE, node["metadata"]["name"], {"spec": {"unschedulable": None}})
    world.cloud.add_machine("s-16x-amd64", "sim-1a", NODE_CLASS)
    world.run(1200)


@pytest.fixture(scope="module", params=range(6))
def calmed(request: pytest.FixtureRequest) -> World:
    return storm(request.param)


def test_every_workload_has_what_it_asks_for(calmed: World) -> None:
    for app in APPS:
        wanted = calmed.api.get(kinds.DEPLOYMENT, app, "default")["spec"]["replicas"]
        found = status(calmed, kinds.DEPLOYMENT, app)
        counts = {found.get(key, 0) for key in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")}
        assert counts == {wanted}
    assert status(calmed, kinds.STATEFUL_SET, "db")["readyReplicas"] == 3
    nodes = calmed.api.list(kinds.NODE).items
    assert status(calmed, kinds.DAEMON_SET, "agent")["numberReady"] == len(nodes)


def test_every_pod_runs_on_a_node_that_exists(calmed: World) -> None:
    assert set(phases(calmed)) == {"Running"}
    nodes = {node["metadata"]["name"] for node in calmed.api.list(kinds.NODE).items}
    assert {pod["spec"]["nodeName"] for pod in pods(calmed)} <= nodes


def test_nothing_is_left_to_do_but_to_let_events_expire(calmed: World) -> None:
    calmed.run(2 * 3600)
    assert calmed.settle(60, 600)


def test_the_schedulers_picture_is_what_the_api_says(calmed: World) -> None:
    (scheduler,) = (actor for actor in calmed.actors if isinstance(actor, Scheduler))
    seen = {picture.name: set(picture.pods) for picture in scheduler._nodes}
    true: dict[str, set[tuple[str, str]]] = {
        node["metadata"]["name"]: set() for node in calmed.api.list(kinds.NODE).items
    }
    for pod in pods(calmed):
        true[pod["spec"]["nodeName"]].add((pod["metadata"]["namespace"], pod["metadata"]["name"]))
    assert seen == true
    for picture in scheduler._nodes:
        requested = sum(pod.shape.requests["cpu"] for pod in picture.pods.values())
        assert picture.requested.get("cpu", 0) == requested
        assert sum(picture.live.values()) == len(picture.pods)
