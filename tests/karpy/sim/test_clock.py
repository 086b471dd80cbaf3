from __future__ import annotations

import pytest

from karpy.errors import InternalError
from karpy.sim.clock import DEFAULT_START, VirtualClock


def test_time_stands_still_until_it_is_set() -> None:
    clock = VirtualClock(100.0)
    assert clock.now() == clock.now() == 100.0
    clock.set(130.0)
    clock.advance(5.0)
    assert clock.now() == 135.0


def test_time_never_runs_backwards() -> None:
    clock = VirtualClock()
    with pytest.raises(InternalError):
        clock.set(DEFAULT_START - 1)


def test_a_following_clock_tells_the_pace_but_not_past_the_bound() -> None:
    clock, pace = VirtualClock(100.0), [100.0]
    clock.follow(lambda: pace[0], until=110.0)
    pace[0] = 104.0
    assert clock.now() == 104.0
    pace[0] = 200.0
    assert clock.now() == 110.0


def test_a_frozen_clock_keeps_the_time_it_had_reached() -> None:
    clock, pace = VirtualClock(100.0), [103.0]
    clock.follow(lambda: pace[0], until=110.0)
    clock.freeze()
    pace[0] = 109.0
    assert clock.now() == 103.0


def test_following_a_pace_that_lags_behind_does_not_turn_time_back() -> None:
    clock = VirtualClock(100.0)
    clock.follow(lambda: 90.0, until=110.0)
    assert clock.now() == 100.0
    clock.freeze()
    assert clock.now() == 100.0
