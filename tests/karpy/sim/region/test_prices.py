from __future__ import annotations

import itertools
import math
import statistics

import pytest

from karpy.sim.region.prices import PriceChange, Prices, PriceWalk, wandering
from karpy.sim.region.where import Where

SPOT = ("c-4x-amd64", "sim-1a", "spot")
ON_DEMAND = ("c-4x-amd64", "sim-1a", "on-demand")
DAY = 86_400


def walk(prices: Prices, key: tuple[str, str, str] = SPOT, days: int = 30, step: int = 300) -> list[float]:
    return [prices.charged(key, 1.0, at) for at in range(0, days * DAY, step)]


def test_nothing_moves_unless_asked_to() -> None:
    prices = Prices()
    assert set(walk(prices)) == {1.0}
    assert prices.era(0.0) == prices.era(1e9) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_walk_stays_in_its_bounds_and_comes_back_to_the_list_price(seed: int) -> None:
    found = walk(Prices(PriceWalk(swing=0.25), seed=seed))
    assert 0.8 <= min(found) < 0.95
    assert 1.05 < max(found) <= 1.25
    assert statistics.fmean(math.log(price) for price in found) == pytest.approx(0.0, abs=0.05)


def test_a_walk_moves_a_little_at_a_time() -> None:
    found = walk(Prices(PriceWalk(swing=0.25, returns_s=6 * 3600.0), seed=3))
    assert max(abs(after - before) for before, after in itertools.pairwise(found)) < 0.06
    assert len(set(found)) > 500


def test_offerings_seeds_and_times_go_their_own_ways() -> None:
    prices = Prices(PriceWalk(), seed=1)
    zones = [walk(prices, ("c-4x-amd64", zone, "spot"), days=3) for zone in ("sim-1a", "sim-1b")]
    assert abs(statistics.correlation(*zones)) < 0.6
    assert (
        walk(prices, days=3) == walk(Prices(PriceWalk(), seed=1), days=3) != walk(Prices(PriceWalk(), seed=2), days=3)
    )
    assert set(walk(prices, ON_DEMAND, days=3)) == {1.0}


def test_it_does_not_matter_who_asks_or_when() -> None:
    forward, backward = Prices(PriceWalk(), seed=1), Prices(PriceWalk(), seed=1)
    times = range(0, DAY, 300)
    assert [forward.charged(SPOT, 1.0, at) for at in times] == [
        backward.charged(SPOT, 1.0, at) for at in reversed(times)
    ][::-1]


def test_the_list_shows_what_was_charged_when_prices_were_looked_up() -> None:
    prices = Prices(PriceWalk(every_s=300.0, listed_every_s=3600.0), seed=1)
    assert prices.listed(SPOT, 1.0, 7000.0) == prices.charged(SPOT, 1.0, 3600.0) != prices.charged(SPOT, 1.0, 7000.0)
    assert prices.era(3599.0) != prices.era(3600.0) == prices.era(7199.0)


def test_changes_by_plan_come_in_their_time_and_the_last_counts() -> None:
    prices = Prices(changes=[PriceChange(200.0, 0.5), PriceChange(100.0, 2.0, Where(capacity_type="spot"))])
    assert [prices.charged(SPOT, 1.0, at) for at in (99, 100, 200)] == [1.0, 2.0, 0.5]
    assert [prices.listed(ON_DEMAND, 1.0, at) for at in (99, 100, 200)] == [1.0, 1.0, 0.5]
    assert len({prices.era(at) for at in (99, 100, 199, 200)}) == 3


def test_holes_in_the_list_are_not_charged() -> None:
    prices = Prices(changes=[PriceChange(1.0, 2.0), PriceChange(2.0, 0.0), PriceChange(3.0, None)])
    assert prices.listed(SPOT, 1.0, 2.0) == 0.0
    assert math.isnan(prices.listed(SPOT, 1.0, 3.0))
    assert prices.charged(SPOT, 1.0, 3.0) == 2.0


def test_a_price_that_was_set_stays() -> None:
    prices = Prices(PriceWalk(), [PriceChange(10.0, 2.0)])
    prices.set(SPOT, 0.7)
    assert prices.listed(SPOT, 1.0, 1e6) == prices.charged(SPOT, 1.0, 1e6) == 0.7
    prices.set(SPOT, 0.0)
    assert (prices.listed(SPOT, 1.0, 1e6), prices.charged(SPOT, 1.0, 1e6)) == (0.0, 0.7)


def test_the_curve_is_smooth() -> None:
    steps = [wandering(11, at / 100) for at in range(10_000)]
    assert max(abs(after - before) for before, after in itertools.pairwise(steps)) < 0.07
    assert -1 <= min(steps) < -0.5 < 0.5 < max(steps) <= 1
