"""Pools that fail are counted, rest, and are tried; all of it is one condition, which is written and read again."""

from __future__ import annotations

import pytest

from karpy.lifecycle.resting import (
    CAPACITY,
    Endurance,
    after_failure,
    after_rest,
    is_trying,
    patience_with,
    rests_for,
)
from karpy.objects.meta import Condition, find_condition, set_condition
from karpy.objects.nodepool import NodePool
from karpy.settings import Settings

THREE = Endurance(3, 600.0, 3600.0)


class Told:
    """The condition of one pool as time passes."""

    def __init__(self, patience: Endurance = THREE) -> None:
        self.patience = patience
        self.conditions: tuple[Condition, ...] = ()

    @property
    def now_says(self) -> Condition | None:
        return find_condition(self.conditions, "Resting")

    def fail(self, now: float, began: float | None = None) -> None:
        found = after_failure(
            self.now_says, self.patience, reason="R", why="it: broke", began=now if began is None else began, now=now
        )
        if found is not None:
            self.conditions = set_condition(self.conditions, found, now=now)

    def rest_over(self, now: float) -> None:
        assert self.now_says is not None
        self.conditions = set_condition(self.conditions, after_rest(self.now_says), now=now)

    @property
    def summary(self) -> tuple[str, str]:
        assert self.now_says is not None
        return self.now_says.status, (self.now_says.message or "").partition(",")[0]


def test_failures_are_counted_until_the_pool_rests() -> None:
    told = Told()
    seen = []
    for now in (0.0, 100.0, 200.0):
        told.fail(now)
        seen.append(told.summary)
    assert seen == [("False", "1 in a row failed"), ("False", "2 in a row failed"), ("True", "3 in a row failed")]
    assert told.now_says is not None
    assert told.now_says.message == (
        "3 in a row failed, nothing is launched from the pool until 1970-01-01T00:13:20Z: it: broke"
    )
    assert rests_for(told.now_says, THREE, now=200.0) == 600.0
    assert rests_for(told.now_says, THREE, now=1000.0) == 0.0


def test_when_the_rest_is_over_the_pool_is_tried_and_still_says_why() -> None:
    told = Told()
    for now in (0.0, 1.0, 2.0):
        told.fail(now)
    assert not is_trying(told.now_says)
    told.rest_over(700.0)
    assert is_trying(told.now_says)
    assert told.now_says is not None
    assert told.now_says.message == "3 in a row failed, one machine at a time is tried: it: broke"
    assert rests_for(told.now_says, THREE, now=700.0) is None


def test_each_rest_is_twice_as_long_up_to_the_longest() -> None:
    told, now, rests = Told(), 0.0, []
    for _ in range(3):
        told.fail(now)
    for _ in range(5):
        rest = rests_for(told.now_says, THREE, now=now)
        assert rest is not None
        rests.append(rest)
        now += rest
        told.rest_over(now)
        now += 100
        told.fail(now)
    assert rests == [600.0, 1200.0, 2400.0, 3600.0, 3600.0]


@pytest.mark.parametrize(("began", "counts"), [(650.0, False), (700.0, True), (750.0, True)])
def test_a_machine_of_before_the_rest_says_nothing_new(began: float, counts: bool) -> None:
    told = Told()
    for now in (0.0, 1.0, 2.0):
        told.fail(now)
    told.fail(10.0)
    assert told.summary == ("True", "3 in a row failed")
    told.rest_over(700.0)
    told.fail(800.0, began)
    assert told.summary == (("True", "4 in a row failed") if counts else ("Unknown", "3 in a row failed"))


def test_what_is_not_to_be_had_and_what_failed_are_counted_apart() -> None:
    told, now = Told(), 2.0
    told.fail(0.0)
    told.fail(1.0)
    found = after_failure(told.now_says, Endurance(1, 30.0, 600.0), reason=CAPACITY, why="none", began=now, now=now)
    assert found is not None
    assert (found.message or "").startswith("1 in a row failed")


def test_who_never_rests_says_nothing() -> None:
    told = Told(Endurance(0, 600.0, 3600.0))
    told.fail(0.0)
    assert told.conditions == ()


def test_a_rest_ends_at_once_where_rests_are_switched_off() -> None:
    resting = Condition("Resting", "True", "R", "3 in a row failed", "1970-01-01T00:00:00Z")
    assert rests_for(resting, Endurance(0, 600.0, 3600.0), now=1.0) == 0.0


def test_a_clock_that_jumped_back_makes_no_rest_longer() -> None:
    resting = Condition("Resting", "True", "R", "3 in a row failed", "1970-01-02T00:00:00Z")
    assert rests_for(resting, THREE, now=0.0) == 600.0


@pytest.mark.parametrize("message", [None, "", "the moon is full", "99999999999 in a row failed"])
def test_what_somebody_else_wrote_is_a_rest_too(message: str | None) -> None:
    resting = Condition("Resting", "True", "R", message, "1970-01-01T00:00:00Z")
    rest = rests_for(resting, THREE, now=0.0)
    assert rest is not None
    assert 600.0 <= rest <= 3600.0
    assert after_rest(resting).status == "Unknown"


def annotated(value: str | None) -> NodePool:
    notes = {} if value is None else {"karpy.dev/registration-failures-allowed": value}
    return NodePool.from_dict({"metadata": {"name": "p", "annotations": notes}})


@pytest.mark.parametrize(("value", "allowed"), [(None, 3), ("0", 0), ("12", 12), ("often", 3), ("-1", 3), ("²", 3)])
def test_a_pool_says_by_an_annotation_how_many_failures_it_allows(value: str | None, allowed: int) -> None:
    assert patience_with(annotated(value), Settings(), "RegistrationFailed").allowed == allowed


def test_a_pool_without_capacity_rests_at_the_first_refusal() -> None:
    patience = patience_with(annotated("0"), Settings(), CAPACITY)
    assert [patience.rest_s(failures) for failures in (1, 2, 3, 99)] == [30.0, 60.0, 120.0, 600.0]
