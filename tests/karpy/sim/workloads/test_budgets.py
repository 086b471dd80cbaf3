from __future__ import annotations

from typing import Any

import pytest

from karpy.controllers.base import Request, Result
from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.sim.workloads.objects import write_status
from karpy.sim.world import World
from tests.karpy.sim.manifests import (
    bare_pod,
    deployment,
    event_reasons,
    pods,
    status,
    template,
    workload,
    world_with_nodes,
)


def budget(app: str = "web", **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep"},
        "spec": {"selector": selector, **spec},
    }


def numbers(world: World) -> tuple[int, int, int, int]:
    """Expected pods, how many must be healthy, how many are, how many may go."""
    found = status(world, kinds.POD_DISRUPTION_BUDGET, "keep")
    return found["expectedPods"], found["desiredHealthy"], found["currentHealthy"], found["disruptionsAllowed"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 3}, (4, 3, 4, 1)),
        ({"minAvailable": "50%"}, (4, 2, 4, 2)),
        ({"maxUnavailable": 1}, (4, 3, 4, 1)),
        ({"maxUnavailable": "30%"}, (4, 2, 4, 2)),
        ({"minAvailable": 9}, (4, 9, 4, 0)),
    ],
)
def test_what_may_go_is_what_is_healthy_beyond_the_need(
    spec: dict[str, Any], expected: tuple[int, int, int, int]
) -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=4), budget(**spec)])
    world.run(20)
    assert numbers(world) == expected


def test_evictions_stop_at_the_budget_and_go_on_when_pods_are_back() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=4), budget(maxUnavailable=1)])
    world.run(20)
    first, second, *_ = [pod["metadata"]["name"] for pod in pods(world)]
    world.api.evict(first, "default")
    with pytest.raises(KubeError) as refused:
        world.api.evict(second, "default")
    assert refused.value.code == 429
    world.run(1)
    assert numbers(world)[2:] == (3, 0)
    world.run(20)
    assert numbers(world) == (4, 3, 4, 1)
    world.api.evict(second, "default")


def test_pods_without_an_owner_count_only_for_a_plain_number() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("web"), budget(maxUnavailable=1)])
    world.run(10)
    assert numbers(world) == (0, 0, 1, 0)
    assert "UnmanagedPods" in event_reasons(world, "keep")
    counted = world_with_nodes(1)
    counted.apply([bare_pod("web"), budget(minAvailable=0)])
    counted.run(10)
    assert numbers(counted) == (1, 0, 1, 1)


def test_during_a_rollout_the_deployment_says_how_many_there_should_be() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=4), budget(maxUnavailable="25%")])
    world.run(20)
    world.api.patch(kinds.DEPLOYMENT, "web", {"spec": {"template": template("web", "200m")}}, "default")
    seen = set()
    for _ in range(20):
        world.run(0.5)
        seen.add(numbers(world)[0])
    assert seen == {4}


def test_where_nobody_knows_the_number_nothing_may_go() -> None:
    world = world_with_nodes(1)
    world.apply([workload(kinds.DAEMON_SET, "web"), budget(maxUnavailable=1)])
    world.run(10)
    found = status(world, kinds.POD_DISRUPTION_BUDGET, "keep")
    assert found["disruptionsAllowed"] == 0
    (condition,) = found["conditions"]
    assert (condition["reason"], condition["message"]) == (
        "SyncFailed",
        "daemonsets.apps does not implement the scale subresource",
    )


def test_its_condition_says_whether_anything_may_go() -> None:
    world = world_with_nodes(1)
    world.apply([deployment(replicas=1), budget(minAvailable=1)])
    world.run(10)
    (condition,) = status(world, kinds.POD_DISRUPTION_BUDGET, "keep")["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )


def test_what_it_has_written_itself_does_not_wake_it() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=2), budget(minAvailable=1)])
    world.run(20)
    budgets = next(actor for actor in world.actors if actor.name == "disruption-controller")
    looked: list[str] = []
    real = budgets.reconcile

    def reconcile(request: Request) -> Result:
        looked.append(request.name)
        return real(request)

    budgets.reconcile = reconcile  # type: ignore[method-assign]
    world.api.patch(kinds.POD_DISRUPTION_BUDGET, "keep", {"spec": {"minAvailable": 2}}, "default")
    world.run(5)
    assert numbers(world) == (2, 2, 2, 0)
    assert looked == ["keep"]


def test_an_eviction_that_was_granted_meanwhile_is_not_overwritten() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=3), budget(minAvailable=1)])
    world.run(20)
    found = world.api.get(kinds.POD_DISRUPTION_BUDGET, "keep", "default")
    first = pods(world)[0]["metadata"]["name"]
    world.api.evict(first, "default")
    with pytest.raises(KubeError) as refused:
        write_status(world.api, kinds.POD_DISRUPTION_BUDGET, found, {"disruptionsAllowed": 9}, is_tied=True)
    assert refused.value.conflict
    assert numbers(world)[3] == 1
