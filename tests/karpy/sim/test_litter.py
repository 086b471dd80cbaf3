"""While a world runs, Python looks for garbage less often, and afterwards as before."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest

from karpy.sim.litter import rarely_collected
from karpy.sim.world import World


def test_what_the_process_had_set_comes_back() -> None:
    before = gc.get_threshold()
    with suppress(RuntimeError), rarely_collected():
        assert gc.get_threshold()[0] > before[0]
        raise RuntimeError
    assert gc.get_threshold() == before


@pytest.mark.parametrize("own", [0, 1_000_000])
def test_a_process_that_wants_less_of_it_is_left_alone(own: int) -> None:
    before = gc.get_threshold()
    gc.set_threshold(own)
    try:
        with rarely_collected():
            assert gc.get_threshold()[0] == own
    finally:
        gc.set_threshold(*before)


def test_what_was_there_before_is_not_looked_through_meanwhile() -> None:
    assert gc.get_freeze_count() == 0
    with rarely_collected():
        assert gc.get_freeze_count() > 0
        with rarely_collected():
            pass
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


def test_what_the_process_has_set_aside_stays_aside() -> None:
    gc.freeze()
    try:
        with rarely_collected():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_a_world_does_so_while_it_runs() -> None:
    world = World(actors=False)
    seen = []
    assert world.run_until(lambda: bool(seen.append(gc.get_threshold()[0])) or True)
    assert seen[0] > gc.get_threshold()[0]
