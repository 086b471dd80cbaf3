"""One thing going wrong, at every place where it can: a story is told undisturbed, and then again for each call made in it.

Chance finds what is likely; this finds what is possible. Since a world does the same each time, the n-th call of the undisturbed
story is the n-th call of the disturbed one too, and everything before it is the same.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator

import attrs

from karpy.sim.faults import Fault, Faults, Planned
from karpy.sim.processes.gate import can_meet
from karpy.sim.world import World

__all__ = ["FAILURES", "KILLS", "Act", "Point", "Story", "points", "sweep"]

UNDISTURBED = Faults()
KILLS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
"""The process dies before the call reaches the other side, or before the answer reaches it."""
FAILURES = (Fault.CONFLICT, Fault.THROTTLED, Fault.ERROR, Fault.LOST)
"""The call fails once: 409, 429, 500, and an answer that never arrives though the call took effect."""


_KEPT = 50
"""Worlds that ended are cleared away when there are so many."""


@attrs.frozen
class Point:
    """One thing going wrong at one call. ``call`` is what the undisturbed story did there."""

    planned: Planned
    call: str

    @property
    def faults(self) -> Faults:
        return Faults((self.planned,))

    def __str__(self) -> str:
        return f"{self.planned} ({self.call})"


def points(world: World, faults: Iterable[Fault] = KILLS) -> Iterator[Point]:
    """Every point at which one of the faults can come in the story that ``world`` is the undisturbed end of.

    To die after a call that changes nothing is to die before it: of these two only one is a point.
    """
    wanted = tuple(faults)
    for call in world.trace:
        for fault in wanted:
            twice = fault is Fault.CRASH_AFTER and not call.is_write and Fault.CRASH_BEFORE in wanted
            if can_meet(call, fault, elects=False) and not twice:
                yield Point(Planned(call.number, fault), f"{call.verb} {call.object}")


@attrs.frozen
class Act:
    """Something that users do, the time that it takes the cluster to come to rest after it, and what must be so then."""

    what: str
    act: Callable[[World], object]
    lasts_s: float
    wrong: Callable[[World], Iterable[str]]
    """What is not as it should be."""


@attrs.frozen
class Story:
    """Something that a cluster goes through. ``begin`` makes it, with these faults to come."""

    name: str
    begin: Callable[[Faults], World]
    acts: tuple[Act, ...]

    def play(self, faults: Faults = UNDISTURBED) -> tuple[World, tuple[str, ...]]:
        """The world at its end, and what was wrong on the way: after an act, or with an invariant."""
        world, wrong = self.begin(faults), []
        for act in self.acts:
            act.act(world)
            world.run(act.lasts_s)
            wrong += [f"{act.what}: {words}" for words in act.wrong(world)]
        return world, (*wrong, *(f"{each.invariant}: {each}" for each in world.check()))


def sweep(story: Story, some: Iterable[Point]) -> tuple[str, ...]:
    """Tell the story once for each of these points; returns what was wrong, naming the point."""
    found: list[str] = []
    for number, point in enumerate(some):
        found += (f"{story.name} with {point}: {words}" for words in story.play(point.faults)[1])
        if number % _KEPT == _KEPT - 1:
            gc.collect()  # of its own accord Python would let worlds by the hundred lie about
    return tuple(found)
