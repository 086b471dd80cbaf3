"""R27 and the reference's first finding: a burst is planned once. Pods stay with the machine that was planned for them while it
comes up, and the plan knows where kube-scheduler will put them.

Karpenter, for the like of these 200 pods: 18 nodes in several waves, and all pods bound 16.6 s after the last was created, with
machines that are ready at once; here they take three seconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.scheduling.plan import Plan
from karpy.settings import Settings
from tests.karpy.controllers.stage import Stage, pool
from tests.karpy.sim.manifests import bare_pod

Json = dict[str, Any]
SHAPES = (
    *(("100m", "128Mi"), ("200m", "256Mi"), ("250m", "512Mi"), ("500m", "512Mi"), ("500m", "1Gi"), ("750m", "1Gi")),
    *(("1", "1Gi"), ("1", "2Gi"), ("1500m", "3Gi"), ("2", "4Gi")),
)
ZONES = ("sim-1a", "sim-1b", "sim-1c")
JOINED_S = 2.0
"""Machines boot in a second and are ready in another."""


def pod(name: str, app: str, shape: tuple[str, str], **spec: Any) -> Json:
    made = bare_pod(name, **spec)
    made["metadata"]["labels"] = {"app": app}
    made["spec"]["containers"][0]["resources"]["requests"] = dict(zip(("cpu", "memory"), shape, strict=True))
    return made


def spread(app: str, key: str = labels.ZONE) -> Json:
    term = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**term, "labelSelector": {"matchLabels": {"app": app}}}]}


def apart(app: str) -> Json:
    term = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def in_zone(chance: random.Random) -> Json:
    return {"nodeSelector": {labels.ZONE: chance.choice(ZONES)}}


def ten_shapes(_chance: random.Random, number: int) -> Json:
    """Half of the pods keep to a spread over zones."""
    size, is_spread = number % 10, number // 10 % 2 == 1
    app = f"shape-{size}-{'spread' if is_spread else 'plain'}"
    return pod(f"p{number:04d}", app, SHAPES[size], **(spread(app) if is_spread else {}))


def mixture(chance: random.Random, number: int) -> Json:
    """Plain pods, and all kinds of such as may not go everywhere."""
    name, shape, kind = f"p{number:04d}", chance.choice(SHAPES), chance.random()
    if kind < 0.5:
        return pod(name, "plain", shape)
    if kind < 0.65:
        return pod(name, "bound", shape, **in_zone(chance))
    app = f"app-{chance.randrange(5)}"
    if kind < 0.75:
        return pod(name, f"{app}-apart", shape, **apart(f"{app}-apart"))
    if kind < 0.9:
        return pod(name, f"{app}-zones", shape, **spread(f"{app}-zones"))
    return pod(name, f"{app}-hosts", shape, **spread(f"{app}-hosts", labels.HOSTNAME))


def half_bound(chance: random.Random, number: int) -> Json:
    """Half of the pods may go to one zone only."""
    return pod(f"p{number:04d}", "plain", chance.choice(SHAPES), **(in_zone(chance) if chance.random() < 0.5 else {}))


@attrs.frozen
class Burst:
    """What became of pods that all came at once."""

    planned: int
    later: int
    price: float
    waited_s: float


def burst(kind: Callable[[random.Random, int], Json], seed: int, count: int = 200, **settings: Any) -> Burst:
    chance = random.Random(seed)
    crowd = [kind(chance, number) for number in range(count)]
    chance.shuffle(crowd)
    largest = {"key": "sim.karpy.dev/instance-cpu", "operator": "Lt", "values": ["17"]}
    stays = pool(requirements=[largest])
    stays["spec"]["disruption"] = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}
    stage = Stage(stays, settings=Settings(**settings))
    stage.world.apply(crowd)
    waited_s = stage.until(lambda: not stage.operator.state.snapshot().pending and bool(stage.nodes))
    stage.run(60)
    plans = [plan for _, plan in stage.decisions if isinstance(plan, Plan) and plan.launches]
    assert len(stage.claims) == sum(len(plan.launches) for plan in plans)
    first, *rest = plans
    return Burst(
        len(first.launches),
        sum(len(plan.launches) for plan in rest),
        sum(plan.price for plan in plans),
        waited_s,
    )


@pytest.mark.parametrize("kind", [ten_shapes, mixture, half_bound])
def test_a_burst_launches_its_first_plan_and_hardly_ever_a_machine_more(kind: Callable[..., Json]) -> None:
    """The rest is chance: kube-scheduler rolls dice. It costs a twentieth more at most than what comes later."""
    foreseeing = [burst(kind, seed) for seed in range(3)]
    blind = [burst(kind, seed, foresee_placement=False) for seed in range(3)]
    assert max(each.later for each in foreseeing) <= 1
    assert sum(each.later for each in foreseeing) < sum(each.later for each in blind)
    assert sum(each.price for each in foreseeing) <= 1.05 * sum(each.price for each in blind)
    assert sum(each.waited_s for each in foreseeing) < sum(each.waited_s for each in blind)
    assert all(each.waited_s <= 8.0 for each in foreseeing)


def test_those_who_lost_their_place_get_another_in_seconds() -> None:
    """Without foresight some do, and wait neither for the end of the nomination nor for a poll."""
    bursts = [burst(ten_shapes, seed, foresee_placement=False) for seed in range(3)]
    assert any(each.later for each in bursts)
    assert all(each.waited_s <= 1.0 + JOINED_S + 1.0 + 1.0 + JOINED_S + 1.0 for each in bursts)


def test_a_burst_of_pods_that_are_alike_is_planned_once_and_exactly() -> None:
    found = burst(lambda _chance, number: pod(f"p{number:04d}", "web", ("1", "2Gi")), seed=0, count=300)
    assert found.later == 0
    assert found.waited_s <= 5.0
