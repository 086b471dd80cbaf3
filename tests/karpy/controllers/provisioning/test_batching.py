from __future__ import annotations

import pytest

from karpy.controllers.provisioning.batching import Batching

IDLE_S, LONGEST_S = 1.0, 10.0


@pytest.fixture
def batching() -> Batching:
    return Batching(IDLE_S, LONGEST_S)


@pytest.mark.core("CORE-308")
def test_one_pod_alone_waits_for_the_idle_time(batching: Batching) -> None:
    assert batching.left_s({"a"}, 100.0) == IDLE_S
    assert batching.left_s({"a"}, 100.75) == 0.25
    assert batching.left_s({"a"}, 101.0) == 0


@pytest.mark.core("CORE-309")
def test_a_pod_that_is_in_the_batch_does_not_hold_it_open(batching: Batching) -> None:
    for at in (0.0, 0.25, 0.5, 0.75):
        assert batching.left_s({"a"}, at) == IDLE_S - at


@pytest.mark.core("CORE-310")
def test_a_new_pod_holds_it_open_but_not_for_longer_than_the_longest_time(batching: Batching) -> None:
    uids, at = {"0"}, 0.0
    while batching.left_s(uids, at) > 0:
        at += 0.5
        uids = uids | {str(at)}
    assert at == LONGEST_S


def test_when_nobody_waits_any_more_the_next_pod_begins_anew(batching: Batching) -> None:
    batching.left_s({"a"}, 0.0)
    assert batching.left_s(frozenset(), 0.5) == 0
    assert batching.left_s({"a"}, 0.75) == IDLE_S


def test_after_it_was_closed_the_same_pods_begin_anew(batching: Batching) -> None:
    batching.left_s({"a"}, 0.0)
    batching.left_s({"a"}, 1.0)
    assert batching.left_s({"a"}, 1.0) == IDLE_S


def test_a_clock_that_jumps_back_closes_it(batching: Batching) -> None:
    batching.left_s({"a"}, 3600.0)
    assert batching.left_s({"a"}, 0.0) == 0


def test_an_open_batch_is_looked_at_once_every_idle_time(batching: Batching) -> None:
    batching.left_s({"a"}, 0.0)
    assert batching.looks_early_in_s(0.25) == 0.75
    batching.left_s({"a", "b"}, 1.0 - 0.125)
    assert batching.looks_early_in_s(1.0) == 0
    batching.look_early(1.0)
    assert batching.looks_early_in_s(1.0) == IDLE_S
