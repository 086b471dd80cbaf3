"""A day in the life of a small cluster, under each policy for taking nodes away."""

from __future__ import annotations

from collections.abc import Iterator

from days import compared
from measure import Measure

DAYS, SIZE = 1.0, 0.2


def measures() -> Iterator[Measure]:
    yield from compared(DAYS, SIZE)
