from __future__ import annotations

import attrs

from karpy.sim.forecast import forecast
from karpy.sim.region.mishaps import MishapKind
from karpy.sim.region.troubles import TroubleKind
from karpy.sim.weather import Weather

MANY = [forecast(seed, zones=("sim-1a", "sim-1b"), instance_types=("c-*", "m-4x-amd64")) for seed in range(300)]


def test_a_seed_is_a_forecast() -> None:
    assert forecast(1) == forecast(1)
    assert len({repr(weather) for weather in MANY}) > 290


def test_between_them_forecasts_have_everything_that_weather_can_be() -> None:
    for field in attrs.fields(Weather):
        found = {repr(getattr(weather, field.name)) for weather in MANY}
        assert len(found) > 1 or field.name == "lasts_s", field.name
    assert {trouble.kind for weather in MANY for trouble in weather.troubles} == set(TroubleKind)
    assert {mishap.kind for weather in MANY for mishap in weather.mishaps} == set(MishapKind)
    assert {shortage.where.zone for weather in MANY for shortage in weather.shortages} == {"", "sim-1a", "sim-1b"}


def test_a_forecast_ends() -> None:
    assert {weather.lasts_s for weather in MANY} == {600.0}
    assert forecast(3, 90.0).lasts_s == 90.0
    assert all(mishap.at_s <= 600 for weather in MANY for mishap in weather.mishaps)
