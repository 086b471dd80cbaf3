from __future__ import annotations

import pytest

from karpy.sim.portions import resolve
from karpy.sim.workloads.rollout import Limits, Share, limits_of, new_replicas, proportional, surplus_of_old


def test_percentages_round_as_asked() -> None:
    assert resolve("25%", 10, up=True) == 3
    assert resolve("25%", 10, up=False) == 2
    assert resolve("0%", 10, up=True) == 0
    assert resolve(4, 10, up=True) == 4


def test_when_nothing_may_stray_one_pod_may_be_missing() -> None:
    assert limits_of({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}, 5) == Limits(0, 1)
    assert limits_of({}, 4) == Limits(1, 1)


@pytest.mark.parametrize(
    ("wanted", "new", "total", "expected"),
    [
        (10, 0, 10, 3),  # the surge is what there is room for
        (10, 3, 13, 3),  # no room until old pods go
        (10, 3, 11, 5),
        (10, 12, 12, 10),  # scaling down goes at once
        (4, 0, 0, 4),  # a first rollout has all the room
    ],
)
def test_the_new_set_grows_into_the_surge(wanted: int, new: int, total: int, expected: int) -> None:
    assert new_replicas(wanted, new, total, Limits(3, 2)) == expected


def test_old_pods_go_only_as_new_ones_are_available() -> None:
    limits = Limits(3, 2)
    assert surplus_of_old(10, 13, new=3, new_available=0, limits=limits) == 2
    assert surplus_of_old(10, 13, new=3, new_available=3, limits=limits) == 5
    assert surplus_of_old(10, 8, new=0, new_available=0, limits=limits) == 0


@pytest.mark.parametrize(
    ("sets", "wanted", "surge", "expected"),
    [
        ([(8, 13), (5, 13)], 10, 3, [8, 5]),  # nothing to share
        ([(8, 13), (5, 13)], 15, 4, [12, 7]),
        ([(8, 13), (5, 13)], 0, 3, [0, 0]),
        ([(5, 10), (5, 10)], 11, 0, [5, 6]),  # of equals the newer one grows first
        ([(5, 10), (5, 10)], 9, 0, [4, 5]),  # and the older one shrinks first
        ([(1, 10), (1, 10), (8, 10)], 20, 0, [2, 2, 16]),
        ([(3, 0), (2, 0)], 10, 0, [8, 2]),  # when nobody knows the whole, the largest has it all
    ],
)
def test_a_new_size_is_shared_as_the_old_one_was(
    sets: list[tuple[int, int]], wanted: int, surge: int, expected: list[int]
) -> None:
    shares = [Share(size, most, f"{i}") for i, (size, most) in enumerate(sets)]
    assert proportional(shares, wanted, surge) == expected


def test_who_recreates_has_no_room_to_stray() -> None:
    assert limits_of({"type": "Recreate"}, 8) == Limits(0, 0)
