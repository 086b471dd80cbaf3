"""When something begins, again and again: the five fields of cron, or a word such as ``@daily``, in a time zone.

The form is that of Karpenter and of CronJobs; who wants a time zone names it beside the schedule. A day matches by its number or by
its weekday when both are restricted, and by both otherwise. Through clock changes it goes as Debian's cron does: what would begin
in an hour that is skipped begins at its end; in an hour that comes twice it begins once, unless it begins time and again in every
hour.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
import zoneinfo
from collections.abc import Mapping, Sequence

import attrs
from cronsim import CronSim, CronSimError

from karpy.errors import InvalidObject, shown

__all__ = ["Schedule"]

_WORDS: Mapping[str, str] = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Sequence[tuple[str, int, int, Mapping[str, int]]] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, {name: i for i, name in enumerate(_MONTHS, 1)}),
    ("day of week", 0, 6, {name: i for i, name in enumerate(_DAYS)}),
)
_ACCEPTED = f'five fields such as "*/5 9-17 * * mon-fri", or one of {", ".join(_WORDS)}'


@attrs.frozen
class Schedule:
    """The times at which something begins. ``fields`` are as the calendar reads them: days as plain numbers."""

    fields: str
    zone: dt.tzinfo = dt.UTC
    catches_up: bool = True
    """Whether what would begin in an hour that a clock change skips begins at its end. CronJobs leave it out."""

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def parse(cls, text: str, zone: str = "", *, catches_up: bool = True) -> Schedule:
        """``zone`` is a name such as ``Europe/Berlin``; without one it is UTC.

        Raises:
            InvalidObject: the text is no schedule, or the time zone is not known.

        >>> Schedule.parse("*/15 9-17 * * mon-fri").next_after(0.0)
        32400.0
        """
        place = _zone(zone)
        if text.startswith(("TZ=", "CRON_TZ=")):
            raise _refused(
                text, "names a time zone", accepted="five fields; the time zone is named beside the schedule"
            )
        words = _WORDS.get(text, text).split()
        if len(words) != len(_FIELDS):
            raise _refused(text, f"has {len(words)} fields")
        fields = " ".join(_field(text, word, *what) for word, what in zip(words, _FIELDS, strict=True))
        return cls(fields, place, catches_up)

    def next_after(self, time: float) -> float | None:
        """The first time after this one; None when no day is like that, or none in fifty years."""
        try:
            times = CronSim(self.fields, dt.datetime.fromtimestamp(math.floor(time), self.zone))
        except CronSimError:  # such as February 30
            return None
        for begin in times:
            # In an hour that comes twice the calendar cannot tell whether it is there for the first time.
            if begin.timestamp() > time and (self.catches_up or _is_shown(begin, times)):
                return begin.timestamp()
        return None


def _is_shown(begin: dt.datetime, times: CronSim) -> bool:
    """Whether the clock does show the time that was meant, and not the end of an hour that it skipped."""
    return begin.minute in times.minutes and begin.hour in times.hours


def _zone(name: str) -> dt.tzinfo:
    if name in ("", "UTC"):
        return dt.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidObject(f"unknown time zone {shown(name)}", accepted="a name such as Europe/Berlin") from None


def _refused(text: str, why: str, accepted: str = _ACCEPTED) -> InvalidObject:
    return InvalidObject(f"the schedule {shown(text)} {why}", accepted=accepted)


def _field(text: str, word: str, name: str, least: int, most: int, names: Mapping[str, int]) -> str:
    """The field as the calendar reads it. Both allow what the other does not, and think differently of stars among days."""
    found: set[int] = set()
    is_any = False
    for part in word.lower().split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        try:
            stride = _number(step) if slash else 1
            if span in ("*", "?"):
                low, high = least, most
                is_any |= stride == 1
            else:
                low = names[first] if first in names else _number(first)
                high = (names[last] if last in names else _number(last)) if dash else (most if slash else low)
        except ValueError:
            raise _refused(text, f"cannot be read at its {name}, {shown(word)}") from None
        if not (least <= low <= high <= most) or stride < 1:
            raise _refused(text, f"has no such {name} as {shown(word)}", f"{least} to {most}")
        found.update(range(low, high + 1, stride))
    if is_any:
        return "*"
    numbers = ",".join(map(str, sorted(found)))
    # A beginning star tells of something that happens often: it is kept to its hours through clock changes.
    return f"*/{stride}" if name in ("minute", "hour") and word[0] in "*?" and "," not in word else numbers


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)
