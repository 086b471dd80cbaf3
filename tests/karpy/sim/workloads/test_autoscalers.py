from __future__ import annotations

from typing import Any

import pytest

from karpy.objects import kinds
from karpy.sim.workloads.autoscalers import AUTOSCALER
from karpy.sim.world import World
from tests.karpy.sim.manifests import deployment, event_reasons, status, world_with_nodes


def cpu(share: int = 50) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": share}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def autoscaler(least: int = 2, most: int = 10, *metrics: dict[str, Any], **spec: Any) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    bounds = {"minReplicas": least, "maxReplicas": most}
    api = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    return {**api, "spec": {"scaleTargetRef": reference, **bounds, "metrics": list(metrics) or [cpu()], **spec}}


def world_of(replicas: int, hpa: dict[str, Any]) -> World:
    """A Deployment of pods that ask for 100m CPU, running long enough to be measured."""
    world = world_with_nodes(3)
    world.apply([deployment(replicas=replicas)])
    world.run(400)
    world.apply([hpa])
    return world


def size(world: World) -> int:
    return int(world.api.get(kinds.DEPLOYMENT, "web", "default")["spec"]["replicas"])


def conditions(world: World) -> dict[str, tuple[str, str]]:
    found = status(world, AUTOSCALER, "web")["conditions"]
    return {each["type"]: (each["status"], each["reason"]) for each in found}


def test_it_grows_until_the_load_is_spread_thin_enough() -> None:
    world = world_of(2, autoscaler())
    world.loads.demand("web", 0.35)  # cores: seven pods at half their request
    world.run(1)
    assert size(world) == 4  # no more than double
    found = status(world, AUTOSCALER, "web")
    assert found["currentMetrics"][0]["resource"]["current"] == {"averageUtilization": 175, "averageValue": "175m"}
    assert conditions(world) == {
        "AbleToScale": ("True", "SucceededRescale"),
        "ScalingActive": ("True", "ValidMetricFound"),
        "ScalingLimited": ("True", "ScaleUpLimit"),
    }
    world.run(180)
    assert size(world) == 7
    assert "SuccessfulRescale" in event_reasons(world, "web")


def test_it_shrinks_five_minutes_after_the_load_has_gone() -> None:
    world = world_of(6, autoscaler())
    world.loads.demand(
        "web", lambda t: 0.3 if t < 600 else 0.05
    )  # t counts from the beginning of the world: 410 so far
    world.run(450)
    assert size(world) == 6
    world.run(100)
    assert size(world) == 2
    assert conditions(world)["ScalingLimited"] == ("True", "TooFewReplicas")


def test_within_its_tolerance_it_does_nothing() -> None:
    world = world_of(4, autoscaler())
    world.loads.utilization("web", 0.54)
    world.run(600)
    assert size(world) == 4
    assert conditions(world)["AbleToScale"] == ("True", "ReadyForNewScale")


def test_a_size_out_of_bounds_is_put_right_whatever_the_load() -> None:
    world = world_of(1, autoscaler())
    world.run(1)
    assert size(world) == 2
    world.api.patch(kinds.DEPLOYMENT, "web", {"spec": {"replicas": 20}}, "default")
    world.run(20)
    assert size(world) == 10


def test_what_is_not_measured_is_said_and_nothing_is_done() -> None:
    world = world_of(3, autoscaler())
    world.run(60)
    assert size(world) == 3
    assert conditions(world)["ScalingActive"] == ("False", "FailedGetResourceMetric")
    assert {"FailedGetResourceMetric", "FailedComputeMetricsReplicas"} <= set(event_reasons(world, "web"))


def test_a_target_of_no_replicas_is_left_asleep() -> None:
    world = world_of(0, autoscaler())
    world.loads.demand("web", 5.0)
    world.run(60)
    assert size(world) == 0
    assert conditions(world)["ScalingActive"] == ("False", "ScalingDisabled")


def test_a_target_that_is_not_there_is_named() -> None:
    world = world_with_nodes(1)
    world.apply([autoscaler()])
    world.run(1)
    assert conditions(world) == {"AbleToScale": ("False", "FailedGetScale")}


def test_pods_that_only_start_are_taken_to_be_idle() -> None:
    world = world_of(
        2, autoscaler(behavior={"scaleUp": {"policies": [{"type": "Pods", "value": 9, "periodSeconds": 15}]}})
    )
    world.loads.utilization("web", 1.0)
    world.run(1)
    assert size(world) == 4
    world.run(16)
    assert size(world) == 4  # two busy and two new ones look as if the load were met
    world.run(60)
    assert size(world) > 4


@pytest.mark.parametrize(
    ("metric", "replicas"),
    [
        (
            {
                "type": "Pods",
                "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}},
            },
            5,
        ),
        (
            {
                "type": "External",
                "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "30"}},
            },
            4,
        ),
        (
            {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "60"}}},
            6,
        ),
    ],
)
def test_other_metrics_are_read_too(metric: dict[str, Any], replicas: int) -> None:
    world = world_of(3, autoscaler(1, 10, metric))
    world.loads.demand("web", 50.0, metric="rps")
    world.loads.metric("queue", lambda t: 120.0)
    world.run(1)
    assert size(world) == replicas


def test_of_several_metrics_the_most_demanding_counts() -> None:
    queue = {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "30"}}
    world = world_of(3, autoscaler(1, 10, cpu(), {"type": "External", "external": queue}))
    world.loads.utilization("web", 0.5)
    world.loads.metric("queue", 150.0)
    world.run(1)
    assert size(world) == 5


def test_while_one_of_several_metrics_cannot_be_read_it_does_not_shrink() -> None:
    unknown = {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "1"}}}
    world = world_of(4, autoscaler(2, 10, cpu(), unknown))
    world.loads.demand("web", 0.02)
    world.run(600)
    assert size(world) == 4
    assert conditions(world)["ScalingActive"] == ("False", "FailedGetExternalMetric")
    messages = {each["message"] for each in world.api.list(kinds.EVENT).items}
    assert any(
        text.startswith("invalid metrics (1 invalid out of 2), first error is: unable to get") for text in messages
    )
    world.loads.demand("web", 0.2)  # just enough for four, says the other one
    world.run(60)
    assert conditions(world)["ScalingActive"] == ("True", "ValidMetricFound")
