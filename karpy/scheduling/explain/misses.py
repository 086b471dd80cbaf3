"""The nearest misses: what little would have to be otherwise, each found by asking the scheduler."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from karpy.scheduling.explain.conflict import Question
from karpy.scheduling.explain.explanation import NearMiss
from karpy.scheduling.explain.units import Change, Place, Unit, without
from karpy.scheduling.explain.values import told_place

__all__ = ["near_misses"]

_MOST_MISSES = 12
_MOST_FOR_ONE = 3


def near_misses(question: Question, conflict: Sequence[Unit], also: Sequence[Sequence[Unit]]) -> tuple[NearMiss, ...]:
    """For each constraint of a conflict, the smallest changes to it that give the pod a place; where other conflicts stand in
    the way too, together with changes that settle those."""
    found: dict[tuple[str, ...], NearMiss] = {}
    for unit in conflict:
        for miss in itertools.islice(_around(question, unit, also), _MOST_FOR_ONE):
            found.setdefault(tuple(sorted(miss.changes)), miss)
    return tuple(found.values())[:_MOST_MISSES]


def _around(question: Question, first: Unit, also: Sequence[Sequence[Unit]]) -> Iterator[NearMiss]:
    """Changes to ``first``, and to as few others as must be changed with it."""
    gone = _enough(question, [first, *(other[0] for other in also)])
    chosen: list[Change] = []
    for index, unit in enumerate(gone[1:], 1):
        found = next(_eased(question, unit, [*gone[index + 1 :], first], chosen), None)
        if found is None:
            return  # what helped by itself stands in the way of what was changed before
        chosen.append(found[0])
    for change, place in _eased(question, first, [], chosen):
        yield NearMiss(
            tuple(unit.constraint for unit in gone), (change.text, *(c.text for c in chosen)), told_place(place)
        )


def _enough(question: Question, gone: list[Unit]) -> list[Unit]:
    """These, and what must be dropped with them before the pod has a place."""
    while question.place(_kept(question, gone)) is None:
        conflict = question.conflict(_kept(question, gone))
        if not conflict:
            return []
        gone.append(conflict[0])
    for unit in gone[1:]:
        fewer = [other for other in gone if other is not unit]
        if question.place(_kept(question, fewer)) is not None:
            gone = fewer
    return gone


def _kept(question: Question, gone: Sequence[Unit]) -> list[Unit]:
    return [unit for unit in question.units if unit not in gone]


def _eased(
    question: Question, unit: Unit, dropped: Sequence[Unit], chosen: Sequence[Change]
) -> Iterator[tuple[Change, Place]]:
    """Changes to ``unit`` that do while others are dropped or changed already: lesser ones, or that it is dropped."""
    case = without(question.case, dropped)
    for change in chosen:
        case = change.apply(case)
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
