"""`Remembered`: answers of AWS that are good for a while, and better than nothing when AWS does not answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

import attrs

from karpy.clock import Clock
from karpy_aws.errors import AWSError

__all__ = ["Answer", "Remembered"]

T = TypeVar("T")

_MOST: Final = 256
"""Questions that nobody asks any more leave answers behind; those asked for longest ago go first."""


@attrs.frozen
class Answer(Generic[T]):
    """``error`` is why AWS could not be asked now, so that ``value`` is what it said before."""

    value: T
    error: AWSError | None = None


class Remembered(Generic[T]):
    """The answers by question, each good for ``fresh_s``. May be used from several threads."""

    def __init__(self, clock: Clock, fresh_s: float) -> None:
        self._clock = clock
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._known: dict[Hashable, tuple[T, float]] = {}

    def ask(self, question: Hashable, ask: Callable[[], T]) -> Answer[T]:
        """What is known, or what ``ask`` answers now.

        Raises:
            AWSError: it failed, and nothing is known from before.
        """
        now = self._clock.now()
        with self._lock:
            known = self._known.get(question)
        if known is not None and 0 <= now - known[1] < self._fresh_s:
            return Answer(known[0])
        try:
            value = ask()
        except AWSError as error:
            if known is None:
                raise
            return Answer(known[0], error)
        with self._lock:
            self._known.pop(question, None)
            self._known[question] = value, now
            if len(self._known) > _MOST:
                del self._known[next(iter(self._known))]
        return Answer(value)
