"""Spare room sorted by how much it is: bins in the order of tightness, found with a few comparisons.

The sizes that pods of the batch ask for are the steps, per resource; room is rounded down to them. Where there are many sizes the
steps are thinned out, so room may be overlooked that is barely enough, but none is promised that is not there.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Mapping, Sequence

from karpy.resources import PODS
from karpy.scheduling.classes import PodClass

__all__ = ["Sizes"]

_MOST_RESOURCES = 3
_MOST_STEPS = 12
_MOST_STEPS_BESIDE = 4
"""For the resources after the first two: there are few of them on a machine."""


class Sizes:
    """The bins for a batch of pods. Resources beyond the few that most pods ask for are left to a closer look."""

    def __init__(self, classes: Iterable[PodClass]) -> None:
        classes = tuple(classes)
        askers: dict[str, int] = {}
        weights: dict[str, int] = {}
        for each in classes:
            for name, amount in each.amounts:
                askers[name] = askers.get(name, 0) + len(each.pods)
                weights[name] = weights.get(name, 0) + amount * len(each.pods)
        askers.pop(PODS, None)
        self._names = sorted(askers, key=lambda name: (-askers[name], name))[:_MOST_RESOURCES]
        self._steps = [
            _steps({each.requests.get(name, 0) for each in classes}, _MOST_STEPS if place < 2 else _MOST_STEPS_BESIDE)
            for place, name in enumerate(self._names)
        ]
        corners = list(itertools.product(*(range(len(steps)) for steps in self._steps)))

        def tightness(corner: tuple[int, ...]) -> float:
            return sum(s[i] / weights[name] for i, s, name in zip(corner, self._steps, self._names, strict=True))

        corners.sort(key=lambda corner: (tightness(corner), corner))
        self._number = {corner: number for number, corner in enumerate(corners)}
        self._at_least = [_at_least(corners, place, len(steps)) for place, steps in enumerate(self._steps)]

    def bin(self, room: Mapping[str, int]) -> int:
        """The bin of so much room; -1 when it holds none of the pods."""
        if room.get(PODS, 1) <= 0:
            return -1
        corner = []
        for name, steps in zip(self._names, self._steps, strict=True):
            step = bisect.bisect_right(steps, room.get(name, 0)) - 1
            if step < 0:
                return -1
            corner.append(step)
        return self._number[tuple(corner)]

    def enough(self, requests: Mapping[str, int]) -> int:
        """The bins, as a mask, whose room holds ``requests`` as far as the bins tell."""
        mask = -1
        for name, steps, at_least in zip(self._names, self._steps, self._at_least, strict=True):
            mask &= at_least[bisect.bisect_left(steps, requests.get(name, 0))]
        return mask


def _at_least(corners: Sequence[tuple[int, ...]], place: int, steps: int) -> list[int]:
    """For each step of one resource the corners, as a mask, that have so much; none have more than the last."""
    masks = [0] * (steps + 1)
    for number, corner in enumerate(corners):
        masks[corner[place]] |= 1 << number
    for step in reversed(range(steps)):
        masks[step] |= masks[step + 1]
    return masks


def _steps(amounts: Iterable[int], most: int) -> list[int]:
    """The distinct amounts, or ``most`` of them evenly chosen with the least and the greatest among them."""
    distinct = sorted(amounts)
    if len(distinct) <= most:
        return distinct
    return sorted({distinct[index * (len(distinct) - 1) // (most - 1)] for index in range(most)})
