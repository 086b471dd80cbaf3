from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.sim import weather as vocabulary
from karpy.sim.weather import (
    EC2_LIMITS,
    Delivery,
    Hazard,
    Mishap,
    PriceChange,
    PriceWalk,
    Quota,
    Shortage,
    Stray,
    Trouble,
    Weather,
    Where,
)

STORM = Weather(
    shortages=(Shortage(Where("c-*", "sim-1a"), period_s=600.0), Shortage(until_s=60.0)),
    price_walk=PriceWalk(swing=0.5),
    price_changes=(PriceChange(30.0, None), PriceChange(90.0, 2.0, Where(capacity_type="spot"))),
    quotas=(Quota(vcpus=64),),
    throttles=EC2_LIMITS,
    tries=3,
    troubles=(Trouble("slow", (1, 2)), Trouble("less-memory", share=0.1, by=0.2)),
    mishaps=(Mishap("death", 40.0, machine=2),),
    hazards=(Hazard("interruption", 0.2),),
    strays=(Stray(10.0, is_ours=False),),
    delivery=Delivery(lost=0.1),
    read_lag_s=(1.0, 5.0),
)


def test_nothing_ever_happens_in_calm_weather() -> None:
    assert Weather.calm().is_calm
    assert not STORM.is_calm
    assert repr(Weather.calm()) == "Weather()"


def test_it_prints_as_one_line_of_python_that_makes_it_again() -> None:
    line = repr(STORM)
    assert "\n" not in line
    assert eval(line, dict(vars(vocabulary))) == STORM
    assert "Trouble(kind='slow', launches=(1, 2))" in line


def test_it_can_be_made_simpler_until_it_is_calm() -> None:
    def size(weather: Weather) -> int:
        return len(repr(weather))

    assert all(size(each) < size(STORM) for each in STORM.simpler())
    assert STORM.tries == 3
    current, steps = STORM, 0
    while not current.is_calm:
        *_, current = current.simpler()
        steps += 1
    assert steps > 12
    assert not list(current.simpler())


def test_a_shorter_one_is_simpler_and_a_longer_one_is_not() -> None:
    weather = Weather(tries=2, lasts_s=100.0)
    assert list(weather.simpler()) == [Weather(lasts_s=100.0), Weather(tries=2, lasts_s=50.0)]
    assert Weather(lasts_s=100.0).is_calm


def test_a_shrinker_finds_the_one_thing_that_matters() -> None:
    def fails(weather: Weather) -> bool:
        return any(trouble.kind == "less-memory" for trouble in weather.troubles)

    current = STORM
    while smaller := next((each for each in current.simpler() if fails(each)), None):
        current = smaller
    assert current == Weather(troubles=(Trouble("less-memory", share=0.1, by=0.2),))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Shortage(duty=2), "Shortage.duty: 2 is no value for it (accepted: a share, from 0 to 1)"),
        (lambda: Trouble("sad"), "TroubleKind: there is no 'sad' (accepted: no-capacity, fails"),
        (lambda: Mishap("sad"), "MishapKind: there is no 'sad' (accepted: interruption, "),
        (lambda: Hazard("death", -1), "Hazard.per_hour: -1 is no value for it (accepted: zero or more)"),
        (lambda: Weather(tries=0), "Weather.tries: 0 is no value for it (accepted: one or more)"),
        (lambda: Weather(read_lag_s=(5, 1)), "Weather.read_lag_s: a list is no value for it (accepted: two numbers"),
        (lambda: PriceWalk(every_s=0), "PriceWalk.every_s: 0 is no value for it (accepted: more than zero)"),
        (lambda: vocabulary.Throttle(("make",), 1, 1.0), "CloudCall: there is no 'make' (accepted: create, delete"),
    ],
)
def test_what_it_cannot_mean_is_refused_by_name(make: Any, complaint: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        make()
    assert str(caught.value).startswith(complaint)
