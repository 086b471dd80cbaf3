"""Budgets: how many nodes of a pool may be disrupted at once, when, and for which reasons.

In Karpenter schedules are in UTC. A pool of karpy may name another time zone for its own, in the annotation `TIME_ZONE`.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from typing import Final

import attrs

from karpy.clock import format_time
from karpy.errors import InvalidObject, shown
from karpy.objects.duration import format_duration
from karpy.objects.schedule import Schedule

__all__ = ["ALWAYS", "TIME_ZONE", "Budget", "Window", "budget_time_zone"]

TIME_ZONE: Final = "karpy.dev/budget-time-zone"

_AMOUNT = re.compile(r"([+-]?[0-9]{1,18})(%?)", re.ASCII)
_LINKS = 100
"""A window grows when the schedule begins another before it ends. So often that is followed; what is known by then is enough."""
_END_OF_TIME = 253_402_300_799.0  # the last second that has a date


@attrs.frozen
class Window:
    """From ``opens`` until before ``closes`` a budget holds. ``or_later``: it is not known how much longer it is than that."""

    opens: float = -math.inf
    closes: float = math.inf
    or_later: bool = False

    def contains(self, time: float) -> bool:
        return self.opens <= time < self.closes

    @property
    def end(self) -> str:
        """``until …``, or nothing where it does not end."""
        later = " or later" if self.or_later else ""
        return f"until {_date(self.closes)}{later}" if self.closes < math.inf else ""

    def __str__(self) -> str:
        since = f"from {_date(self.opens)}" if self.opens > -math.inf else ""
        return " ".join(part for part in (since, self.end) if part) or "always"


ALWAYS: Final = Window()


@attrs.frozen
class Budget:
    """At most ``nodes`` (a count or a percentage) may be disrupted at once, while the schedule holds, for these reasons.

    ``reasons`` None means every reason. ``time_zone`` is that of the schedule; empty for UTC. Without an API server in between
    anything may stand in ``nodes`` and ``schedule``: it is read when somebody asks.
    """

    nodes: str = "10%"
    schedule: str | None = None
    duration_s: float | None = None
    reasons: tuple[str, ...] | None = None
    time_zone: str = ""

    def concerns(self, reason: str | None) -> bool:
        """Whether it limits disruption for this reason; None: for one that budgets cannot name."""
        return self.reasons is None or reason in self.reasons

    def count(self, nodes: int) -> int:
        """How many of so many nodes it lets go; a percentage is rounded up.

        Raises:
            InvalidObject: ``nodes`` is neither a number nor a percentage.

        >>> Budget("10%").count(11), Budget("3").count(11)
        (2, 3)
        """
        found = _AMOUNT.fullmatch(self.nodes)
        if found is None:
            raise InvalidObject(f"found {shown(self.nodes)}", path="nodes", accepted='a number such as "10", or "10%"')
        amount = int(found[1])
        return math.ceil(amount * nodes / 100) if found[2] else amount

    def window(self, now: float) -> Window:
        """The window that is open, or else the next one.

        It is open when the first beginning within its duration before now has come (core specification 5.3).

        Raises:
            InvalidObject: the schedule cannot be read, or never begins.

        >>> str(Budget("0", "0 9 * * mon-fri", 8 * 3600.0).window(0.0))
        'from 1970-01-01T09:00:00Z until 1970-01-01T17:00:00Z'
        """
        if self.schedule is None:
            return ALWAYS
        try:
            schedule = Schedule.parse(self.schedule, self.time_zone)
        except InvalidObject as error:
            raise error.at(path="schedule") from None
        duration = self.duration_s or 0.0
        opens = schedule.next_after(max(now - duration, 0.0))
        if opens is None:
            problem = f"found {shown(self.schedule)}, a day that never comes"
            raise InvalidObject(problem, path="schedule", accepted="a day that there is in some year")
        return _window(schedule, duration, opens)

    def __str__(self) -> str:
        parts = [f"nodes={self.nodes}"]
        if self.reasons is not None:
            parts.append(f"reasons={','.join(self.reasons)}")
        if self.schedule is not None:
            parts.append(f'schedule="{self.schedule}" duration={format_duration(self.duration_s or 0.0)}')
        if self.schedule is not None and self.time_zone:
            parts.append(f"in {self.time_zone}")
        return " ".join(parts)


@functools.lru_cache(maxsize=4096)
def _window(schedule: Schedule, duration: float, opens: float) -> Window:
    """The window that opens then, with all those that begin before it is over."""
    closes = opens + duration
    for _ in range(_LINKS):
        again = schedule.next_after(closes - duration)
        if again is None or again > closes:
            return Window(opens, closes)
        closes = again + duration
    return Window(opens, closes, or_later=True)


def budget_time_zone(annotations: Mapping[str, str]) -> str:
    """The time zone of a pool's schedules; empty, which is UTC, where the annotation is not there.

    Raises:
        InvalidObject: no such time zone is known.

    >>> budget_time_zone({TIME_ZONE: "Europe/Berlin"})
    'Europe/Berlin'
    """
    name = annotations.get(TIME_ZONE, "")
    try:
        Schedule.parse("@daily", name)
    except InvalidObject as error:
        raise error.at(path=f"metadata.annotations[{TIME_ZONE}]") from None
    return name


def _date(time: float) -> str:
    return format_time(min(time, _END_OF_TIME))
