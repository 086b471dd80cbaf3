from __future__ import annotations

import pytest

from karpy.sim.api.budgets import budget_status


def _pods(ready: int, waiting: int = 0, done: int = 0) -> list[dict]:
    up = {"metadata": {}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    return (
        [up] * ready
        + [{"metadata": {}, "status": {"phase": "Pending"}}] * waiting
        + [{"metadata": {}, "status": {"phase": "Succeeded"}}] * done
    )


@pytest.mark.parametrize(
    ("spec", "pods", "allowed"),
    [
        ({"minAvailable": 1}, _pods(3), 2),
        ({"minAvailable": 3}, _pods(2, waiting=1), 0),
        ({"minAvailable": "50%"}, _pods(3), 1),
        ({"maxUnavailable": 1}, _pods(3), 1),
        ({"maxUnavailable": 1}, _pods(2, waiting=1), 0),
        ({"maxUnavailable": "34%"}, _pods(3), 2),
        ({"maxUnavailable": 0}, _pods(3), 0),
        ({"minAvailable": 0}, [], 0),
        ({"minAvailable": 1}, _pods(2, done=5), 1),
    ],
)
def test_disruptions_allowed(spec: dict, pods: list[dict], allowed: int) -> None:
    assert budget_status({"metadata": {"generation": 2}, "spec": spec}, pods)["disruptionsAllowed"] == allowed


def test_pods_that_are_leaving_are_not_healthy() -> None:
    leaving = {**_pods(1)[0], "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    status = budget_status({"metadata": {}, "spec": {"minAvailable": 1}}, [*_pods(1), leaving])
    assert (status["currentHealthy"], status["expectedPods"], status["disruptionsAllowed"]) == (1, 2, 0)
