from __future__ import annotations

from typing import Any

import pytest

from karpy.sim.workloads.scaling import Advice, Change, limited, stabilized, within_tolerance

NOW = 10_000.0


def advice(*pairs: tuple[float, int]) -> list[Advice]:
    return [Advice(NOW - ago, replicas) for ago, replicas in pairs]


@pytest.mark.parametrize(("ratio", "inside"), [(1.0, True), (1.1, True), (0.9, True), (1.11, False), (0.89, False)])
def test_a_tenth_up_or_down_is_left_alone(ratio: float, inside: bool) -> None:
    assert within_tolerance(ratio) is inside


def test_for_five_minutes_the_highest_recommendation_stands() -> None:
    found = stabilized(2, 6, advice((299, 5), (301, 9)), None, NOW)
    assert (found.replicas, found.reason) == (5, "ScaleDownStabilized")
    assert stabilized(2, 6, advice((301, 9)), None, NOW).reason == "ReadyForNewScale"
    assert stabilized(8, 6, advice((10, 5)), None, NOW).replicas == 8


def test_windows_may_be_set_for_both_directions() -> None:
    behavior = {"scaleUp": {"stabilizationWindowSeconds": 60}, "scaleDown": {"stabilizationWindowSeconds": 0}}
    found = stabilized(9, 4, advice((30, 6), (90, 5)), behavior, NOW)
    assert (found.replicas, found.reason) == (6, "ScaleUpStabilized")
    assert stabilized(2, 4, advice((30, 6)), behavior, NOW).replicas == 2


@pytest.mark.parametrize(
    ("desired", "current", "replicas", "reason"),
    [
        (9, 3, 6, "ScaleUpLimit"),
        (9, 1, 4, "ScaleUpLimit"),
        (50, 30, 40, "TooManyReplicas"),
        (1, 9, 2, "TooFewReplicas"),
        (5, 3, 5, "DesiredWithinRange"),
    ],
)
def test_without_a_behavior_it_may_double_within_its_bounds(
    desired: int, current: int, replicas: int, reason: str
) -> None:
    found = limited(desired, current, 2, 40, None, (), NOW)
    assert (found.replicas, found.reason) == (replicas, reason)


def rates(direction: str, *policies: tuple[str, int, int], **more: Any) -> dict[str, Any]:
    listed = [{"type": kind, "value": value, "periodSeconds": period} for kind, value, period in policies]
    return {direction: {"policies": listed, **more}}


def test_a_rate_counts_what_was_done_within_its_period() -> None:
    behavior = rates("scaleUp", ("Pods", 4, 60))
    assert limited(20, 10, 1, 40, behavior, (), NOW).replicas == 14
    assert limited(20, 13, 1, 40, behavior, (Change(NOW - 30, 3),), NOW).replicas == 14
    assert limited(20, 13, 1, 40, behavior, (Change(NOW - 61, 3),), NOW).replicas == 17
    full = limited(20, 14, 1, 40, behavior, (Change(NOW - 30, 4),), NOW)
    assert (full.replicas, full.reason) == (14, "ScaleUpLimit")


def test_of_several_policies_the_boldest_counts_unless_the_meekest_is_chosen() -> None:
    policies = (("Pods", 2, 60), ("Percent", 50, 60))
    assert limited(40, 10, 1, 99, rates("scaleUp", *policies), (), NOW).replicas == 15
    assert limited(40, 10, 1, 99, rates("scaleUp", *policies, selectPolicy="Min"), (), NOW).replicas == 12
    assert limited(1, 10, 1, 99, rates("scaleDown", *policies), (), NOW).replicas == 5
    down = limited(1, 10, 1, 99, rates("scaleDown", *policies, selectPolicy="Min"), (), NOW)
    assert (down.replicas, down.reason) == (8, "ScaleDownLimit")


@pytest.mark.parametrize("direction", ["scaleUp", "scaleDown"])
def test_a_direction_may_be_forbidden(direction: str) -> None:
    desired = 20 if direction == "scaleUp" else 2
    assert limited(desired, 10, 1, 99, {direction: {"selectPolicy": "Disabled"}}, (), NOW).replicas == 10
