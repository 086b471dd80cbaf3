"""R11: whatever moment a pod comes at, nothing that was decided before evicts it."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.objects import kinds
from karpy.sim.world import World
from tests.scenarios.survival import MINUTE, app, karpy, running, scale, world_of

WINDOW_S = 60.0
"""From the last pod's end until an empty node goes, with all that is waited for in between."""
PARTS = 6


def emptied() -> World:
    """A node whose last pod has just gone; it will be found to be empty, and that is looked at again before it goes."""
    world = world_of(karpy, app("first", 1))
    assert world.run_until(lambda: running(world, "first") == 1)
    world.run(MINUTE)
    scale(world, "first", 0)
    assert world.run_until(lambda: not world.api.list(kinds.POD).items)
    return world


def evictions(world: World) -> list[str]:
    return [call.object for call in world.trace if call.verb == "evict"]


def late(protected: bool) -> dict[str, Any]:
    pod = app("late", 1)
    if protected:
        pod["spec"]["template"]["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    return pod


@pytest.mark.parametrize("protected", [False, True], ids=["plain", "do-not-disrupt"])
@pytest.mark.parametrize("part", range(PARTS))
def test_r11_a_pod_that_comes_while_its_node_is_being_judged_is_never_evicted(part: int, protected: bool) -> None:
    for step in range(part, int(WINDOW_S * 2), PARTS):
        world = emptied()
        world.run(step / 2)
        world.apply([late(protected)])
        world.run(4 * MINUTE)
        assert running(world, "late") == 1, step
        assert evictions(world) == [], step
        assert len(world.api.list(kinds.NODE).items) == 1, step
        assert world.check() == (), step
