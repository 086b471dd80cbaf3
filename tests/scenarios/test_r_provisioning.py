"""R02, R04, R14, R17, R27: pods get their machines in the end, wherever these can be had, and no more of them than they need."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.objects import kinds
from karpy.sim.weather import Shortage, Trouble, Weather, Where
from karpy.sim.world import World
from tests.scenarios.survival import (
    HOUR,
    MINUTE,
    app,
    karpy,
    launches,
    machines,
    pool,
    running,
    world_of,
)

FAMILY = "sim.karpy.dev/instance-family"


def of_family(name: str, family: str, **spec: Any) -> dict[str, Any]:
    """A pool that buys machines of one family."""
    made = pool(name, **spec)
    wanted = [{"key": FAMILY, "operator": "In", "values": [family]}]
    made["spec"]["template"]["spec"] = {**made["spec"]["template"]["spec"], "requirements": wanted}
    return made


def sold_out(family: str) -> tuple[Shortage, ...]:
    """Nothing is left of the family, whatever the size, the zone and the capacity type."""
    return tuple(Shortage(Where(f"{family}-{size}x-amd64")) for size in (1, 2, 4, 8, 12, 16, 32))


def claims_made(world: World) -> int:
    return sum(1 for call in world.trace if call.verb == "create" and call.kind == kinds.NODE_CLAIM and call.is_ok)


# R17: the first choice cannot be had


def test_r17_when_all_that_a_pool_buys_is_sold_out_the_next_one_serves_within_a_minute() -> None:
    weather = Weather(shortages=sold_out("c"))
    world = world_of(
        karpy, of_family("first", "c", weight=50), of_family("second", "s"), app(replicas=20), weather=weather
    )
    assert world.run_until(lambda: bool(machines(world)), MINUTE)
    world.run(2 * MINUTE)
    assert running(world) == 20
    assert {name.rpartition("-")[0] for name in machines(world)} == {"second"}
    assert world.check() == ()


def test_r17_what_is_known_to_be_sold_out_is_not_tried_again() -> None:
    weather = Weather(shortages=sold_out("c"))
    world = world_of(
        karpy, of_family("first", "c", weight=50), of_family("second", "s"), app(replicas=20), weather=weather
    )
    world.run(2 * MINUTE)
    tried = [refusal.key for answer in world.cloud.answers for refusal in answer.refusals]
    assert len(tried) > 3
    assert len(set(tried)) == len(tried)


def test_r17_three_pools_that_are_sold_out_one_after_another_take_no_longer() -> None:
    weather = Weather(shortages=(*sold_out("c"), *sold_out("s")))
    pools = (of_family("one", "c", weight=3), of_family("two", "s", weight=2), of_family("three", "m", weight=1))
    world = world_of(karpy, *pools, app(replicas=20), weather=weather)
    assert world.run_until(lambda: bool(machines(world)), MINUTE)
    assert {name.rpartition("-")[0] for name in machines(world)} == {"three"}


# R02: a new life of karpy knows what the machines have that are there


@pytest.mark.parametrize("less", [0.01, 0.10])
def test_r02_a_restart_does_not_begin_to_launch_in_vain_anew(less: float) -> None:
    weather = Weather(troubles=(Trouble("less-memory", share=1.0, by=less),))
    stays = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}
    small = {"key": "sim.karpy.dev/instance-cpu", "operator": "In", "values": ["2"]}
    only = pool(disruption=stays)
    only["spec"]["template"]["spec"] = {**only["spec"]["template"]["spec"], "requirements": [small]}
    world = world_of(karpy, only, app(replicas=1, cpu="1", memory="15990Mi"), weather=weather)
    world.run(10 * MINUTE)
    before = launches(world)
    assert before >= 1
    for _ in range(3):
        world.crash_at(world.boundary.calls + 1)
        world.run(10 * MINUTE)
    assert world.processes[0].lives == 4
    assert launches(world) == before


# R27: kube-scheduler puts pods elsewhere than planned


@pytest.mark.parametrize("seed", range(3))
def test_r27_who_lost_his_place_is_planned_again_at_once(seed: int) -> None:
    """Large pods wait behind small ones that could go anywhere."""
    small, large = app("small", 60, "500m"), app("large", 12, "7", "4Gi")
    world = world_of(karpy, small, large, seed=seed)
    assert world.run_until(lambda: running(world) == 72, 2 * MINUTE)
    assert world.check() == ()


def test_r04_early_and_late_launches_of_one_batch_share_the_limit() -> None:
    world = world_of(karpy, pool(limits={"cpu": "64"}))
    for number in range(200):
        world.apply([app(f"a{number}", 1, "900m")])
        world.run(0.05)
    world.run(5 * MINUTE)
    assert world.check() == ()
    sold = sum(int(node["status"]["capacity"]["cpu"]) for node in world.api.list(kinds.NODE).items)
    assert 48 <= sold <= 64
    assert running(world) >= 48


def test_r14_nothing_is_launched_for_pods_that_cannot_leave_their_node() -> None:
    stays = app("stays", 3)
    stays["spec"]["template"]["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    world = world_of(karpy, stays)
    world.run(2 * MINUTE)
    made = claims_made(world)
    for name in sorted(machines(world)):
        world.api.delete(kinds.NODE_CLAIM, name)
    world.run(HOUR / 2)
    assert claims_made(world) == made
    assert running(world) == 3
