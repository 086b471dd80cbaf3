from __future__ import annotations

import itertools
from typing import Any

import pytest

from karpy.errors import InternalError
from karpy.lifecycle.states import TRANSITIONS, State, move, state_of
from karpy.objects.nodeclaim import NodeClaim
from karpy.testing import make_claim, make_condition

DELETED = {"deletionTimestamp": "2026-01-05T09:00:00Z"}
ALL = ("Launched", "Registered", "Initialized")


def claim(reached: int, *, deleted: bool = False, marks: tuple[str, ...] = ()) -> NodeClaim:
    conditions = [make_condition(mark) for mark in marks]
    metadata: dict[str, Any] = DELETED if deleted else {}
    return NodeClaim.from_dict(make_claim(reached=ALL[:reached], conditions=conditions, metadata=metadata))


@pytest.mark.parametrize(
    ("reached", "state"),
    [(0, State.CREATED), (1, State.LAUNCHED), (2, State.REGISTERED), (3, State.INITIALIZED)],
)
def test_a_claim_is_as_far_as_its_conditions_say(reached: int, state: State) -> None:
    assert state_of(claim(reached)) is state


@pytest.mark.parametrize(
    ("reached", "marks", "state"),
    [
        (0, (), State.GONE),  # there never was an instance
        (1, (), State.TERMINATING),  # no node, so no pods to move
        (2, (), State.DRAINING),
        (3, (), State.DRAINING),
        (3, ("Drained",), State.TERMINATING),
        (3, ("InstanceTerminating",), State.TERMINATING),
    ],
)
def test_a_claim_that_is_being_deleted_drains_if_there_may_be_pods(
    reached: int, marks: tuple[str, ...], state: State
) -> None:
    assert state_of(claim(reached, deleted=True, marks=marks)) is state


def test_a_condition_that_is_not_true_does_not_count() -> None:
    waiting = make_condition("Registered", status="Unknown")
    assert state_of(NodeClaim.from_dict(make_claim(reached=["Launched"], conditions=[waiting]))) is State.LAUNCHED


@pytest.mark.parametrize(("source", "target"), list(TRANSITIONS))
def test_every_transition_says_what_leads_there(source: State, target: State) -> None:
    assert move(source, target) == TRANSITIONS[source, target]


@pytest.mark.parametrize(
    ("source", "target"),
    sorted(set(itertools.product(State, State)) - TRANSITIONS.keys(), key=lambda pair: (pair[0].value, pair[1].value)),
)
def test_there_is_no_other_way(source: State, target: State) -> None:
    with pytest.raises(InternalError, match=f"from {source.value} to {target.value}"):
        move(source, target)


def test_every_state_but_the_first_can_be_reached_and_every_one_but_the_last_left() -> None:
    assert {target for _source, target in TRANSITIONS} == set(State) - {State.CREATED}
    assert {source for source, _target in TRANSITIONS} == set(State) - {State.GONE}


def _neighbours(claims: list[NodeClaim]) -> set[tuple[State, State]]:
    states = [state_of(found) for found in claims]
    return {pair for pair in itertools.pairwise(states) if pair[0] is not pair[1]}


@pytest.mark.parametrize("reached", range(4))
def test_the_life_of_a_claim_only_goes_along_transitions(reached: int) -> None:
    """It comes up as far as ``reached``, is deleted, drains, and ends."""
    rise = [claim(step) for step in range(reached + 1)]
    fall = [claim(reached, deleted=True), claim(reached, deleted=True, marks=("Drained", "InstanceTerminating"))]
    assert _neighbours([*rise, *fall]) <= TRANSITIONS.keys()
