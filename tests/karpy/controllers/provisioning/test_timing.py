"""The state is told when pods were seen to wait, and what became of them."""

from __future__ import annotations

import pytest

from karpy.objects import kinds
from tests.karpy.controllers.stage import Stage
from tests.karpy.sim.manifests import bare_pod


@pytest.mark.core("CORE-318", "CORE-319", "CORE-462", "CORE-466")
def test_a_pod_is_seen_to_wait_then_planned_for_and_remembered_until_it_is_gone() -> None:
    stage = Stage()
    start = stage.clock.now()
    stage.world.apply([bare_pod("small"), bare_pod("huge", cpu="4000")])
    stage.run(30)
    uids = {name: stage.api.get(kinds.POD, name, "default")["metadata"]["uid"] for name in ("small", "huge")}
    small, huge = (stage.operator.state.pod_times(uids[name]) for name in ("small", "huge"))
    assert small.acknowledged == huge.acknowledged == start
    assert small.attempted == small.schedulable == start + 1  # the batch was closed when no pod had come for a second
    assert small.schedulable_in_healthy_pool == start + 3  # in a later pass: the first node of the pool had joined
    assert (huge.attempted, huge.schedulable) == (start + 1, None)

    stage.world.apply([bare_pod("next", cpu="2")])
    stage.run(2)
    uid = stage.api.get(kinds.POD, "next", "default")["metadata"]["uid"]
    times = stage.operator.state.pod_times(uid)
    assert times.schedulable == times.schedulable_in_healthy_pool == start + 31
    stage.api.delete(kinds.POD, "next", "default", grace_period_s=0)
    stage.run(1)
    assert stage.operator.state.pod_times(uid).acknowledged is None
