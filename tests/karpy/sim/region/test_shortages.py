from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy.sim.region.shortages import Shortage, Stock
from karpy.sim.region.where import Where

KEY = ("c-4x-amd64", "sim-1a", "spot")
OTHER = ("c-4x-amd64", "sim-1b", "spot")


def test_there_is_enough_of_everything_unless_somebody_says_otherwise() -> None:
    assert Stock().has(KEY, 0.0)


def test_a_shortage_holds_from_a_time_until_another() -> None:
    stock = Stock([Shortage(Where(zone="sim-1a"), from_s=10.0, until_s=20.0)])
    assert [stock.has(KEY, at) for at in (9, 10, 19, 20)] == [True, False, False, True]
    assert stock.has(OTHER, 15)


def test_a_square_wave_comes_and_goes() -> None:
    stock = Stock([Shortage(period_s=300.0, duty=0.5)])
    seen = [stock.has(KEY, at) for at in range(0, 900, 75)]
    assert seen == [False, False, True, True] * 3


def test_the_wave_begins_at_its_phase_and_lasts_for_its_duty() -> None:
    wave = Shortage(from_s=100.0, period_s=100.0, duty=0.2, phase_s=90.0)
    assert [at for at in range(100, 310, 10) if wave.holds(at)] == [110, 120, 210, 220]
    assert not Shortage(period_s=10.0, duty=0.0).holds(0.0)
    assert all(Shortage(period_s=10.0, duty=1.0).holds(at) for at in range(20))


def test_opposite_phases_leave_one_zone_at_a_time() -> None:
    waves = [Shortage(Where(zone=zone), period_s=100.0, phase_s=at) for zone, at in (("sim-1a", 0.0), ("sim-1b", 50.0))]
    stock = Stock(waves)
    assert all(stock.has(KEY, at) != stock.has(OTHER, at) for at in range(0, 1000, 10))


def test_somebody_may_sell_out_and_restock_by_the_same_words() -> None:
    stock = Stock()
    stock.sell_out(Where(zone="sim-1a"))
    stock.restock(Where(zone="sim-*"))
    assert not stock.has(KEY, 0.0)
    assert stock.has(OTHER, 0.0)
    stock.restock(Where(zone="sim-1a"))
    assert stock.has(KEY, 0.0)


def test_clearing_up_ends_the_plan_and_not_what_somebody_has_done() -> None:
    stock = Stock([Shortage()])
    stock.sell_out(Where(zone="sim-1b"))
    stock.clear_up()
    assert (stock.has(KEY, 0.0), stock.has(OTHER, 0.0)) == (True, False)


def test_a_share_above_one_is_refused() -> None:
    with pytest.raises(InvalidObject, match=r"Shortage\.duty"):
        Shortage(duty=1.5)
