from __future__ import annotations

import pytest

from karpy.sim.workloads.rollout import Limits, limits_of, new_replicas, resolve, surplus_of_old


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
