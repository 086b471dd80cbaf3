"""A batch that pods keep coming to: machines that are full do not wait for its end."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from karpy.clock import parse_time
from karpy.objects import kinds
from karpy.objects.meta import find_condition, readable_conditions
from karpy.scheduling.plan import Plan
from karpy.settings import Settings
from tests.karpy.controllers.stage import Stage, pool, refusal
from tests.karpy.sim.manifests import bare_pod

SHAPES = ("100m", "200m", "250m", "500m", "750m", "1", "1500m", "2")


def small_machines() -> dict[str, Any]:
    """A pool whose largest machines have sixteen cores."""
    largest = {"key": "sim.karpy.dev/instance-cpu", "operator": "Lt", "values": ["17"]}
    return pool(requirements=[largest])


class Trickle:
    """Pods of many sizes that come one after another over ten seconds."""

    def __init__(self, count: int, *, progressive: bool) -> None:
        self.stage = Stage(small_machines(), settings=Settings(progressive_launch=progressive))
        self.began = self.stage.clock.now()
        for number in range(count):
            self.stage.world.apply([bare_pod(f"p{number:04d}", cpu=SHAPES[number % len(SHAPES)])])
            self.stage.run(10.0 / count)
        self.stage.until(lambda: not self.stage.operator.state.snapshot().pending)

    @property
    def plans(self) -> list[tuple[float, Plan]]:
        """Those that launched something, with their times since the beginning."""
        decisions = [(at - self.began, plan) for at, plan in self.stage.decisions if isinstance(plan, Plan)]
        return [(at, plan) for at, plan in decisions if plan.launches]

    @property
    def price(self) -> float:
        return sum(plan.price for _, plan in self.plans)

    @property
    def mean_wait_s(self) -> float:
        """From a pod's creation until it was bound."""
        pods = self.stage.all(kinds.POD)
        bound = [find_condition(readable_conditions(pod["status"]["conditions"]), "PodScheduled") for pod in pods]
        since = [condition.since for condition in bound if condition is not None]
        created = [parse_time(pod["metadata"]["creationTimestamp"]) for pod in pods]
        return statistics.mean(at - before for at, before in zip(since, created, strict=True))


def test_pods_that_keep_coming_get_their_first_machines_early_and_at_no_higher_price() -> None:
    early, late = Trickle(500, progressive=True), Trickle(500, progressive=False)
    assert late.plans[0][0] == 10.0
    assert early.plans[0][0] <= 2.0
    assert early.price <= 1.05 * late.price
    assert len(early.stage.claims) <= 1.05 * len(late.stage.claims)
    assert early.mean_wait_s < 0.6 * late.mean_wait_s


def test_a_machine_that_still_has_room_waits_for_the_rest_of_the_batch() -> None:
    trickle = Trickle(20, progressive=True)
    assert [at for at, _ in trickle.plans] == [10.0]
    assert len(trickle.stage.claims) == 1


@pytest.mark.parametrize("progressive", [True, False])
def test_a_batch_that_is_closed_soon_is_planned_once(progressive: bool) -> None:
    stage = Stage(small_machines(), settings=Settings(progressive_launch=progressive))
    stage.world.apply([bare_pod(f"p{number}") for number in range(300)])
    stage.run(60)
    assert sum(bool(plan.launches) for _, plan in stage.decisions) == 1


def test_an_early_plan_says_only_what_is_done() -> None:
    trickle = Trickle(400, progressive=True)
    first = trickle.plans[0][1]
    assert first.nominations == ()
    assert first.unschedulable == ()
    assert all(launch.pods for launch in first.launches)


def test_a_refusal_of_an_early_launch_is_made_good() -> None:
    stage = Stage(small_machines())
    refusals = []

    def create(real: Any, kind: Any, *rest: Any) -> Any:
        if kind == kinds.NODE_CLAIM and len(refusals) < 3:
            refusals.append(kind)
            raise refusal(500)
        return real(kind, *rest)

    stage.kube.through("create", create)
    for number in range(200):
        stage.world.apply([bare_pod(f"p{number:04d}", cpu="500m")])
        stage.run(0.05)
    stage.run(120)
    assert len(refusals) == 3
    assert not stage.operator.state.snapshot().pending
