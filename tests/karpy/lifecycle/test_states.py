from __future__ import annotations

from typing import Any

import pytest

from karpy.lifecycle.states import MEANINGS, TRANSITIONS, State, state_of
from karpy.objects.nodeclaim import NodeClaim
from karpy.testing import make_claim, make_condition

DELETED = {"deletionTimestamp": "2026-01-05T09:00:00Z"}
ALL = ("Launched", "Registered", "Initialized")


def claim(reached: int, *, deleted: bool = False, **marks: str) -> NodeClaim:
    conditions = [make_condition(mark, status=status) for mark, status in marks.items()]
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
        (0, {}, State.RELEASING),  # nothing is known of an instance
        (0, {"InstanceTerminating": "True"}, State.TERMINATING),  # until one is found
        (1, {}, State.TERMINATING),  # no node, so no pods to move
        (2, {}, State.DRAINING),
        (3, {"Drained": "Unknown"}, State.DRAINING),
        (3, {"Drained": "True"}, State.TERMINATING),
        (3, {"Drained": "True", "VolumesDetached": "Unknown"}, State.DETACHING),
        (3, {"Drained": "True", "VolumesDetached": "True"}, State.TERMINATING),
        (3, {"Drained": "True", "VolumesDetached": "False"}, State.TERMINATING),  # the grace period is over
        (3, {"InstanceTerminating": "True"}, State.TERMINATING),  # its node vanished
    ],
)
def test_a_claim_that_is_being_deleted_gives_back_what_it_may_have(
    reached: int, marks: dict[str, str], state: State
) -> None:
    assert state_of(claim(reached, deleted=True, **marks)) is state


def test_a_condition_that_is_not_true_does_not_count() -> None:
    assert state_of(claim(1, Registered="Unknown")) is State.LAUNCHED


def test_every_state_is_explained_and_there_is_one_way_at_most_from_one_to_another() -> None:
    assert set(MEANINGS) == set(State)
    ways = [(way.source, way.target) for way in TRANSITIONS]
    assert len(ways) == len(set(ways))


def test_every_state_but_the_first_can_be_reached_and_every_one_but_the_last_left() -> None:
    assert {way.target for way in TRANSITIONS} == set(State) - {State.CREATED}
    assert {way.source for way in TRANSITIONS} == set(State) - {State.GONE}


@pytest.mark.parametrize("state", [state for state in State if state is not State.GONE], ids=str)
def test_no_state_is_without_a_way_out(state: State) -> None:
    """Time alone, or a deletion, leads from each state to the end: nobody else has to do anything for that."""
    reached = {state}
    while onward := {way.target for way in TRANSITIONS if way.source in reached and way.surely} - reached:
        reached |= onward
    assert State.GONE in reached


@pytest.mark.parametrize("state", [State.CREATED, State.LAUNCHED, State.RELEASING], ids=str)
def test_what_never_came_up_is_given_up_by_time_alone(state: State) -> None:
    assert any(
        way.source is state and way.surely is not None and way.surely.value == "time alone" for way in TRANSITIONS
    )
