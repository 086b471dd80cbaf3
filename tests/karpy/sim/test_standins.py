from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from karpy.errors import InvalidObject, PluginError
from karpy.sim import standins
from karpy.sim.faults import Faults
from karpy.sim.standins import load_stand_in, stand_in_names
from karpy.sim.weather import Hazard, PriceWalk, Weather
from karpy.testing.venues import venue


def test_installed_clouds_are_stood_in_for() -> None:
    assert "aws" in stand_in_names()
    assert load_stand_in("aws").name == "aws"


def test_an_unknown_cloud_is_refused_by_name() -> None:
    with pytest.raises(PluginError, match=r"nothing stands in for the cloud 'acme'; installed: .*aws"):
        load_stand_in("acme")
    with pytest.raises(InvalidObject, match=r"--cloud: found 'acme' \(accepted: sim, .*aws"):
        venue("acme")


def test_one_that_cannot_be_imported_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("acme", "no_such_module:StandIn", standins.GROUP)
    monkeypatch.setattr(standins, "entry_points", lambda **_selected: (broken,))
    with pytest.raises(PluginError, match=r"'acme' cannot be imported: .*no_such_module.*pip install 'karpy\[acme\]'"):
        load_stand_in("acme")


@pytest.mark.parametrize("cloud", ["sim", "aws"])
def test_every_venue_has_a_world_of_its_own_with_its_node_class(cloud: str) -> None:
    where = venue(cloud)
    world = where.world(3, Faults(), Weather())
    (made,) = world.apply([dict(where.node_class)])
    assert made["metadata"]["name"] == "default"
    assert world.site.machines == ()
    assert len(where.zones) == 3


def test_a_stand_in_leaves_out_the_weather_that_it_does_not_have() -> None:
    hazards = (Hazard("interruption", per_hour=1.0),)
    weather = Weather(hazards=hazards, price_walk=PriceWalk())
    assert venue("sim").weather(weather) is weather
    assert venue("aws").weather(weather) == Weather(hazards=hazards)
