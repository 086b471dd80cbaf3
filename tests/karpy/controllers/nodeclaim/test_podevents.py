"""When a pod last came to a machine or left it."""

from __future__ import annotations

from karpy.clock import parse_time
from karpy.objects import kinds
from tests.karpy.controllers.stage import Stage, apps
from tests.karpy.sim.manifests import bare_pod


def last_event(stage: Stage, claim: str) -> float:
    return parse_time(stage.api.get(kinds.NODE_CLAIM, claim)["status"]["lastPodEventTime"])


def test_a_pod_that_comes_or_goes_is_noted() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 2))
    came, now = last_event(stage, name), stage.clock.now()
    assert came < now
    stage.scale("a", 1)
    stage.run(15)
    assert now <= last_event(stage, name) <= now + 5


def test_what_happens_within_ten_seconds_is_noted_once() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    now = stage.clock.now()
    for serial in range(5):
        stage.world.apply([bare_pod(f"p{serial}", cpu="10m", nodeName=name)])
        stage.run(1)
    assert last_event(stage, name) - now < 1


def test_a_restart_is_no_pod_event() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    stage.run(600)
    before = last_event(stage, name)
    stage.start()
    stage.run(30)
    assert last_event(stage, name) == before
