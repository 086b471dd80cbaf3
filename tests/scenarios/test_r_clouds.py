"""R19, R20, R32: clouds that do not answer, tell old news, or take two hundred machines back at once."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.controllers.interruption import Interruption
from karpy.objects import kinds
from karpy.operator import Operator
from karpy.sim.processes.process import Surroundings
from karpy.sim.weather import Delivery, Hazard, Mishap, Weather
from karpy.sim.world import World
from tests.scenarios.lives import apart
from tests.scenarios.survival import MINUTE, app, broken, claims, karpy, machines, of_capacity, pool, running, world_of

SPOT = pool(template=of_capacity("spot"))
MANY = 200


# R19


@pytest.mark.parametrize("fault", ["slow:0.3", "stall:0.1"])
def test_r19_calls_without_an_answer_hold_nothing_up_for_long(fault: str) -> None:
    world = world_of(karpy, app(replicas=6), faults=f"{fault} until:300 seed:4")
    world.run(12 * MINUTE)
    assert running(world) == 6
    assert claims(world) == set(machines(world))
    assert world.check() == ()


# R20


def test_r20_a_cloud_that_tells_old_news_costs_no_machine_and_doubles_none() -> None:
    world = world_of(karpy, app(replicas=6), weather=Weather(read_lag_s=(20.0, 90.0)))
    world.run(10 * MINUTE)
    first = set(machines(world))
    assert running(world) == 6
    world.run(20 * MINUTE)
    assert set(machines(world)) <= first, "no machine was ended, or launched again, for a list that did not show it yet"
    assert (running(world), world.check()) == (6, ())


# R32


def spread_out(replicas: int) -> dict[str, Any]:
    """As many machines as pods."""
    return app("apart", replicas, "100m", "100Mi", **apart("apart"))


def deaf(surroundings: Surroundings) -> Operator:
    """karpy without the controller that listens."""
    operator = karpy(surroundings)
    operator.controllers = tuple(each for each in operator.controllers if not isinstance(each, Interruption))
    return operator


def when_tainted(world: World) -> dict[str, float]:
    """When each node was closed for new pods, noted from now on."""
    seen: dict[str, float] = {}

    def note(event: Any) -> None:
        taints = event.object["spec"].get("taints") or ()
        if any(taint["key"] == "karpenter.sh/disrupted" for taint in taints):
            seen.setdefault(event.object["metadata"]["name"], world.clock.now())

    world.subscribe(kinds.NODE, note)
    return seen


def test_r32_two_hundred_machines_that_are_taken_back_at_once_are_closed_within_seconds() -> None:
    weather = Weather(delivery=Delivery(repeated=0.2, foreign_per_hour=3600.0))
    world = world_of(karpy, SPOT, spread_out(MANY), weather=weather)
    assert world.run_until(lambda: running(world) == MANY, 10 * MINUTE)
    world.run(MINUTE)
    taken = [machine.provider_id for machine in world.cloud.machines]
    began, seen = world.clock.now(), when_tainted(world)
    for provider_id in taken:
        world.cloud.befall(provider_id, "interruption")
    world.run(119)
    waits = sorted(at - began for at in seen.values())
    assert len(waits) >= MANY
    assert waits[MANY * 99 // 100 - 1] <= 5.0
    assert running(world) == MANY, "every pod had another machine before the first was taken"
    assert not {machine.provider_id for machine in world.cloud.machines if machine.terminating_since is None} & set(
        taken
    )


@pytest.mark.parametrize("program", [karpy, deaf], ids=["listening", "deaf"])
def test_r32_notices_that_are_lost_or_that_nobody_reads_cost_time_and_nothing_else(program: Any) -> None:
    weather = Weather(delivery=Delivery(lost=0.5), mishaps=tuple(Mishap("interruption", 90.0, n) for n in range(1, 5)))
    world = world_of(program, SPOT, spread_out(4), weather=weather)
    world.run(15 * MINUTE)
    assert running(world) == 4
    assert claims(world) == set(machines(world))
    assert broken(world) == set()


def test_r32_interruptions_by_chance_never_leave_anybody_waiting_for_long() -> None:
    weather = Weather(hazards=(Hazard("interruption", per_hour=2.0),), lasts_s=60 * MINUTE)
    world = world_of(karpy, SPOT, spread_out(10), weather=weather)
    world.run(70 * MINUTE)
    assert running(world) == 10
    assert world.check() == ()
