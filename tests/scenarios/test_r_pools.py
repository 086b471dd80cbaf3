"""R03, R05, R33: pools that fail rest, pools of a fixed size wait for capacity, and what is deleted goes in order."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from karpy.objects import kinds
from karpy.sim.generic import NODE_CLASS
from karpy.sim.weather import Shortage, Trouble, Weather, Where
from karpy.sim.world import World
from tests.scenarios.survival import (
    HOUR,
    MINUTE,
    app,
    claims,
    karpy,
    launches,
    machines,
    of_capacity,
    pool,
    running,
    world_of,
    writes,
)

SPOT_NEVER_JOINS = Weather(troubles=(Trouble("never-joins", share=1.0, where=Where(capacity_type="spot")),))
NOTHING_JOINS = Weather(troubles=(Trouble("never-joins", share=1.0),))


def broken_first(**of_broken: Any) -> list[dict[str, Any]]:
    """A pool that is tried first, and whose machines never join; and one that works."""
    annotations = of_broken.pop("annotations", {})
    first = pool("broken", template=of_capacity("spot"), weight=50, **of_broken)
    first["metadata"]["annotations"] = annotations
    return [first, pool("sound", template=of_capacity("on-demand"))]


def condition(world: World, name: str, type_: str = "Resting") -> dict[str, Any]:
    said = world.api.get(kinds.NODE_POOL, name)["status"]["conditions"]
    return next((each for each in said if each["type"] == type_), {})


def messages(world: World, about: str) -> list[str]:
    told = world.api.list(kinds.EVENT).items
    return [event["message"] for event in told if event["involvedObject"].get("name", "").startswith(about)]


# R03: machines that never join


def test_r03_after_three_nodes_that_never_join_the_pool_rests_and_the_next_one_serves_its_pods() -> None:
    world = world_of(karpy, *broken_first(), app(replicas=1), weather=SPOT_NEVER_JOINS)
    world.run(2 * 15 * MINUTE + MINUTE)
    assert condition(world, "broken")["status"] == "False"
    assert condition(world, "broken")["message"].startswith("2 in a row failed, after 3 the pool rests")
    assert condition(world, "broken", "NodeRegistrationHealthy")["reason"] == "RegistrationFailed"
    world.run(15 * MINUTE)
    assert condition(world, "broken")["status"] == "True"
    assert "Failed to register node" in condition(world, "broken")["message"]
    assert running(world) == 1
    assert condition(world, "broken", "Ready")["status"] == "True"
    assert world.check() == ()


def test_r03_a_burst_of_machines_that_never_join_is_one_lesson() -> None:
    """However many pods wait, no more machines live than were planned at first, and after them one is tried at a time."""
    world = world_of(karpy, *broken_first(), app(replicas=40, cpu="3"), weather=SPOT_NEVER_JOINS)
    most = 0
    for _ in range(6):
        world.run(5 * MINUTE)
        most = max(most, len(machines(world)))
    assert running(world) == 40
    first = launches(world)
    assert most <= first
    world.run(HOUR)
    assert launches(world) - first <= 2  # after rests of 10 and 20 minutes, each time for a quarter of an hour


def test_r03_after_its_rest_one_machine_at_a_time_is_tried_and_each_rest_is_longer() -> None:
    world = world_of(karpy, pool(), app(replicas=6, cpu="20"), weather=NOTHING_JOINS)
    world.run(15 * MINUTE + 5.0)
    begun = launches(world)
    assert begun == 6
    assert condition(world, "pool")["status"] == "True"
    assert machines(world) == []
    world.run(8 * HOUR)
    assert all(len(machines(world)) <= 1 for _ in range(20) if world.run(5 * MINUTE) is None)
    # rests of 10, 20, 40, 80, 160, 240 minutes and 15 minutes of trying between them
    assert launches(world) - begun <= 6
    assert any("it rests: " in each for each in messages(world, "web-"))


def test_r03_a_machine_that_joins_ends_it() -> None:
    weather = Weather(troubles=(Trouble("never-joins", launches=(1, 2, 3)),))
    world = world_of(karpy, pool(), app(replicas=1), weather=weather)
    world.run(45 * MINUTE + MINUTE)
    assert condition(world, "pool")["status"] == "True"
    world.run(10 * MINUTE)
    assert running(world) == 1
    assert condition(world, "pool") == {}


@pytest.mark.parametrize("changed", ["pool", "class"])
def test_r03_whoever_mends_the_pool_or_its_class_ends_the_rest(changed: str) -> None:
    weather = Weather(troubles=(Trouble("never-joins", launches=(1, 2, 3)),))
    world = world_of(karpy, pool(), app(replicas=1), weather=weather)
    world.run(45 * MINUTE + MINUTE)
    if changed == "pool":
        world.api.patch(kinds.NODE_POOL, "pool", {"spec": {"weight": 7}})
    else:
        world.api.patch(NODE_CLASS, "default", {"spec": {"image": "mended"}})
    world.run(MINUTE)
    assert condition(world, "pool") == {}
    assert running(world) == 1


@pytest.mark.parametrize("annotated", [True, False])
def test_r03_a_pool_may_be_told_never_to_rest(annotated: bool) -> None:
    annotations = {"karpy.dev/registration-failures-allowed": "0"} if annotated else {}
    world = world_of(
        partial(karpy, registration_failures_allowed=3 if annotated else 0),
        *broken_first(annotations=annotations),
        app(replicas=1),
        weather=SPOT_NEVER_JOINS,
    )
    world.run(2 * HOUR)
    assert condition(world, "broken") == {}
    assert launches(world) == 8


def test_r03_a_restart_forgets_neither_the_count_nor_the_rest() -> None:
    world = world_of(karpy, *broken_first(), app(replicas=1), weather=SPOT_NEVER_JOINS)
    for _ in range(3):
        world.run(15 * MINUTE)
        world.processes[0].crash()
    world.run(30.0)
    said = condition(world, "broken")
    assert said["status"] == "True"
    world.processes[0].crash()
    world.run(5 * MINUTE)
    assert condition(world, "broken") == said
    assert running(world) == 1
    assert world.check() == ()


# R05: a pool of a fixed size, and nothing to be had


def test_r05_a_static_pool_without_capacity_tries_less_and_less_often_and_says_so() -> None:
    world = world_of(
        partial(karpy, static_capacity=True),
        pool("static", replicas=3),
        weather=Weather(shortages=(Shortage(until_s=HOUR),)),
    )
    world.run(HOUR)
    said = condition(world, "static")
    assert (said["status"], said["reason"]) == ("True", "InsufficientCapacity")
    tries = sum(1 for call in world.trace if call.verb == "create" and call.kind == kinds.NODE_CLAIM)
    assert tries <= 3 + 8  # all three at once, then one after rests of ½, 1, 2, 4, 8, 10, 10, 10 minutes
    assert writes(world) < 15 * tries
    world.run(11 * MINUTE)
    assert len(machines(world)) == 3
    assert condition(world, "static") == {}
    assert world.check() == ()


def test_r05_what_can_be_had_is_taken_and_the_rest_waited_for() -> None:
    """Reservations of two spot machines, say: the third of a pool of three comes when there is one."""
    weather = Weather(troubles=(Trouble("no-capacity", launches=(3, 4, 5)),))
    world = world_of(partial(karpy, static_capacity=True), pool("static", replicas=3), weather=weather)
    world.run(20.0)
    assert len(machines(world)) == 2
    world.run(10 * MINUTE)
    assert len(machines(world)) == 3
    assert world.check() == ()


@pytest.mark.parametrize("faults", ["lost:0.1 error:0.05 until:300 seed:2", "crash-after:0.1 until:300 seed:5"])
def test_r05_a_static_pool_has_never_more_than_its_replicas(faults: str) -> None:
    world = world_of(partial(karpy, static_capacity=True), pool("static", replicas=5), faults=faults)
    for _ in range(30):
        world.run(20.0)
        assert len(claims(world)) <= 5
    assert len(machines(world)) == 5
    assert world.check() == ()


# R33: pools and classes are deleted while machines run


def first_gone(world: World, timeout_s: float = 10 * MINUTE) -> list[str]:
    """In which order nodes, claims, pools and classes went."""
    order: list[str] = []
    left = {
        "nodes": kinds.NODE,
        "claims": kinds.NODE_CLAIM,
        "pools": kinds.NODE_POOL,
        "class": NODE_CLASS,
    }
    for _ in range(int(timeout_s)):
        world.run(1.0)
        for word, kind in list(left.items()):
            if not world.api.list(kind).items:
                order.append(word)
                del left[word]
    return order


def test_r33_a_deleted_pool_takes_its_claims_and_these_their_nodes() -> None:
    world = world_of(karpy, app(replicas=4, cpu="3"))
    world.run(2 * MINUTE)
    assert running(world) == 4
    errors = sum(world.processes[0].loop.errors.values()) if world.processes[0].loop is not None else 0
    world.api.delete(kinds.NODE_POOL, "pool")
    order = first_gone(world)
    assert order[0] == "pools"
    assert order.index("nodes") <= order.index("claims")
    assert machines(world) == []
    loop = world.processes[0].loop
    assert loop is not None
    assert sum(loop.errors.values()) == errors
    assert not any(
        call.is_of_cloud and call.verb == "create" for call in world.trace if call.at > world.clock.now() - 600
    )


def test_r33_a_deleted_class_waits_for_its_claims_and_nothing_is_launched_from_it() -> None:
    world = world_of(karpy, app(replicas=2, cpu="3"))
    world.run(2 * MINUTE)
    before = launches(world)
    world.api.delete(NODE_CLASS, "default")
    world.apply([app("more", replicas=3, cpu="3")])
    world.run(5 * MINUTE)
    assert running(world) == 2
    assert launches(world) == before
    said = condition(world, "pool", "NodeClassReady")
    assert (said["status"], said["reason"]) == ("False", "NodeClassTerminating")
    waited_for = [
        each for each in messages(world, "default") if each.startswith("Waiting on NodeClaim termination for ")
    ]
    assert waited_for
    assert all(name in waited_for[0] for name in claims(world))
    world.api.delete(kinds.NODE_POOL, "pool")
    assert first_gone(world) == ["pools", "nodes", "claims", "class"]
    assert machines(world) == []


def test_r33_a_class_that_nobody_uses_goes_at_once() -> None:
    world = world_of(karpy)
    world.run(10.0)
    world.api.delete(NODE_CLASS, "default")
    world.run(1.0)
    assert world.api.list(NODE_CLASS).items == ()
