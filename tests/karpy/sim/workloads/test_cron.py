from __future__ import annotations

import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy.errors import InvalidObject
from karpy.sim.workloads.cron import Schedule


def times(text: str, after: str, count: int, zone: str | None = None) -> list[str]:
    """The next times, as UTC without seconds."""
    schedule, found = Schedule.parse(text, zone), []
    at: float | None = dt.datetime.fromisoformat(after + "+00:00").timestamp()
    for _ in range(count):
        assert at is not None
        at = schedule.next_after(at)
        assert at is not None
        found.append(dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%dT%H:%M"))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*/20 * * * *", ["2026-01-05T09:20", "2026-01-05T09:40", "2026-01-05T10:00"]),
        ("5,7 9-10 * * *", ["2026-01-05T09:05", "2026-01-05T09:07", "2026-01-05T10:05"]),
        ("0 0 1 jan,mar *", ["2026-03-01T00:00", "2027-01-01T00:00", "2027-03-01T00:00"]),
        ("30 8 * * mon-fri", ["2026-01-06T08:30", "2026-01-07T08:30", "2026-01-08T08:30"]),
        ("0 0 13 * fri", ["2026-01-09T00:00", "2026-01-13T00:00", "2026-01-16T00:00"]),
        ("50/5 9 * * ?", ["2026-01-05T09:50", "2026-01-05T09:55", "2026-01-06T09:50"]),
        ("@hourly", ["2026-01-05T10:00", "2026-01-05T11:00", "2026-01-05T12:00"]),
        ("@weekly", ["2026-01-11T00:00", "2026-01-18T00:00", "2026-01-25T00:00"]),
    ],
)
def test_fields_names_steps_and_words(text: str, expected: list[str]) -> None:
    assert times(text, "2026-01-05T09:00", 3) == expected


def test_a_day_that_never_comes_is_never_due() -> None:
    assert Schedule.parse("0 0 30 2 *").next_after(0.0) is None


def test_the_time_zone_counts_and_a_clock_change_skips_or_does_once() -> None:
    assert times("30 2 * * *", "2026-03-28T00:00", 3, "Europe/Berlin") == [
        "2026-03-28T01:30",
        "2026-03-30T00:30",  # the 29th had no half past two
        "2026-03-31T00:30",
    ]
    assert times("30 2 * * *", "2026-10-24T12:00", 2, "Europe/Berlin") == ["2026-10-25T00:30", "2026-10-26T01:30"]


@pytest.mark.parametrize(
    "text", ["", "* * * *", "60 * * * *", "* * * * mon-sun", "a * * * *", "*/0 * * * *", "TZ=UTC * * * * *"]
)
def test_what_is_no_schedule_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidObject, match="schedule"):
        Schedule.parse(text)


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InvalidObject, match="unknown time zone Nowhere"):
        Schedule.parse("* * * * *", "Nowhere")


@given(st.integers(0, 59), st.integers(0, 23), st.integers(0, 2_000_000_000))
def test_times_are_ordered_and_each_is_the_first_after_the_one_before(minute: int, hour: int, start: int) -> None:
    schedule = Schedule.parse(f"{minute} {hour} * * *")
    found = [float(start)]
    for _ in range(3):
        later = schedule.next_after(found[-1])
        assert later is not None
        found.append(later)
    assert all(0 < later - earlier <= 86_400 for earlier, later in pairwise(found))
    assert all((int(at) // 60 % 60, int(at) // 3600 % 24) == (minute, hour) for at in found[1:])
