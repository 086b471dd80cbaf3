from __future__ import annotations

from typing import Any

import pytest

from karpy.clock import format_time, parse_time
from karpy.sim import podlife
from karpy.sim.podlife import Action, next_step

NOW = 1_000_000.0


def pod(status: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "c", "image": "i"}
    return {
        "metadata": {"name": "p", "uid": "u-1", **metadata},
        "spec": {"containers": [container], "nodeName": "n", **(spec or {})},
        "status": {"phase": "Pending", **(status or {})},
    }


def at(seconds: float) -> str:
    return format_time(NOW + seconds)


def test_a_bound_pod_is_accepted_at_once_and_runs_a_little_later() -> None:
    first = next_step(pod(), 0)
    assert first is not None
    assert (first.action, first.at) == (Action.CREATE, 0.0)
    second = next_step(pod({"startTime": at(0)}), 0)
    assert second is not None
    assert second.action is Action.RUN
    assert 1.0 <= second.at - NOW <= 3.0


def test_a_service_runs_for_ever() -> None:
    assert next_step(pod({"phase": "Running", "startTime": at(0)}), 0) is None


@pytest.mark.parametrize(
    ("spec", "annotations", "seconds"),
    [
        ({}, {}, podlife.DEFAULT_RUN_S),
        ({}, {podlife.RUN_SECONDS: "42"}, 42.0),
        ({"containers": [{"name": "c", "image": "i", "command": ["sh", "-c", "sleep 5m"]}]}, {}, 300.0),
        ({"containers": [{"name": "c", "image": "i", "args": ["sleep", "7"]}]}, {}, 7.0),
    ],
)
def test_a_job_pod_ends_after_its_time(spec: dict[str, Any], annotations: dict[str, str], seconds: float) -> None:
    running = {"state": {"running": {"startedAt": at(2)}}}
    status = {"phase": "Running", "startTime": at(0), "containerStatuses": [running]}
    step = next_step(pod(status, {"restartPolicy": "Never", **spec}, annotations=annotations), 0)
    assert step is not None
    assert step.action is Action.FINISH
    assert step.at == NOW + 2 + seconds


def test_a_deleted_pod_ends_within_its_grace() -> None:
    marks = {"deletionTimestamp": at(30), "deletionGracePeriodSeconds": 30}
    step = next_step(pod({"phase": "Running", "startTime": at(-50)}, **marks), 0)
    assert step is not None
    assert step.action is Action.END
    assert NOW + 0.5 <= step.at <= NOW + 2.0


def test_a_deleted_pod_without_grace_ends_at_once() -> None:
    marks = {"deletionTimestamp": at(0), "deletionGracePeriodSeconds": 0}
    step = next_step(pod(**marks), 0)
    assert step is not None
    assert step.at == NOW


def test_a_finished_pod_has_nothing_more_to_do() -> None:
    assert next_step(pod({"phase": "Succeeded", "startTime": at(0)}), 0) is None


def test_delays_differ_between_pods_and_seeds_but_not_between_calls() -> None:
    def delay(uid: str, salt: int) -> float:
        step = next_step(pod({"startTime": at(0)}, uid=uid), salt)
        assert step is not None
        return step.at

    assert delay("u-1", 0) == delay("u-1", 0)
    assert delay("u-1", 0) != delay("u-2", 0)
    assert delay("u-1", 0) != delay("u-1", 1)


def test_a_pod_that_fails_says_so() -> None:
    running = {"phase": "Running", "startTime": at(0)}
    status = podlife.finished(pod(running, annotations={podlife.EXIT_CODE: "3"}), NOW + 10)
    assert status["phase"] == "Failed"
    (container,) = status["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 3
    assert parse_time(container["state"]["terminated"]["finishedAt"]) == NOW + 10


def test_a_running_pod_is_ready_and_has_an_address() -> None:
    status = podlife.running(pod({"startTime": at(0)}), "10.0.0.9", NOW)
    assert status["podIP"] == "10.0.0.9"
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "Ready": "True",
        "ContainersReady": "True",
    }
