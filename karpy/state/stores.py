"""Where the state keeps things so that a picture of them costs what changed, not what there is.

What is handed out is never changed afterwards, and is handed out again as long as it holds.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

__all__ = ["InOrder", "Store"]

K = TypeVar("K")
V = TypeVar("V")

_FEW = 64
"""So many changes are searched for one by one; after more of them everything is sorted again."""


class Store(Generic[K, V]):
    """Values by key."""

    def __init__(self) -> None:
        self._items: dict[K, V] = {}
        self._picture: Mapping[K, V] | None = None

    def get(self, key: K) -> V | None:
        return self._items.get(key)

    def put(self, key: K, value: V | None) -> None:
        """Keep the value; None: keep none."""
        if value is not None:
            self._items[key] = value
        elif self._items.pop(key, None) is None:
            return
        self._picture = None

    def update(self, more: Mapping[K, V]) -> None:
        self._items.update(more)
        self._picture = None

    def picture(self) -> Mapping[K, V]:
        """The values as they are now."""
        if self._picture is None:
            self._picture = dict(self._items)
        return self._picture


class InOrder(Generic[K, V]):
    """Values in the order of their keys."""

    def __init__(self) -> None:
        self._values: dict[K, V] = {}
        self._keys: list[Any] = []
        self._row: list[V] = []  # the value of each of `_keys`
        self._changed: set[K] = set()
        self._picture: tuple[V, ...] = ()

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def put(self, key: K, value: V | None) -> None:
        """Keep the value; None: keep none."""
        if value is not None:
            self._values[key] = value
        elif self._values.pop(key, None) is None:
            return
        self._changed.add(key)

    def picture(self) -> tuple[V, ...]:
        """The values as they are now."""
        if self._changed:
            if len(self._changed) <= _FEW:
                for key in self._changed:
                    self._settle(key)
            else:
                self._keys = sorted(self._values)
                self._row = [self._values[key] for key in self._keys]
            self._changed.clear()
            self._picture = tuple(self._row)
        return self._picture

    def _settle(self, key: K) -> None:
        """Bring the place of one key in line with its value."""
        place = bisect.bisect_left(self._keys, key)
        was_there = place < len(self._keys) and self._keys[place] == key
        value = self._values.get(key)
        if value is None:
            if was_there:
                del self._keys[place], self._row[place]
        elif was_there:
            self._row[place] = value
        else:
            self._keys.insert(place, key)
            self._row.insert(place, value)
