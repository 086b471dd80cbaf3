"""When a cron schedule is due: five fields, names, steps and ranges, and words such as ``@hourly``, in a time zone.

Source: the schedules of CronJob. A day matches by the day of the month or by that of the week when both are restricted, and by both
otherwise. In the hour that a clock change skips nothing is due; in the hour that it repeats, each time is due once.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Mapping, Sequence

import attrs

from karpy.errors import InvalidObject

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
_FARTHEST_DAYS = 366 * 5
"""Beyond this there is no day such as February 30 at all."""


@attrs.frozen
class Schedule:
    """The minutes at which something is due."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool
    zone: dt.tzinfo = dt.UTC

    @classmethod
    def parse(cls, text: str, zone: str | None = None) -> Schedule:
        """Raises:
        InvalidObject: the text is no schedule, or the time zone is not known.

        >>> Schedule.parse("*/15 9-17 * * mon-fri").next_after(0.0)
        32400.0
        """
        if text.startswith(("TZ=", "CRON_TZ=")):
            raise _refused(text, "names a time zone", accepted="the zone in spec.timeZone")
        fields = _WORDS.get(text, text).split()
        if len(fields) != len(_FIELDS):
            raise _refused(text, f"has {len(fields)} fields")
        minutes, hours, days, months, weekdays = (
            _field(text, word, *what) for word, what in zip(fields, _FIELDS, strict=True)
        )
        any_day, any_weekday = (fields[i][0] in "*?" for i in (2, 4))
        place = dt.UTC if zone is None else _zone(zone)
        return cls(minutes, hours, days, months, weekdays, any_day, any_weekday, place)

    def next_after(self, time: float) -> float | None:
        """The first time after this one; None when there is none."""
        local = dt.datetime.fromtimestamp(time, self.zone)
        for offset in range(_FARTHEST_DAYS):
            day = local.date() + dt.timedelta(days=offset)
            if self._has_day(day):
                for due in self._times_on(day):
                    if due > time:
                        return due
        return None

    def _has_day(self, day: dt.date) -> bool:
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        either = not (self.any_day or self.any_weekday)
        return day.month in self.months and (in_month or in_week if either else in_month and in_week)

    def _times_on(self, day: dt.date) -> list[float]:
        found = []
        for hour in self.hours:
            for minute in self.minutes:
                local = dt.datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
                stamp = local.timestamp()
                if dt.datetime.fromtimestamp(stamp, self.zone).hour == hour:  # the clock does show that hour on the day
                    found.append(stamp)
        return sorted(found)


def _zone(name: str) -> dt.tzinfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidObject(f"unknown time zone {name}", accepted="a name such as Europe/Berlin") from None


def _refused(
    text: str, why: str, accepted: str = 'five fields such as "*/5 9-17 * * mon-fri", or @hourly'
) -> InvalidObject:
    return InvalidObject(f"the schedule {text!r} {why}", accepted=accepted)


def _field(text: str, word: str, name: str, least: int, most: int, names: Mapping[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in word.lower().split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        try:
            if span in ("*", "?"):
                low, high = least, most
            else:
                low = names[first] if first in names else int(first)
                high = (names[last] if last in names else int(last)) if dash else (most if step else low)
            stride = int(step) if step else 1
        except ValueError:
            raise _refused(text, f"cannot be read at its {name}, {word!r}") from None
        if not (least <= low <= high <= most) or stride < 1:
            raise _refused(text, f"has no such {name} as {word!r}", f"{least} to {most}")
        found.update(range(low, high + 1, stride))
    return frozenset(found)
