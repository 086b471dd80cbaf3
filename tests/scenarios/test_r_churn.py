"""R08-R12, R16, R43 of consolidation and drift: what is moved is moved for a reason, once, and never before its place is ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from karpy import labels
from karpy.objects import kinds
from karpy.objects.churnrules import CHURN_CONTROL
from karpy.sim.invariants.facts import Move
from karpy.sim.weather import Mishap, Shortage, Weather, Where
from karpy.sim.world import World
from tests.scenarios.survival import (
    DAY,
    HOUR,
    MINUTE,
    app,
    broken,
    claims,
    karpy,
    machines,
    of_capacity,
    pool,
    running,
    scale,
    world_of,
)

ANY_CAPACITY = of_capacity("spot", "on-demand")
VALIDATION_S = 15.0


def moves(world: World) -> list[Move]:
    """All commands that were started."""
    return world.witness.facts.moves


def evicted(world: World, name: str = "") -> list[str]:
    """The pods (of one app) that were evicted."""
    return [call.name for call in world.trace if call.verb == "evict" and call.is_ok and call.name.startswith(name)]


def uids(world: World, name: str) -> set[str]:
    pods = world.api.list(kinds.POD, label_selector=f"app={name}").items
    return {pod["metadata"]["uid"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}


def disrupting(**disruption: Any) -> dict[str, Any]:
    """How a pool is disrupted, without a budget in the way unless one is given."""
    return {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "30s",
        "budgets": [{"nodes": "100%"}],
        **disruption,
    }


def controlled(found: dict[str, Any], annotations: Mapping[str, str] = {}) -> dict[str, Any]:
    """The pool with churn control, and with more to be said of that."""
    found["metadata"]["annotations"] = {CHURN_CONTROL: "on", **annotations}
    return found


# R08: to and fro


def settled(world: World) -> bool:
    """Whether nobody comes or goes."""
    found = world.api.list(kinds.NODE_CLAIM).items
    return set(machines(world)) == {claim["metadata"]["name"] for claim in found} and not any(
        "deletionTimestamp" in claim["metadata"] for claim in found
    )


@pytest.mark.parametrize("capacity", [("on-demand",), ("spot", "on-demand")], ids=["on-demand", "any"])
def test_r08_each_move_of_a_closed_workload_lowers_the_price_and_there_are_few(capacity: tuple[str, ...]) -> None:
    """A day in which nobody asks for anything else, after most of every app has gone."""
    sizes = {"a": "300m", "b": "700m", "c": "1500m", "d": "2", "e": "3500m"}
    world = world_of(karpy, pool(template=of_capacity(*capacity)), *(app(name, 6, cpu) for name, cpu in sizes.items()))
    world.run(10 * MINUTE)
    for name in sizes:
        scale(world, name, 2)
    nodes, prices = len(machines(world)), [world.cloud.cost_per_hour()]
    before = len(moves(world))
    for _ in range(int(DAY / (10 * MINUTE))):
        world.run(10 * MINUTE)
        assert settled(world)
        prices.append(world.cloud.cost_per_hour())
    made = moves(world)[before:]
    assert 1 <= len(made) <= nodes
    assert prices == sorted(prices, reverse=True)
    assert len(set(prices)) > 1
    assert all(_saved(move) > 0 for move in made)
    assert running(world) == 10
    assert world.check() == ()


def _saved(move: Move) -> float:
    return move.price - sum(price or 0.0 for price in move.replacements.values())


# R09: what replaces a node is never to be had


def shrunken(*, control: bool) -> World:
    """A pod on a machine that is too large for it, in a cloud that has no small ones any more."""
    gone = tuple(
        Shortage(Where(instance_type=f"{family}-{size}x-*"), from_s=2 * MINUTE)
        for family in "csm"
        for size in (1, 2, 4)
    )
    pools = pool(template=of_capacity("on-demand"))
    world = world_of(
        karpy, controlled(pools) if control else pools, app("big", 6, "1"), weather=Weather(shortages=gone)
    )
    world.run(3 * MINUTE)
    scale(world, "big", 1)
    return world


def test_r09_nobody_is_evicted_for_a_replacement_that_cannot_be_had() -> None:
    world = shrunken(control=False)
    world.run(MINUTE)
    before = uids(world, "big")
    world.run(6 * HOUR)
    assert evicted(world) == []
    assert uids(world, "big") == before
    assert broken(world) == set()


def test_r09_a_node_whose_replacement_failed_is_left_alone_for_longer_and_longer() -> None:
    world = shrunken(control=True)
    world.run(6 * HOUR)
    times = [move.at for move in moves(world)]
    gaps = [after - before for before, after in pairwise(times)]
    assert 2 <= len(times) <= 12
    assert gaps == sorted(gaps)
    assert gaps[-1] >= HOUR / 2
    assert evicted(world) == []


# R10: spot comes and goes

WAVE_S = 7 * MINUTE
"""No multiple of how long a node is left alone after a failure: else it would always be tried while there is no spot."""
FLAPPING = Weather(
    shortages=(Shortage(Where(capacity_type="spot"), period_s=WAVE_S, duty=0.5),),
    mishaps=tuple(Mishap("interruption", WAVE_S * wave + 10, 0) for wave in range(1, 25)),
)
"""There is spot for half of the time. Whenever it runs out, a spot machine is wanted back."""


def swaps(world: World) -> list[Move]:
    """Replacements that came."""
    return [move for move in moves(world) if move.replacements and None not in move.replacements.values()]


def test_r10_karpenters_rules_go_back_to_spot_each_time() -> None:
    world = world_of(karpy, pool(template=ANY_CAPACITY), app(cpu="3"), weather=FLAPPING)
    world.run(3 * HOUR)
    assert len(swaps(world)) > 12


def test_r10_while_spot_comes_and_goes_a_node_is_swapped_once_in_a_cooldown() -> None:
    """Quarantine, which would have its say first, is off."""
    pools = controlled(pool(template=ANY_CAPACITY), {"karpy.dev/quarantine": "0s"})
    world = world_of(karpy, pools, app(cpu="3"), weather=FLAPPING)
    world.run(3 * HOUR)
    times = [move.at for move in swaps(world)]
    assert len(times) >= 1
    assert all(after - before >= HOUR for before, after in pairwise(times))
    assert running(world) == 3


# R11: a pod comes while its node is judged


@pytest.mark.parametrize("after", ["30s", "0s"])
def test_r11_a_command_that_was_found_before_a_pod_came_does_not_evict_it(after: str) -> None:
    """A node is to be replaced by a smaller one. A pod comes to it, at whatever second of all that."""
    pools = pool(disruption=disrupting(consolidateAfter=after), template=of_capacity("on-demand"))
    went = 0
    for second in range(0, 60, 2):
        world = world_of(karpy, pools, app("big", 6, "1"))
        world.run(3 * MINUTE)
        scale(world, "big", 2)
        world.run(second)
        world.apply([app("late", 1, "500m")])
        assert world.run_until(lambda world=world: is_bound(world, "late"))
        bound_at = world.clock.now()
        world.run(4 * MINUTE)
        went += bool(evicted(world, "late"))
        # Whoever takes the pod away has known of it for as long as it takes to make sure.
        in_between = [move for move in moves(world) if bound_at <= move.at < bound_at + VALIDATION_S]
        assert not (in_between and evicted(world, "late")), second
    assert went  # later, when it had been left alone for as long as the pool says


def is_bound(world: World, name: str) -> bool:
    pods = world.api.list(kinds.POD, label_selector=f"app={name}").items
    return bool(pods) and all(pod["spec"].get("nodeName") for pod in pods)


# R12: drift, with somebody ready to take over


def apart(name: str) -> dict[str, Any]:
    """Fields of pods that never share a node with their like."""
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": labels.HOSTNAME}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def gently(name: str, at_least: int) -> dict[str, Any]:
    spec = {"minAvailable": at_least, "selector": {"matchLabels": {"app": name}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}


def ready(world: World, name: str) -> int:
    deployment = world.api.get(kinds.DEPLOYMENT, name, "default")
    return int(deployment.get("status", {}).get("readyReplicas", 0))


def let_drift(world: World) -> set[str]:
    """Ask for another label on every node of the pool; answers the claims that have drifted by that."""
    old = claims(world)
    template = {"spec": {"template": {"metadata": {"labels": {"generation": "2"}}}}}
    world.api.patch(kinds.NODE_POOL, "pool", template)
    return old


def watched(world: World, seconds: float, look: Callable[[], int]) -> tuple[int, int]:
    """The least and the most of something, looked at whenever anything has happened."""
    seen: list[int] = []

    def note() -> bool:
        seen.append(look())
        return False

    world.run_until(note, seconds)
    return min(seen), max(seen)


@pytest.mark.parametrize("replicas", [2, 4])
def test_r12_drift_replaces_one_after_the_other_when_the_next_is_ready(replicas: int) -> None:
    """The pool's budget would let all of them go at once; the pods' own does not."""
    world = world_of(
        karpy,
        pool(disruption=disrupting(consolidateAfter="Never")),
        app("db", replicas, "1", **apart("db")),
        gently("db", replicas - 1),
    )
    world.run(5 * MINUTE)
    assert ready(world, "db") == replicas
    old = let_drift(world)
    least, _ = watched(world, HOUR, lambda: ready(world, "db"))
    assert least >= replicas - 1
    assert not old & claims(world)
    assert len(machines(world)) == replicas
    assert world.check() == ()  # among others: replacements come first


def test_r12_a_lone_pod_is_evicted_when_its_next_node_is_ready_for_it() -> None:
    world = world_of(karpy, pool(disruption=disrupting(consolidateAfter="Never")), app("lone", 1, "1"))
    world.run(5 * MINUTE)
    old = let_drift(world)
    assert world.run_until(lambda: bool(evicted(world, "lone")), HOUR)
    up = [
        node
        for node in world.api.list(kinds.NODE).items
        if node["metadata"]["labels"].get("generation") == "2" and node["metadata"]["labels"].get(labels.INITIALIZED)
    ]
    assert len(up) == 1
    world.run(10 * MINUTE)
    assert not old & claims(world)
    assert running(world) == 1
    assert world.check() == ()


def test_r12_drift_waits_while_its_replacement_cannot_be_had() -> None:
    world = world_of(
        karpy,
        pool(disruption=disrupting(consolidateAfter="Never")),
        app("db", 2, "1", **apart("db")),
        weather=Weather(shortages=(Shortage(from_s=5 * MINUTE, until_s=65 * MINUTE),)),
    )
    world.run(5 * MINUTE)
    old = let_drift(world)
    assert watched(world, 55 * MINUTE, lambda: running(world)) == (2, 2)
    assert moves(world)
    assert old <= claims(world)
    world.run(90 * MINUTE)
    assert not old & claims(world)
    assert running(world) == 2


# R16: many at once


def test_r16_of_many_nodes_that_drift_together_no_more_are_away_than_the_budget_says() -> None:
    budget = disrupting(consolidateAfter="Never", budgets=[{"nodes": "4"}])
    world = world_of(karpy, pool(disruption=budget), app("web", 40, "20"))
    world.run(5 * MINUTE)
    assert running(world) == 40
    old = let_drift(world)

    def going() -> int:
        return sum("deletionTimestamp" in claim["metadata"] for claim in world.api.list(kinds.NODE_CLAIM).items)

    _, most = watched(world, 2 * HOUR, going)
    assert 1 <= most <= 4
    assert not old & claims(world)
    assert running(world) == 40
    assert world.check() == ()


# R43: a rollout with a surge


SURGE_STAYS_S = 6 * MINUTE
"""How long after a rollout the nodes that it took may stay."""


@pytest.mark.parametrize("control", [False, pytest.param(True)], ids=["rules", "churn control"])
def test_r43_nodes_that_a_rollout_took_go_soon_after_it_and_nobody_else_is_disturbed(control: bool) -> None:
    web = app("web", 16, "900m")
    web["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}
    pools = pool(template=of_capacity("on-demand"))
    world = world_of(karpy, controlled(pools) if control else pools, web, app("still", 8, "900m"))
    world.run(30 * MINUTE)
    nodes, others = len(machines(world)), uids(world, "still")
    mark = {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}
    world.api.patch(kinds.DEPLOYMENT, "web", mark, "default")
    world.run(30)
    assert world.run_until(lambda: is_rolled_out(world, "web"), 30 * MINUTE)
    world.run(SURGE_STAYS_S)
    assert len(machines(world)) <= nodes
    assert uids(world, "still") == others
    world.run(2 * HOUR)
    assert uids(world, "still") == others
    assert running(world) == 24
    assert world.check() == ()


def is_rolled_out(world: World, name: str) -> bool:
    deployment = world.api.get(kinds.DEPLOYMENT, name, "default")
    status, wanted = deployment.get("status", {}), deployment["spec"]["replicas"]
    return bool(status.get("updatedReplicas") == status.get("readyReplicas") == status.get("replicas") == wanted)
