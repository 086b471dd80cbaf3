"""Which constraints exclude a pod: a set that does, of which none can be spared.

Sets are tried by deleting: what can go while the pod still has no place was not needed. Dropping a constraint does not always
help a pod (a pod with a wider choice of zones may have to be spread over more), so this is done until nothing more can go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from karpy.scheduling.explain.case import Case
from karpy.scheduling.explain.units import Place, Unit, without

__all__ = ["Question"]


class Question:
    """One case and the constraints in question; the scheduler's answers are remembered."""

    def __init__(self, case: Case, units: Sequence[Unit]) -> None:
        self.case = case
        self.units = tuple(units)
        self._answers: dict[frozenset[int], Place | None] = {}

    def keeping(self, kept: Iterable[Unit]) -> Case:
        """The case with these constraints and no others."""
        held = set(map(id, kept))
        return without(self.case, (unit for unit in self.units if id(unit) not in held))

    def place(self, kept: Iterable[Unit]) -> Place | None:
        """Where the pod goes when only these constraints hold."""
        held = tuple(kept)
        key = frozenset(map(id, held))
        if key not in self._answers:
            self._answers[key] = self.keeping(held).place()
        return self._answers[key]

    def conflict(self, among: Sequence[Unit]) -> tuple[Unit, ...]:
        """A minimal set that excludes the pod, of constraints that together exclude it, in the order of ``units``.

        What each such set must contain is looked for first, and is the last that one tries to do without.
        """
        critical = self._critical(among)
        kept = self._shrink([*(unit for unit in among if unit not in critical), *critical])
        smaller = self._shrink(kept)
        while len(smaller) < len(kept):
            kept, smaller = smaller, self._shrink(smaller)
        return tuple(unit for unit in self.units if unit in kept)

    def grow(self, kept: list[Unit], more: Sequence[Unit]) -> list[Unit]:
        """``kept``, with which the pod has a place, and as many of ``more`` as it can bear, the first ones rather than the last."""
        if not more or self.place([*kept, *more]) is not None:
            return [*kept, *more]
        if len(more) == 1:
            return kept
        middle = len(more) // 2
        return self.grow(self.grow(kept, more[:middle]), more[middle:])

    def _critical(self, among: Sequence[Unit]) -> list[Unit]:
        """The constraints without any one of which the pod has a place."""
        return self._critical_in(list(among), among)

    def _critical_in(self, chunk: list[Unit], among: Sequence[Unit]) -> list[Unit]:
        if not chunk or self.place(_less(among, chunk)) is None:
            return []  # not even without all of these
        if len(chunk) == 1:
            return chunk
        middle = len(chunk) // 2
        return [*self._critical_in(chunk[:middle], among), *self._critical_in(chunk[middle:], among)]

    def _shrink(self, kept: list[Unit]) -> list[Unit]:
        """Leave out what can be left out, from the front, in ever smaller chunks."""
        tried = 0
        chunk = max(len(kept) // 2, 1)
        while tried < len(kept):
            part = kept[tried : tried + chunk]
            rest = _less(kept, part)
            if self.place(rest) is None:
                kept = rest
            elif len(part) > 1:
                chunk = max(len(part) // 2, 1)
                continue
            else:
                tried += 1
            chunk = max((len(kept) - tried) // 2, 1)
        return kept


def _less(units: Sequence[Unit], gone: Sequence[Unit]) -> list[Unit]:
    return [unit for unit in units if unit not in gone]
