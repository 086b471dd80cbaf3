"""What holds a pod for ever, in words."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.lifecycle.blocking import blocker_of
from karpy.objects.pod import Pod
from karpy.objects.workloads import PodDisruptionBudget
from karpy.testing import make_pod

READY = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}


def budget(name: str = "b", status: dict[str, int] | None = None, **spec: Any) -> PodDisruptionBudget:
    raw = {"metadata": {"name": name, "namespace": "default"}, "spec": {"selector": {}, **spec}, "status": status or {}}
    return PodDisruptionBudget.from_dict(raw)


def held(*budgets: PodDisruptionBudget, **pod: Any) -> str:
    found = blocker_of(Pod.from_dict(make_pod("p", node="n", **{**READY, **pod})), budgets)
    return str(found) if found is not None else ""


@pytest.mark.parametrize(
    ("spec", "status", "words"),
    [
        ({"maxUnavailable": 0}, {}, "maxUnavailable: 0"),
        ({"maxUnavailable": "0%"}, {}, "maxUnavailable: 0%"),
        ({"minAvailable": "100%"}, {}, "minAvailable: 100%"),
        ({"minAvailable": 2}, {"expectedPods": 2, "desiredHealthy": 2}, "minAvailable: 2, of 2 pods"),
        ({"minAvailable": "90%"}, {"expectedPods": 3, "desiredHealthy": 3}, "minAvailable: 90%, of 3 pods"),
    ],
)
def test_a_budget_that_never_allows_anything_is_named_with_what_makes_it_so(
    spec: dict[str, Any], status: dict[str, int], words: str
) -> None:
    assert held(budget(status=status, **spec)) == (
        f"Pod default/p of ReplicaSet p-owner cannot be evicted: PodDisruptionBudget default/b never allows it ({words})"
    )


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"maxUnavailable": 1}, {"expectedPods": 2, "desiredHealthy": 1}),
        ({"minAvailable": 1}, {"expectedPods": 2, "desiredHealthy": 1}),
        ({"minAvailable": 1}, {}),
        ({"maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow"}, {}),
    ],
)
def test_one_that_will_allow_more_is_waited_for_without_a_word(spec: dict[str, Any], status: dict[str, int]) -> None:
    assert held(budget(status=status, **spec), status={}) == ""


def test_several_budgets_are_named() -> None:
    assert held(budget("y"), budget("x")).endswith(
        "more than one PodDisruptionBudget is about it (default/x, default/y)"
    )


@pytest.mark.parametrize(("value", "is_held"), [("true", True), ("2h", False), ("soon", False)])
def test_a_wish_without_an_end_is_named(value: str, is_held: bool) -> None:
    text = held(annotations={"karpenter.sh/do-not-disrupt": value})
    assert text.endswith('it has the "karpenter.sh/do-not-disrupt" annotation') is is_held
