from __future__ import annotations

import pytest

from karpy.testing.generations import GENERATIONS, as_written
from tests.scenarios.survival import HOUR, MINUTE, app, claims, karpy, machines, pool, running, scale, world_of

POOL = pool(weight=10, limits={"cpu": "8"})


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("policy", ["WhenEmpty", "WhenEmptyOrUnderutilized"])
def test_a_pool_of_every_generation_brings_nodes_keeps_its_limit_and_lets_them_go(generation: str, policy: str) -> None:
    written = {
        **POOL,
        "spec": {**POOL["spec"], "disruption": {**POOL["spec"]["disruption"], "consolidationPolicy": policy}},
    }
    world = world_of(karpy, app(replicas=20), as_written(written, generation))
    world.run(3 * MINUTE)
    assert 1 <= running(world) <= 8
    scale(world, "web", 0)
    world.run(HOUR / 2)
    assert (claims(world), machines(world)) == (set(), [])
    assert world.check() == ()


def test_the_newest_is_the_pool_itself() -> None:
    assert as_written(POOL, "v1") is POOL


def test_older_ones_say_what_they_can_say() -> None:
    beta, old = as_written(POOL, "v1beta1"), as_written(POOL, "v1alpha5")
    assert beta["apiVersion"] == "karpenter.sh/v1beta1"
    assert beta["spec"]["disruption"] == {"consolidationPolicy": "WhenUnderutilized", "budgets": [{"nodes": "100%"}]}
    assert (old["kind"], old["spec"]["consolidation"]) == ("Provisioner", {"enabled": True})
    assert old["spec"]["limits"] == {"resources": {"cpu": "8"}}
