from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy.objects.kinds import NODE
from karpy.sim.clock import VirtualClock
from karpy.sim.cloud import SimCloud, Timing
from karpy.sim.generic import GenericModel
from karpy.sim.weather import Weather
from karpy.sim.world import World
from tests.karpy.sim.manifests import NODE_CLASS


class Elsewhere:
    """A site that is not the simulated cloud itself, though it has one behind it."""

    def __init__(self, clock: VirtualClock, seed: int) -> None:
        self.made_with = (clock, seed)
        self.behind = SimCloud((GenericModel(),), clock, seed)

    def __getattr__(self, name: str):
        return getattr(self.behind, name)


def test_machines_of_another_site_join_the_world_and_leave_it() -> None:
    world = World(7, site=Elsewhere)
    assert world.site.made_with == (world.clock, 7)
    machine = world.site.behind.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS, "worker")
    world.run(120)
    assert [node["metadata"]["name"] for node in world.api.list(NODE).items] == ["worker"]
    world.site.behind.delete(machine.provider_id)
    world.run(120)
    assert not world.api.list(NODE).items


def test_a_world_of_another_site_has_no_simulated_cloud() -> None:
    with pytest.raises(InvalidObject, match=r"World.cloud.*found Elsewhere.*without site"):
        World(site=Elsewhere).cloud  # noqa: B018


@pytest.mark.parametrize("more", [{"timing": Timing()}, {"weather": Weather()}])
def test_a_site_has_its_own_timing_and_weather(more: dict) -> None:
    with pytest.raises(InvalidObject, match=r"World.site"):
        World(site=Elsewhere, **more)


def test_the_simulated_cloud_is_a_site_and_its_own_provider() -> None:
    world = World()
    assert world.site is world.cloud
    assert world.site.provider is world.cloud
