from __future__ import annotations

from typing import Any

import pytest

from karpy.clock import format_time
from karpy.sim.kubelets import podlife
from karpy.sim.kubelets.podlife import Action, next_step

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
    ready = [{"type": "Ready", "status": "True"}]
    assert next_step(pod({"phase": "Running", "startTime": at(0), "conditions": ready}), 0) is None


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
    ready = [{"type": "Ready", "status": "True"}]
    status = {"phase": "Running", "startTime": at(0), "containerStatuses": [running], "conditions": ready}
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


def runs(since: float = 0.0, restarts: int = 0, **more: Any) -> dict[str, Any]:
    """The status of a pod that has been running, not ready yet."""
    container = {"name": "c", "state": {"running": {"startedAt": at(since)}}, "restartCount": restarts}
    return {"phase": "Running", "startTime": at(0), "containerStatuses": [container], **more}


def step_of(made: dict[str, Any]) -> tuple[Action, float] | None:
    step = next_step(made, 0)
    return None if step is None else (step.action, step.at - NOW)


def test_probes_succeed_after_their_initial_delay_or_as_long_as_the_annotation_says() -> None:
    probing = {"name": "c", "image": "i", "readinessProbe": {"initialDelaySeconds": 15}}
    assert step_of(pod(runs(2), {"containers": [probing]})) == (Action.READY, 17.0)
    assert step_of(pod(runs(2), {"containers": [probing]}, annotations={podlife.READY_SECONDS: "60"})) == (
        Action.READY,
        62.0,
    )
    assert step_of(pod(runs(2), annotations={podlife.READY_SECONDS: "inf"})) is None


def test_a_readiness_gate_must_be_open() -> None:
    gated = {"readinessGates": [{"conditionType": "example.com/lb"}]}
    assert step_of(pod(runs(), gated)) is None
    opened = [{"type": "example.com/lb", "status": "True"}]
    assert step_of(pod(runs(conditions=opened), gated)) == (Action.READY, 0.0)


@pytest.mark.parametrize(("seconds", "ends"), [("5", 5.0), ("inf", 30.0), ("nonsense", 1.5)])
def test_who_takes_long_to_stop_is_killed_when_grace_runs_out(seconds: str, ends: float) -> None:
    marks = {"deletionTimestamp": at(30), "deletionGracePeriodSeconds": 30}
    found = step_of(pod(runs(), annotations={podlife.STOP_SECONDS: seconds}, **marks))
    assert found is not None
    assert found[0] is Action.END
    assert abs(found[1] - ends) <= (1.0 if seconds == "nonsense" else 0.0)


def test_a_pod_that_has_ended_and_is_held_by_a_finalizer_is_left_alone() -> None:
    marks = {"deletionTimestamp": at(0), "deletionGracePeriodSeconds": 0, "finalizers": ["x"]}
    assert step_of(pod({"phase": "Failed", "startTime": at(0)}, **marks)) is None


def test_a_container_that_ends_is_restarted_where_the_policy_says_so() -> None:
    ready = [{"type": "Ready", "status": "True"}]
    ending = {podlife.RUN_SECONDS: "20", podlife.EXIT_CODE: "1"}
    assert step_of(pod(runs(conditions=ready), annotations=ending)) == (Action.CRASH, 20.0)
    once = {"restartPolicy": "OnFailure"}
    assert step_of(pod(runs(conditions=ready), once, annotations=ending)) == (Action.CRASH, 20.0)
    assert step_of(pod(runs(conditions=ready), once, annotations={podlife.RUN_SECONDS: "20"})) == (Action.FINISH, 20.0)


@pytest.mark.parametrize(("restarts", "pause"), [(1, 1.0), (2, 10.0), (3, 20.0), (9, 300.0)])
def test_each_restart_waits_longer(restarts: int, pause: float) -> None:
    last = {"terminated": {"finishedAt": at(40)}}
    waiting = {"waiting": {"reason": podlife.CRASHED}}
    status = runs()
    status["containerStatuses"] = [{"name": "c", "restartCount": restarts, "lastState": last, "state": waiting}]
    assert step_of(pod(status)) == (Action.RUN, 40.0 + pause)


@pytest.mark.parametrize(
    ("hook", "grace", "least", "most"),
    [
        ({"sleep": {"seconds": 15}}, 30, 15.5, 17.0),
        ({"exec": {"command": ["sh", "-c", "sleep 15"]}}, 30, 15.5, 17.0),
        ({"exec": {"command": ["drain"]}}, 30, 0.5, 2.0),
        ({"sleep": {"seconds": 60}}, 30, 30.0, 30.0),  # grace counts from the request, hooks included
    ],
)
def test_what_is_to_be_done_before_the_stop_takes_its_time(
    hook: dict[str, Any], grace: int, least: float, most: float
) -> None:
    spec = {"containers": [{"name": "c", "image": "i", "lifecycle": {"preStop": hook}}]}
    marks = {"deletionTimestamp": at(grace), "deletionGracePeriodSeconds": grace}
    step = next_step(pod({"phase": "Running", "startTime": at(-60)}, spec, **marks), 0)
    assert step is not None
    assert step.action is Action.END
    assert least <= step.at - NOW <= most
