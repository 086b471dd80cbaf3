"""Pure functions of JSON values, worked out once for each value: thousands of pods are made from one template."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import msgspec

__all__ = ["Remembered"]

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Remembered(Generic[T]):
    """``function(value, *arguments)``. Answers are shared between all who ask, and must not be changed.

    What it raises is not remembered. The servers of one process share what is remembered, each with threads of its own.
    """

    def __init__(self, function: Callable[..., T], capacity: int = 2_000) -> None:
        self._function = function
        self._capacity = capacity
        self._answers: dict[tuple[bytes, tuple[Hashable, ...]], T] = {}

    def __call__(self, value: Any, *arguments: Hashable) -> T:
        try:
            key = (_encode(value), arguments)
        except (TypeError, ValueError, OverflowError, msgspec.MsgspecError):  # no JSON: nothing to know it by
            return self._function(value, *arguments)
        with contextlib.suppress(KeyError):  # in one step, as another server's thread may empty it at any time
            return self._answers[key]
        # Worked out on a copy: an answer may hold parts of the value, which its owner may go on to change.
        answer = self._function(_decode(key[0]), *arguments)
        if len(self._answers) >= self._capacity:
            self._answers.clear()
        self._answers[key] = answer
        return answer
