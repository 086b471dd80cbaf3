"""`Turns`: work that is due every now and then, done by whoever calls next. A provider so needs no thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Final

import attrs

from karpy.clock import Clock
from karpy.errors import InvalidObject, ProviderError

__all__ = ["Turn", "Turns"]

_RETRY_S: Final = 60.0


@attrs.frozen
class Turn:
    """``act`` is called every ``every_s`` seconds; the first time at once, or after ``first_s``."""

    name: str
    every_s: float
    act: Callable[[], object]
    first_s: float = 0.0


class Turns:
    """Does what is due. What fails is told to ``failed``, tried again a minute later, and keeps nothing else from its turn.

    While one thread is at it the others go on with what they came for.
    """

    def __init__(
        self,
        clock: Clock,
        turns: Iterable[Turn],
        failed: Callable[[Turn, Exception], object] = lambda _turn, _error: None,
    ) -> None:
        self._clock = clock
        self._failed = failed
        self._lock = threading.Lock()
        self._due = {turn: clock.now() + turn.first_s for turn in turns}

    def take(self, *, wait: bool = False) -> None:
        """Do all that is due. With ``wait``, if another thread is at it, only return when it is done."""
        now = self._clock.now()
        if all(now < due for due in self._due.values()) or not self._lock.acquire(blocking=wait):
            return
        try:
            for turn, due in self._due.items():
                if now >= due:
                    self._due[turn] = now + self._wait_after(turn)
        finally:
            self._lock.release()

    def _wait_after(self, turn: Turn) -> float:
        try:
            turn.act()
        except (ProviderError, InvalidObject) as error:
            self._failed(turn, error)
            return min(turn.every_s, _RETRY_S)
        return turn.every_s
