"""Time as something that is handed in.

Deciders take ``now`` as an argument. Controllers take a `Clock`, so that the same objects run on real time in production and
on virtual time in `karpy.sim`. Times are seconds since the Unix epoch, in UTC, as ``float``.
"""

from __future__ import annotations

import datetime as dt
import functools
import time
from typing import Protocol

from karpy.errors import InvalidObject, shown

__all__ = ["Clock", "SystemClock", "format_time", "parse_time"]


class Clock(Protocol):
    """Tells the time. Nothing below the controllers may hold one."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        return time.time()


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def format_time(seconds: float) -> str:
    """The API server's form of a time: whole seconds, UTC, ``Z`` (metav1.Time).

    >>> format_time(0)
    '1970-01-01T00:00:00Z'
    """
    return _format_whole(int(seconds))


@functools.lru_cache(maxsize=4_096)
def _format_whole(seconds: int) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@functools.lru_cache(maxsize=65_536)
def parse_time(text: str) -> float:
    """Seconds since the Unix epoch of an RFC 3339 time; the fraction is kept.

    Raises:
        InvalidObject: the text is not an RFC 3339 time.

    >>> parse_time("1970-01-01T00:01:00Z")
    60.0
    """
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:  # a time of nobody's zone would be another one on every machine
        raise InvalidObject(f"{shown(text)} is not a time", accepted='a time such as "2026-01-05T09:00:00Z"')
    return (found - _EPOCH).total_seconds()
