"""A clock for tests: it stands still until it is told to move."""

from __future__ import annotations

from karpy.clock import parse_time

__all__ = ["START", "FakeClock"]

START = parse_time("2026-01-05T09:00:00Z")
"""A Monday morning."""


class FakeClock:
    """Implements `karpy.clock.Clock`; times are seconds since the Unix epoch.

    >>> clock = FakeClock()
    >>> clock.advance(90)
    >>> clock.now() - START
    90.0
    """

    def __init__(self, start: float = START) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            ValueError: time does not run backwards.
        """
        if seconds < 0:
            raise ValueError(f"time does not run backwards, not by {seconds} s")
        self._now += seconds
