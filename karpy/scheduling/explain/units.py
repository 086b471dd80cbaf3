"""What could be otherwise: each constraint by itself, how the case looks without it, and how little of a change might do.

A `Unit` is dropped or eased by making another `Case`; whether that helps is for the scheduler to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import attrs

from karpy.scheduling.explain.case import Case
from karpy.scheduling.explain.explanation import Constraint
from karpy.scheduling.plan import Launch, Nomination

__all__ = ["Change", "Place", "Unit", "without"]

Place = Launch | Nomination


@attrs.frozen(eq=False)
class Change:
    """One change to a case, in words and as what it makes of the case."""

    text: str
    apply: Callable[[Case], Case]


def _no_less(_case: Case, _place: Place) -> Iterator[Change]:
    return iter(())


@attrs.frozen(eq=False)
class Unit:
    """One constraint that can be dropped.

    ``drop`` takes it away. ``ease`` is given a case in which dropping it gives the pod a place, and that place; it suggests
    lesser changes, the least first. ``dropped`` says in words that it is dropped altogether.
    """

    constraint: Constraint
    drop: Callable[[Case], Case]
    dropped: str
    ease: Callable[[Case, Place], Iterable[Change]] = _no_less

    @property
    def dropping(self) -> Change:
        return Change(self.dropped, self.drop)


def without(case: Case, units: Iterable[Unit]) -> Case:
    """The case when all of these are dropped."""
    for unit in units:
        case = unit.drop(case)
    return case
