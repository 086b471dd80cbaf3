from __future__ import annotations

from typing import Any

from karpy.clock import parse_time
from karpy.sim.kubelets import podlife, podstatus
from tests.karpy.sim.kubelets.test_podlife import NOW, at, pod, runs


def conditions(status: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in status["conditions"]}


def test_a_pod_that_fails_says_so() -> None:
    running = {"phase": "Running", "startTime": at(0)}
    status = podstatus.finished(pod(running, annotations={podlife.EXIT_CODE: "3"}), NOW + 10)
    assert status["phase"] == "Failed"
    (container,) = status["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 3
    assert parse_time(container["state"]["terminated"]["finishedAt"]) == NOW + 10


def test_a_running_pod_is_ready_and_has_an_address() -> None:
    status = podstatus.running(pod({"startTime": at(0)}), "10.0.0.9", NOW)
    assert status["podIP"] == "10.0.0.9"
    assert conditions(status) == {"Ready": "True", "ContainersReady": "True"}


def test_a_pod_whose_probes_take_a_while_runs_and_is_not_ready() -> None:
    slow = pod({"startTime": at(0)}, annotations={podlife.READY_SECONDS: "30"})
    status = podstatus.running(slow, "10.0.0.9", NOW)
    assert conditions(status) == {"Ready": "False", "ContainersReady": "False"}
    assert conditions(podstatus.ready({**slow, "status": runs()}, NOW)) == {"Ready": "True", "ContainersReady": "True"}


def test_containers_may_be_ready_before_the_gates_of_their_pod_are_open() -> None:
    gated = pod({"startTime": at(0)}, {"readinessGates": [{"conditionType": "lb"}]})
    assert conditions(podstatus.running(gated, "10.0.0.9", NOW)) == {"Ready": "False", "ContainersReady": "True"}


def test_a_crash_counts_and_tells_what_came_before() -> None:
    status = podstatus.crashed(pod(runs(restarts=2), annotations={podlife.EXIT_CODE: "7"}), NOW + 10)
    (container,) = status["containerStatuses"]
    assert container["restartCount"] == 3
    assert container["lastState"]["terminated"]["exitCode"] == 7
    assert list(container["state"]) == ["waiting"]
    again = podstatus.running(pod({**runs(), "containerStatuses": [container]}), "10.0.0.9", NOW + 20)
    assert again["containerStatuses"][0]["restartCount"] == 3


def test_who_is_killed_ends_with_another_code_than_who_stops_when_asked() -> None:
    codes = [
        podstatus.stopped(pod(runs()), NOW, killed=killed)["containerStatuses"][0]["state"]["terminated"]["exitCode"]
        for killed in (False, True)
    ]
    assert codes == [143, 137]
