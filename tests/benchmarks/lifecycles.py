"""Lives of nodes by the thousand: how long it takes to bring them up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from measure import Measure, seconds
from worlds import deployment, pool, running

from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.nodeclaim import INITIALIZED
from karpy.operator import Operator
from karpy.scenarios.rehearsal import Silence, installed_models
from karpy.sim.world import World

CLAIMS = 1_000
HOUR = 3_600.0


def measures() -> Iterator[Measure]:
    name = f"world: {CLAIMS:,} claims launched, registered, initialized, and their pods run"
    yield Measure(name, seconds(lambda: brought_up(CLAIMS)), "s", 1, "lower")


def brought_up(count: int) -> World:
    """A world in which so many machines came up at once, for a pod each."""
    world = World(0, installed_models())
    world.install(Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Silence()))
    world.apply([*pool(), filling(count)])
    assert world.run_until(lambda: running(world) == count, HOUR), f"{running(world)} pods run"
    claims = world.api.list(NODE_CLAIM).items
    assert len(claims) == count
    assert all(_is_initialized(claim) for claim in claims)
    return world


def filling(replicas: int) -> dict[str, Any]:
    """A Deployment whose every pod needs a machine of its own."""
    obj = deployment(replicas)
    obj["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "11"}
    return obj


def _is_initialized(claim: Any) -> bool:
    return any(each["type"] == INITIALIZED and each["status"] == "True" for each in claim["status"]["conditions"])
