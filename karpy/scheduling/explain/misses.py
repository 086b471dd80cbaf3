"""The nearest misses: what little would have to be otherwise, each found by asking the scheduler."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from karpy.scheduling.explain.case import Case
from karpy.scheduling.explain.conflict import Question
from karpy.scheduling.explain.explanation import NearMiss
from karpy.scheduling.explain.units import Change, Place, Unit
from karpy.scheduling.explain.values import told_place

__all__ = ["near_misses"]

_MOST_MISSES = 12
_MOST_FOR_ONE = 3


def near_misses(question: Question, conflict: Sequence[Unit]) -> tuple[NearMiss, ...]:
    """For each constraint of a conflict, the smallest changes to it that give the pod a place; where other conflicts stand in
    the way too, together with changes that settle those."""
    found: dict[tuple[str, ...], NearMiss] = {}
    for unit in conflict:
        for miss in itertools.islice(_around(question, unit), _MOST_FOR_ONE):
            found.setdefault(tuple(sorted(miss.changes)), miss)
    enough = [set(changes) for changes in found]
    least = (miss for miss in found.values() if not any(other < set(miss.changes) for other in enough))
    return tuple(itertools.islice(least, _MOST_MISSES))


def _around(question: Question, first: Unit) -> Iterator[NearMiss]:
    """Changes to ``first``, and to as few others as must be changed with it."""
    gone = _enough(question, first)
    if len(gone) > 1:
        changes = _least(question.case, gone)
        place = _changed(question.case, changes).place()
        if place is not None:
            told = tuple(change.text for change in changes)
            yield NearMiss(tuple(unit.constraint for unit in gone), told, told_place(place))
        return
    for change, place in _eased(question.case, first):
        yield NearMiss((first.constraint,), (change.text,), told_place(place))


def _enough(question: Question, first: Unit) -> list[Unit]:
    """``first`` and those that must be dropped with it before the pod has a place; of the same owner, where there is a choice."""
    others = [unit for unit in question.units if unit is not first]
    if question.place(others) is not None:
        return [first]
    others.sort(key=lambda unit: unit.constraint.owner == first.constraint.owner)
    kept = question.grow([], others)
    return [first, *(unit for unit in others if unit not in kept)]


def _least(case: Case, gone: Sequence[Unit]) -> list[Change]:
    """The least change to each of several constraints that do together. What one can be depends on what the others are, so
    those that could only be dropped at first are tried once more."""
    changes = [unit.dropping for unit in gone]
    for _turn in range(2):
        for index in reversed(range(len(gone))):
            if changes[index].text == gone[index].dropped:
                others = [change for other, change in enumerate(changes) if other != index]
                changes[index] = next(
                    (eased for eased, _ in _eased(_changed(case, others), gone[index])), changes[index]
                )
    return changes


def _changed(case: Case, changes: Iterable[Change]) -> Case:
    for change in changes:
        case = change.apply(case)
    return case


def _eased(case: Case, unit: Unit) -> Iterator[tuple[Change, Place]]:
    """Changes to ``unit`` that do: lesser ones, or that it is dropped."""
    place = unit.drop(case).place()
    if place is None:
        return
    helped = False
    for change in unit.ease(case, place):
        found = change.apply(case).place()
        if found is not None:
            helped = True
            yield change, found
    if not helped:
        yield unit.dropping, place
