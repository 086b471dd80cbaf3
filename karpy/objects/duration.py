"""Durations as the API writes them: Go's ``1h30m`` form, or ``Never``."""

from __future__ import annotations

import functools
import re

from karpy.errors import InvalidObject, shown

__all__ = ["NEVER", "format_duration", "parse_duration", "parse_optional_duration"]

NEVER = "Never"

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_TERM = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)", re.ASCII)


@functools.lru_cache(maxsize=4096)
def parse_duration(text: str) -> float:
    """Seconds.

    Raises:
        InvalidObject: not a duration.

    >>> parse_duration("1h30m")
    5400.0
    """
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0.0
    terms = list(_TERM.finditer(body))
    if not terms or "".join(term[0] for term in terms) != body:
        raise InvalidObject(f"{shown(text)} is not a duration", accepted='a duration such as "30s", "1h30m" or "720h"')
    seconds = sum(float(term[1]) * _UNITS[term[2]] for term in terms)
    return -seconds if text.startswith("-") else seconds


def parse_optional_duration(text: str) -> float | None:
    """Seconds, or None for ``Never``."""
    if text == NEVER:
        return None
    try:
        return parse_duration(text)
    except InvalidObject as error:
        raise InvalidObject(error.problem, accepted=f'{error.accepted}, or "{NEVER}"') from None


def format_duration(seconds: float | None) -> str:
    """The API's form of whole seconds; None is ``Never``.

    >>> format_duration(2592000), format_duration(90), format_duration(None)
    ('720h', '1m30s', 'Never')
    """
    if seconds is None:
        return NEVER
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    parts = ((hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{amount}{unit}" for amount, unit in parts if amount) or "0s"
