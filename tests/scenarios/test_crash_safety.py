"""Whatever call the process dies at, or whichever fails: nothing is leaked, doubled or lost, and every invariant holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from karpy.sim.faults import Fault
from karpy.testing.sweeping import FAILURES, KILLS, Point, Story, points, sweep
from tests.scenarios.lives import MANY, ONE, REPLACED, one
from tests.scenarios.test_r_ownership import own_only

PARTS = 12
KILLED, FAILED = 3, 12
REPLACED_KILLED, REPLACED_FAILED = 16, 48
"""`make soak` tries every call of the longer stories; here it is one in so many."""

Note = Callable[[str, object], None]


def share_of(story: Story, part: int, faults: tuple[Fault, ...], every: int = 1) -> list[Point]:
    """The points that fall to one of the parts into which the work is divided."""
    world, wrong = story.play()
    assert wrong == ()
    return list(points(world, faults))[part :: PARTS * every]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    ("story", "every"),
    [(ONE, 1), (MANY, KILLED), (REPLACED, REPLACED_KILLED)],
    ids=lambda value: getattr(value, "name", value),
)
def test_dying_before_or_after_any_call_harms_nothing(
    story: Story, every: int, part: int, record_property: Note
) -> None:
    tried = share_of(story, part, KILLS, every)
    assert sweep(story, tried) == ()
    record_property(f"kill points of {story.name}", len(tried))


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    ("story", "every"),
    [(ONE, 1), (MANY, FAILED), (REPLACED, REPLACED_FAILED)],
    ids=lambda value: getattr(value, "name", value),
)
def test_any_call_failing_once_harms_nothing(story: Story, every: int, part: int, record_property: Note) -> None:
    tried = share_of(story, part, FAILURES, every)
    assert sweep(story, tried) == ()
    record_property(f"failures of {story.name}", len(tried))


def test_a_controller_that_looks_only_after_what_it_saw_being_made_is_found_out() -> None:
    story = one(own_only)
    world, wrong = story.play()
    assert wrong == ()
    made = [point for point in points(world) if point.call.startswith("create nodeclaims")]
    assert any("0 pods run instead of 2" in words for words in sweep(story, made))
