"""What the weather does in a world: at its time, though nobody asks the cloud anything."""

from __future__ import annotations

import pytest

from karpy import labels
from karpy.objects import kinds
from karpy.operator import Operator
from karpy.resources import Resources
from karpy.sim.weather import Mishap, PriceWalk, Shortage, Stray, Throttle, Trouble, Weather
from karpy.sim.world import World
from tests.karpy.controllers.stage import Silence, pool
from tests.karpy.sim.manifests import NODE_CLASS, QUICK, deployment, phases, template, world_with_nodes


def node_names(world: World) -> list[str]:
    return [node["metadata"]["name"] for node in world.api.list(kinds.NODE).items]


def autoscaled(weather: Weather, seed: int = 0) -> World:
    """A world with karpy in it, which buys spot, and a Deployment that needs a machine."""
    world = World(seed, timing=QUICK, weather=weather)
    world.install(Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Silence()))
    spot = {"key": labels.CAPACITY_TYPE, "operator": "In", "values": [labels.SPOT]}
    world.apply([NODE_CLASS, pool(requirements=[spot]), deployment("web", 3)])
    return world


def test_a_machine_that_is_terminated_by_plan_takes_its_node_along() -> None:
    world = world_with_nodes(3, weather=Weather(mishaps=(Mishap("termination", 100.0, machine=2),)))
    world.run(89)
    assert node_names(world) == ["node-1", "node-2", "node-3"]
    world.run(3)
    assert [machine.terminating_since is not None for machine in world.cloud.machines] == [False, True, False]
    world.run(300)
    assert node_names(world) == ["node-1", "node-3"]


def test_a_death_by_plan_is_found_out_by_missed_heartbeats() -> None:
    world = world_with_nodes(2, weather=Weather(mishaps=(Mishap("death", 60.0, machine=1),)))
    world.run(120)
    ready = {
        node["metadata"]["name"]: next(
            each["status"] for each in node["status"]["conditions"] if each["type"] == "Ready"
        )
        for node in world.api.list(kinds.NODE).items
    }
    assert ready == {"node-1": "Unknown", "node-2": "True"}


def test_a_silence_is_found_out_and_ends() -> None:
    world = world_with_nodes(1, weather=Weather(mishaps=(Mishap("silence", 60.0, for_s=200.0),)))

    def ready() -> str:
        conditions = world.api.get(kinds.NODE, "node-1")["status"]["conditions"]
        return str(next(each["status"] for each in conditions if each["type"] == "Ready"))

    world.run(60 + 100 - 10)
    assert ready() == "Unknown"
    world.run(150)
    assert ready() == "True"


def test_nodes_have_what_their_machines_were_launched_with() -> None:
    world = autoscaled(Weather(troubles=(Trouble("less-memory", (1,), by=0.25),)))
    assert world.run_until(lambda: len(node_names(world)) == 1)
    (machine,) = world.cloud.machines
    status = world.api.get(kinds.NODE, machine.node_name)["status"]
    promised = machine.instance_type.capacity["memory"]
    assert Resources.parse(status["capacity"])["memory"] == pytest.approx(promised * 0.75)


def test_pods_of_an_interrupted_machine_run_on_another_before_it_is_taken() -> None:
    world = autoscaled(Weather(mishaps=(Mishap("interruption", 60.0),)))
    world.run(59)
    (before,) = world.cloud.machines
    assert phases(world) == {"Running": 3}
    world.run(1 + 119)
    (after,) = world.cloud.machines
    assert after is not before
    assert phases(world) == {"Running": 3}


@pytest.mark.parametrize("kind", ["no-capacity", "fails", "error", "timeout", "answer-lost"])
def test_karpy_overcomes_a_launch_that_fails(kind: str) -> None:
    world = autoscaled(Weather(troubles=(Trouble(kind, (1,)),)))
    assert world.run_until(lambda: phases(world) == {"Running": 3}, 600)
    assert len(world.cloud.machines) == 1


@pytest.mark.parametrize("says_when", [True, False])
def test_karpy_gets_through_a_throttled_api_without_losing_or_doubling_a_launch(says_when: bool) -> None:
    throttles = (
        Throttle(("create",), burst=3, per_s=0.5, says_when=says_when),
        Throttle(("get", "list"), burst=3, per_s=0.5, says_when=says_when),
        Throttle(("delete",), burst=3, per_s=0.5, says_when=says_when),
    )
    world = autoscaled(Weather(throttles=throttles))
    apart = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": "apart"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    world.apply([deployment("apart", 25, template=template("apart", affinity=affinity))])
    assert world.run_until(lambda: phases(world) == {"Running": 28}, 600)
    assert world.cloud.throttled["create"] > 0
    assert world.cloud.launches == 25
    claims = {claim["metadata"]["name"] for claim in world.api.list(kinds.NODE_CLAIM).items}
    assert {machine.claim for machine in world.cloud.machines} == claims


def test_karpy_waits_for_capacity_to_come_back() -> None:
    world = autoscaled(Weather(shortages=(Shortage(until_s=900.0),)))
    world.run(890)
    assert (world.cloud.launches, phases(world)) == (0, {"Pending": 3})
    assert world.run_until(lambda: phases(world) == {"Running": 3}, 900)


def test_a_stray_joins_no_cluster() -> None:
    world = world_with_nodes(1, weather=Weather(strays=(Stray(30.0),)))
    world.run(600)
    assert len(world.cloud.machines) == 2
    assert node_names(world) == ["node-1"]


def test_a_world_in_which_nothing_is_planned_sleeps() -> None:
    calm, walking = world_with_nodes(1), world_with_nodes(1, weather=Weather(price_walk=PriceWalk(every_s=600.0)))
    for world in (calm, walking):
        world.run(3600)
    counts = [world.loop.reconciles for world in (calm, walking)]
    for world in (calm, walking):
        world.run(86_400)
    grown = [world.loop.reconciles - count for world, count in zip((calm, walking), counts, strict=True)]
    assert grown[1] - grown[0] == 144
