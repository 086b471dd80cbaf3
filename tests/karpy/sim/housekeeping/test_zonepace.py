from __future__ import annotations

import pytest

from karpy.sim.housekeeping.zonepace import Health, ZonePace

A, B = ("r", "a"), ("r", "b")


def health(ready: int, unready: int, elsewhere: int = 1) -> Health:
    """Of zone a, with so many ready nodes in zone b."""
    return Health.of([*[(A, True)] * ready, *[(A, False)] * unready, *[(B, True)] * elsewhere])


@pytest.mark.parametrize(
    ("found", "pause"),
    [
        (health(9, 1), 10.0),
        (health(45, 55), 100.0),
        (health(46, 54), 10.0),
        (health(4, 6), None),  # most of a small zone
        (health(1, 2), 10.0),  # two are too few to tell
        (health(0, 60), 10.0),  # all of a zone, and others live: it is gone
        (health(0, 60, elsewhere=0), None),  # all of everything: it is the controller that is cut off
    ],
)
def test_the_pace_depends_on_how_much_of_a_zone_is_left(found: Health, pause: float | None) -> None:
    assert found.pause_s(A) == pause


def test_nodes_of_a_zone_go_one_after_the_other_and_zones_do_not_wait_for_each_other() -> None:
    pace, found = ZonePace(), health(9, 3)
    assert pace.wait_s(A, found, 100.0) == 0.0
    assert pace.wait_s(A, found, 104.0) == 6.0
    assert pace.wait_s(B, found, 104.0) == 0.0
    assert pace.wait_s(A, found, 110.0) == 0.0
    assert pace.wait_s(A, health(4, 6), 120.0) is None
