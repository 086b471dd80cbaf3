from __future__ import annotations

import math

import pytest

from karpy.errors import InvalidObject
from karpy.sim.faults import Fault, Faults, Planned


@pytest.mark.parametrize("seed", range(30))
def test_what_is_drawn_is_written_on_one_line_and_read_back(seed: int) -> None:
    faults = Faults.draw(seed, until_s=240)
    assert Faults.parse(str(faults)) == faults
    assert "\n" not in str(faults)


def test_a_seed_draws_the_same_each_time_and_seeds_differ() -> None:
    assert Faults.draw(3) == Faults.draw(3)
    assert len({str(Faults.draw(seed)) for seed in range(50)}) > 40


def test_every_kind_of_fault_is_drawn_by_some_seed() -> None:
    assert {fault for seed in range(50) for fault in Faults.draw(seed).rates} == set(Fault)


def test_a_plan_is_in_order_and_goes_with_rates() -> None:
    faults = Faults.parse("lost@7 crash-after@2 conflict:0.5 until:60 seed:4")
    assert faults.plan == (Planned(2, Fault.CRASH_AFTER), Planned(7, Fault.LOST))
    assert faults.rates == {Fault.CONFLICT: 0.5}
    assert (faults.until_s, faults.seed) == (60, 4)


def test_nothing_is_nothing() -> None:
    assert not Faults()
    assert str(Faults()) == ""
    assert Faults.parse("") == Faults()
    assert Faults().until_s == math.inf
    assert list(Faults().smaller()) == []


@pytest.mark.parametrize("line", ["nothing@1", "lost@x", "lost@-1", "lost", "lost:often", "until@3"])
def test_a_word_that_means_nothing_is_named(line: str) -> None:
    with pytest.raises(InvalidObject, match="NAME@NUMBER") as error:
        Faults.parse(line)
    assert line in str(error.value)


@pytest.mark.parametrize("line", ["lost@0", "lost:1.5"])
def test_what_could_never_happen_is_refused(line: str) -> None:
    with pytest.raises(InvalidObject, match="is no value for it"):
        Faults.parse(line)


def test_smaller_ones_have_less_of_the_plan_or_fewer_rates() -> None:
    faults = Faults.parse("error@1 error@2 error@3 lost:0.1 late:0.2")
    smaller = list(faults.smaller())
    assert smaller[0] == Faults()
    assert all(len(each.plan) + len(each.rates) < 5 for each in smaller)
    assert {str(each) for each in smaller} >= {
        "error@2 error@3 lost:0.1 late:0.2 seed:0",
        "error@1 error@2 error@3 late:0.2 seed:0",
    }
