"""Virtual time: a clock that stands still until it is set, or follows another while the world sleeps."""

from __future__ import annotations

from collections.abc import Callable

from karpy.errors import InternalError

__all__ = ["DEFAULT_START", "VirtualClock"]

DEFAULT_START = 1_767_603_600.0
"""2026-01-05T09:00:00Z, a Monday morning."""


class VirtualClock:
    """Tells the time of a simulated world, in seconds since the Unix epoch. It never goes back.

    >>> clock = VirtualClock()
    >>> clock.advance(1.5)
    >>> clock.now() - DEFAULT_START
    1.5
    """

    def __init__(self, start: float = DEFAULT_START) -> None:
        self._now = start
        self._live: Callable[[], float] | None = None

    def now(self) -> float:
        live = self._live  # another thread may freeze the clock meanwhile
        return self._now if live is None else live()

    def set(self, seconds: float) -> None:
        """Jump to a time.

        Raises:
            InternalError: it has passed already.
        """
        if seconds < self._now:
            raise InternalError(f"virtual time would run backwards, from {self._now} to {seconds}")
        self._now = seconds

    def advance(self, seconds: float) -> None:
        self.set(self._now + seconds)

    def follow(self, pace: Callable[[], float], until: float) -> None:
        """Tell what ``pace`` tells, but not past ``until``, until `freeze`.

        So whoever writes to the API while the world sleeps does it at the time that it is by then.
        """
        start = self._now
        self._live = lambda: max(start, min(until, pace()))

    def freeze(self) -> None:
        """Stand still at the time reached."""
        reached = self.now()
        self._live = None
        self._now = max(self._now, reached)
