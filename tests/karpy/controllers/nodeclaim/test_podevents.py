"""When a pod last came to a machine or left it."""

from __future__ import annotations

import pytest

from karpy.clock import format_time, parse_time
from karpy.controllers.base import DONE, Request
from karpy.objects import kinds
from tests.karpy.controllers.stage import Stage, apps
from tests.karpy.sim.manifests import NODE_CLASS, bare_pod, workload


def last_event(stage: Stage, claim: str) -> float:
    return parse_time(stage.api.get(kinds.NODE_CLAIM, claim)["status"]["lastPodEventTime"])


@pytest.mark.core("CORE-685")
def test_a_pod_that_comes_or_goes_is_noted() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 2))
    came, now = last_event(stage, name), stage.clock.now()
    assert came < now
    stage.scale("a", 1)
    stage.run(15)
    assert now <= last_event(stage, name) <= now + 5


@pytest.mark.core("CORE-685")
def test_what_happens_within_ten_seconds_is_noted_once() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    now = stage.clock.now()
    for serial in range(5):
        stage.world.apply([bare_pod(f"p{serial}", cpu="10m", nodeName=name)])
        stage.run(1)
    assert last_event(stage, name) - now < 1


@pytest.mark.core("CORE-685")
def test_what_happens_later_is_noted_anew() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1, "100m"))
    for replicas in (2, 3, 4):
        now = stage.clock.now()
        stage.scale("a", replicas)
        stage.run(11)
        assert now - 1 <= last_event(stage, name) <= now + 2


@pytest.mark.core("CORE-685")
def test_a_pod_that_ends_or_is_being_ended_is_noted_and_that_it_is_gone_is_not() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    stage.world.apply([bare_pod("p", cpu="10m", nodeName=name)])
    stage.run(20)
    now = stage.clock.now()
    stage.api.patch(kinds.POD, "p", {"status": {"phase": "Succeeded"}}, "default", subresource="status")
    stage.run(20)
    assert now - 1 <= last_event(stage, name) <= now + 2
    before = last_event(stage, name)
    stage.api.delete(kinds.POD, "p", "default", grace_period_s=0)
    stage.run(20)
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
def test_pods_on_nodes_of_others_are_nobodys_business() -> None:
    stage = Stage()
    stage.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS, "stranger")
    stage.run(30)
    stage.world.apply([apps("a", 2)])
    stage.run(30)
    assert stage.running("a") == 2
    assert stage.claims == []
    assert not stage.log.said("Reconciler error")


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


def test_a_restart_is_no_pod_event() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    stage.run(600)
    before = last_event(stage, name)
    stage.start()
    stage.run(30)
    assert last_event(stage, name) == before
