"""Why a pod waits, or goes where it goes: worked out on demand, by asking the scheduler with one thing changed at a time."""

from __future__ import annotations

from karpy.scheduling.aftermath import Aftermath
from karpy.scheduling.afterwards import standing_after
from karpy.scheduling.explain.case import case_of
from karpy.scheduling.explain.conflict import Question
from karpy.scheduling.explain.explanation import Explanation, Funnel
from karpy.scheduling.explain.funnel import funnel_of_launch, funnels_of_waiting
from karpy.scheduling.explain.misses import near_misses
from karpy.scheduling.explain.podunits import pod_units
from karpy.scheduling.explain.poolunits import daemon_unit, pool_units, world_units
from karpy.scheduling.explain.units import Unit
from karpy.scheduling.explain.values import told_place
from karpy.scheduling.plan import Launch, Nomination, Plan, Unschedulable

__all__ = ["explain", "question_of"]

_MOST_CONFLICTS = 4


def explain(plan: Plan, key: str) -> Explanation:
    """What ``plan`` decided about the pod ``namespace/name``, and why."""
    found = plan.outcome(key)
    if found is None:
        return Explanation(pod=key, summary=f"pod {key} was not part of this plan")
    if isinstance(found, Nomination):
        told = f"pod {key} fits node {found.node}, which is there already"
        return Explanation(pod=key, summary=told, outcome=found)
    if isinstance(found, Launch):
        told = f"pod {key} gets a new node: {found.explain()}"
        return Explanation(pod=key, summary=told, outcome=found, funnel=_funnel(plan.aftermath, key, found))
    if plan.aftermath is None:
        return _told(key, found)
    return _waiting(plan.aftermath, key, found)


def _funnel(aftermath: Aftermath | None, key: str, launch: Launch) -> tuple[Funnel, ...]:
    standing = standing_after(aftermath, aftermath.pods[key]) if aftermath is not None else None
    return () if standing is None else (funnel_of_launch(standing, launch),)


def _told(key: str, found: Unschedulable) -> Explanation:
    """The reason as it stands, where nothing that anybody asked for is to blame."""
    return Explanation(pod=key, summary=f"pod {key} cannot be placed: {found.reason}", outcome=found)


def _waiting(aftermath: Aftermath, key: str, found: Unschedulable) -> Explanation:
    question = question_of(aftermath, key)
    case = question.case
    place = case.place()
    if place is not None:
        told = f"pod {key} waits for the next pass, which has a place for it: {told_place(place)}"
        return Explanation(pod=key, summary=told, outcome=found)
    if question.place(()) is None:
        return _told(key, found)
    conflict, *also = _conflicts(question)
    standing = standing_after(case.asked, case.pod)
    return Explanation(
        pod=key,
        summary=f"pod {key} cannot be placed" + (f": {found.reason}" if found.kind is not None else ""),
        outcome=found,
        conflict=tuple(unit.constraint for unit in conflict),
        also=tuple(tuple(unit.constraint for unit in other) for other in also),
        nearest=near_misses(question, conflict),
        funnel=() if standing is None else funnels_of_waiting(standing),
    )


def question_of(aftermath: Aftermath, key: str) -> Question:
    """A pod, and what might be otherwise. What is tried first is blamed last: the world, then pools, then the pod."""
    case = case_of(aftermath, aftermath.pods[key])
    pools = (unit for pool in case.pools.values() for unit in pool_units(case, pool))
    units = [*world_units(case), *pools, *pod_units(case)]
    question = Question(case, units)
    return question if question.place(()) is not None else Question(case, [*daemon_unit(case), *units])


def _conflicts(question: Question) -> list[tuple[Unit, ...]]:
    """Sets that exclude the pod, each by itself and without anything of those before it."""
    rest = list(question.units)
    found: list[tuple[Unit, ...]] = []
    while len(found) < _MOST_CONFLICTS and question.place(rest) is None:
        conflict = question.conflict(rest)
        found.append(conflict)
        rest = [unit for unit in rest if unit not in conflict]
    return found
