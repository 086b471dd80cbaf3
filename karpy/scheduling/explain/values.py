"""Words and numbers that changes are made of: which label values a place has, how an amount reads, where a threshold lies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from karpy.resources import EPHEMERAL_STORAGE, MEMORY, format_amount
from karpy.scheduling.explain.case import Case
from karpy.scheduling.plan import Launch, Nomination

__all__ = ["distinct", "first_that", "last_that", "readable", "told_place", "values_at"]

T = TypeVar("T")

_MOST_VALUES = 6
_BYTES = ((1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))


def values_at(case: Case, place: Launch | Nomination, key: str) -> tuple[str, ...]:
    """Values that label ``key`` may have at a place, at most a few."""
    if isinstance(place, Nomination):
        view = case.aftermath.snapshot.node(place.node)
        value = view.labels.get(key) if view is not None else None
        return () if value is None else (value,)
    wanted = place.requirements.get(key)
    found = set() if wanted is None or wanted.complement else set(wanted.values)
    cheapest = case.aftermath.catalog.types[place.pool.name].by_name(place.instance_types[0].name)
    if not found and cheapest is not None and key in cheapest.requirements:
        held = cheapest.requirements[key]
        found = set() if held.complement else {value for value in held.values if wanted is None or wanted.has(value)}
    return tuple(sorted(found)[:_MOST_VALUES])


def told_place(place: Launch | Nomination) -> str:
    """Where a pod would go, in a few words."""
    if isinstance(place, Nomination):
        return f"node {place.node} has room"
    best = place.instance_types[0]
    if len(place.pods) > 1:
        return f"beside {len(place.pods) - 1} other pod(s) on a new {best.name} of nodepool {place.pool.name!r}"
    return f"a new {best.name} of nodepool {place.pool.name!r} at ${best.price:.4f}/h"


def readable(name: str, amount: int, *, up: bool) -> str:
    """An amount for people: bytes with one decimal at most, rounded up or down so that what is said holds."""
    if name in (MEMORY, EPHEMERAL_STORAGE) or name.startswith("hugepages-"):
        for size, suffix in _BYTES:
            if amount >= size:
                tenths = -(-amount * 10 // size) if up else amount * 10 // size
                return f"{tenths // 10}{suffix}" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}{suffix}"
    return format_amount(name, amount)


def distinct(items: Iterable[T]) -> list[T]:
    """Each item once; they need not be hashable."""
    found: list[T] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


def last_that(candidates: Sequence[int], holds: Callable[[int], bool]) -> int | None:
    """The greatest of ascending candidates for which ``holds`` is true, which it is up to some point."""
    low, high = -1, len(candidates)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(candidates[middle]):
            low = middle
        else:
            high = middle
    return candidates[low] if low >= 0 else None


def first_that(candidates: Sequence[int], holds: Callable[[int], bool]) -> int | None:
    """The least of ascending candidates for which ``holds`` is true, which it is from some point on."""
    found = last_that([-each for each in reversed(candidates)], lambda each: holds(-each))
    return None if found is None else -found
