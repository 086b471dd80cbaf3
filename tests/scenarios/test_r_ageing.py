"""R15, R16, R40: time passes, clocks jump, versions change, and machines go one after the other or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.objects import kinds
from karpy.sim.world import World
from tests.scenarios.survival import HOUR, MINUTE, app, karpy, pool, running, world_of

WHOLE = "20"
"""So many CPUs that each pod has a machine of its own."""


def lasting(life: str, budget: str = "10%") -> dict[str, Any]:
    """A pool whose machines live so long, and go for no other reason."""
    found = pool(disruption={"consolidateAfter": "Never", "budgets": [{"nodes": budget}]})
    found["spec"]["template"]["spec"]["expireAfter"] = life
    return found


def going(world: World) -> int:
    return sum("deletionTimestamp" in claim["metadata"] for claim in world.api.list(kinds.NODE_CLAIM).items)


def names(world: World) -> set[str]:
    return {claim["metadata"]["name"] for claim in world.api.list(kinds.NODE_CLAIM).items}


# R15


@pytest.mark.parametrize("seed", range(2))
def test_r15_machines_expire_in_time_though_the_clock_jumps(seed: int) -> None:
    world = world_of(
        karpy, lasting("3h"), app(replicas=4, cpu=WHOLE), faults=f"jump:0.02 until:{5 * HOUR:.0f} seed:{seed}"
    )
    world.run(5 * MINUTE)
    old = names(world)
    assert len(old) == 4
    world.run(6 * HOUR)
    assert not old & names(world)
    assert running(world) == 4
    assert world.check() == ()


# R16


def test_r16_of_many_machines_born_together_no_more_are_away_than_the_budget_says() -> None:
    world = world_of(karpy, lasting("4h"), app(replicas=50, cpu=WHOLE))
    assert world.run_until(lambda: running(world) == 50, 10 * MINUTE)
    born = names(world)
    most, least_running = 0, 50
    for _ in range(int(4 * HOUR / 20)):
        world.run(20)
        most, least_running = max(most, going(world)), min(least_running, running(world))
    assert not born & names(world)
    assert 1 <= most <= 5
    assert least_running >= 42


# R40


def test_r40_an_upgrade_that_reckons_hashes_otherwise_moves_nothing() -> None:
    world = world_of(karpy, lasting("Never"), app(replicas=10, cpu=WHOLE))
    assert world.run_until(lambda: running(world) == 10, 10 * MINUTE)
    before = names(world)
    older = {"metadata": {"annotations": {labels.NODEPOOL_HASH: "17", labels.NODEPOOL_HASH_VERSION: "v2"}}}
    for name in sorted(before):
        world.api.patch(kinds.NODE_CLAIM, name, older)
    world.api.patch(kinds.NODE_POOL, "pool", older)
    world.crash_at(world.boundary.calls + 4, after=True)
    world.run(2 * HOUR)
    claims = world.api.list(kinds.NODE_CLAIM).items
    assert {claim["metadata"]["name"] for claim in claims} == before
    assert {claim["metadata"]["annotations"][labels.NODEPOOL_HASH_VERSION] for claim in claims} == {"v3"}
    assert not any(each["type"] == "Drifted" for claim in claims for each in claim["status"]["conditions"])
    assert world.check() == ()
