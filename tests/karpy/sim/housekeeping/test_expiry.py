from __future__ import annotations

from karpy.objects import kinds
from tests.karpy.sim.manifests import bare_pod, world_with_nodes


def test_events_are_kept_for_an_hour() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a")])
    world.run(3500)
    assert world.api.list(kinds.EVENT).items
    world.run(200)
    assert world.api.list(kinds.EVENT).items == ()
    assert world.loop.next_time() is None
