"""When a pod last came to a machine or left it."""

from __future__ import annotations

import pytest

from karpy.clock import format_time, parse_time
from karpy.controllers.base import DONE, Request
from karpy.objects import kinds
from karpy.sim.kubelets.podlife import RUN_SECONDS
from tests.karpy.controllers.stage import Stage, apps
from tests.karpy.sim.manifests import bare_pod, workload


def last_event(stage: Stage, claim: str) -> float:
    return parse_time(stage.api.get(kinds.NODE_CLAIM, claim)["status"]["lastPodEventTime"])


@pytest.mark.core("CORE-685")
def test_a_pod_that_comes_or_begins_to_leave_is_noted() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 2))
    came, now = last_event(stage, name), stage.clock.now()
    assert came < now
    stage.scale("a", 1)
    stage.run(15)
    assert now <= last_event(stage, name) <= now + 5


@pytest.mark.core("CORE-685")
def test_a_pod_that_finishes_is_noted_and_that_it_is_gone_is_not() -> None:
    stage = Stage()
    job = bare_pod("job", restartPolicy="Never")
    job["metadata"]["annotations"] = {RUN_SECONDS: "100"}
    stage.world.apply([apps("a", 1), job])
    stage.until(lambda: stage.api.get(kinds.POD, "job", "default")["status"].get("phase") == "Succeeded")
    finished = stage.clock.now()
    (name,) = stage.names(kinds.NODE_CLAIM)
    stage.run(30)
    noted = last_event(stage, name)
    assert finished - 1 <= noted <= finished + 1
    stage.api.delete(kinds.POD, "job", "default", grace_period_s=0)
    stage.run(30)
    assert last_event(stage, name) == noted


@pytest.mark.core("CORE-685")
def test_what_happens_within_ten_seconds_is_noted_once_and_then_again() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    stage.world.apply([apps("b", 0, "10m")])
    stage.run(60)
    begun = stage.clock.now()
    noted = set()
    for replicas in range(1, 9):
        stage.scale("b", replicas)
        stage.run(1)
        noted.add(last_event(stage, name))
    assert len({time for time in noted if time >= begun - 1}) == 1
    stage.run(5)
    stage.scale("b", 9)
    stage.run(3)
    assert last_event(stage, name) >= begun + 10


@pytest.mark.core("CORE-685")
def test_pods_of_nodes_without_a_claim_and_of_nodes_that_nobody_knows_are_passed_over() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    stage.run(60)
    before = last_event(stage, name)
    stage.world.apply([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}, "spec": {}}])
    for node in ("other", "nowhere"):
        stage.world.apply([bare_pod(f"on-{node}", cpu="10m", schedulerName="nobody")])
        stage.run(1)
        stage.api.bind(f"on-{node}", "default", node)
        stage.run(1)
    assert last_event(stage, name) == before


def test_a_restart_is_no_pod_event() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    stage.run(600)
    before = last_event(stage, name)
    stage.start()
    stage.run(30)
    assert last_event(stage, name) == before


@pytest.mark.core("CORE-685")
def test_pods_of_daemons_are_not_noted() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1, "100m"))
    before = last_event(stage, name)
    stage.world.apply([workload(kinds.DAEMON_SET, "d")])
    stage.run(15)
    assert stage.running("d") == 1
    assert last_event(stage, name) == before


@pytest.mark.core("CORE-685")
def test_a_claim_that_is_gone_is_not_written_to() -> None:
    stage = Stage()
    stage.grown(apps("a", 1))
    events = next(each for each in stage.operator.controllers if each.name == "nodeclaim.podevents")
    assert events.reconcile(Request("gone")) == DONE


def test_a_time_that_lies_ahead_since_a_clock_jumped_holds_up_nothing() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1, "100m"))
    ahead = {"status": {"lastPodEventTime": format_time(stage.clock.now() + 3_600)}}
    stage.api.patch(kinds.NODE_CLAIM, name, ahead, subresource="status")
    stage.scale("a", 2)
    stage.run(5)
    assert last_event(stage, name) <= stage.clock.now()
