from __future__ import annotations

import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy.errors import InvalidObject
from karpy.objects.schedule import Schedule

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca")


def times(text: str, after: str, count: int, zone: str = "", *, catches_up: bool = True) -> list[str]:
    """The next times, as UTC without seconds."""
    schedule, found = Schedule.parse(text, zone, catches_up=catches_up), []
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


def test_the_time_zone_counts() -> None:
    assert times("0 9 * * *", "2026-03-27T12:00", 3, "Europe/Berlin") == [
        "2026-03-28T08:00",
        "2026-03-29T07:00",
        "2026-03-30T07:00",
    ]
    assert times("0 9 * * mon", "2026-01-05T00:00", 1, "Pacific/Auckland") == ["2026-01-11T20:00"]
    assert times("0 9 * * *", "2026-01-05T00:00", 1, "UTC") == times("0 9 * * *", "2026-01-05T00:00", 1)


def test_what_would_begin_in_an_hour_that_is_skipped_begins_at_its_end() -> None:
    """In Berlin the clock goes from 1:59 to 3:00 on 29 March 2026, at one o'clock UTC."""
    assert times("30 2 * * *", "2026-03-28T12:00", 2, "Europe/Berlin") == ["2026-03-29T01:00", "2026-03-30T00:30"]
    assert times("*/20 2 * * *", "2026-03-28T12:00", 1, "Europe/Berlin") == ["2026-03-30T00:00"]  # hour 2 was not there
    assert times("*/30 * * * *", "2026-03-29T00:00", 3, "Europe/Berlin") == [
        "2026-03-29T00:30",
        "2026-03-29T01:00",
        "2026-03-29T01:30",
    ]


def test_or_it_is_left_out() -> None:
    left_out = times("30 2 * * *", "2026-03-28T12:00", 2, "Europe/Berlin", catches_up=False)
    assert left_out == ["2026-03-30T00:30", "2026-03-31T00:30"]
    assert times("0 3 * * *", "2026-03-28T12:00", 1, "Europe/Berlin", catches_up=False) == ["2026-03-29T01:00"]


def test_in_an_hour_that_comes_twice_it_begins_once_unless_it_begins_in_every_hour() -> None:
    """In Berlin it is two o'clock at midnight and at one o'clock UTC on 25 October 2026."""
    assert times("30 2 * * *", "2026-10-24T12:00", 2, "Europe/Berlin") == ["2026-10-25T00:30", "2026-10-26T01:30"]
    for again in ("2026-10-25T00:31", "2026-10-25T01:00", "2026-10-25T01:15"):
        assert times("30 2 * * *", again, 1, "Europe/Berlin") == ["2026-10-26T01:30"]
    assert times("*/30 * * * *", "2026-10-25T00:00", 4, "Europe/Berlin") == [
        "2026-10-25T00:30",
        "2026-10-25T01:00",
        "2026-10-25T01:30",
        "2026-10-25T02:00",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 */10 * mon", ["2026-01-11", "2026-01-12", "2026-01-19"]),  # every tenth day, and Mondays
        ("0 0 1 * *,mon", ["2026-02-01", "2026-03-01", "2026-04-01"]),  # any weekday is no restriction
        ("0 0 ? * 1/3", ["2026-01-08", "2026-01-12", "2026-01-15"]),
        ("0 0 29 feb *", ["2028-02-29", "2032-02-29", "2036-02-29"]),
    ],
)
def test_days_are_read_as_karpenter_reads_them(text: str, expected: list[str]) -> None:
    assert times(text, "2026-01-05T09:00", 3) == [f"{day}T00:00" for day in expected]


def test_a_moment_within_a_second_counts() -> None:
    schedule = Schedule.parse("* * * * *")
    assert (schedule.next_after(59.5), schedule.next_after(60.0), schedule.next_after(60.5)) == (60.0, 120.0, 120.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "60 * * * *",
        "* * * * mon-sun",
        "a * * * *",
        "*/0 * * * *",
        "TZ=UTC * * * * *",
        "CRON_TZ=UTC * * * * *",
        "@never",
        "* * * * * *",
        "0 0 L * *",
        "0 0 * * 7",
        "0 0 * * 1#2",
        "_1 * * * *",
        "5-1 * * * *",
        "* * ² * *",
    ],
)
def test_what_is_no_schedule_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidObject, match="schedule"):
        Schedule.parse(text)


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InvalidObject, match="unknown time zone 'Nowhere'"):
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


@given(st.integers(0, 59), st.integers(0, 23), st.sampled_from(ZONES), st.integers(0, 2_000_000_000))
def test_in_every_time_zone_something_daily_begins_once_a_day(minute: int, hour: int, zone: str, start: int) -> None:
    schedule, found = Schedule.parse(f"{minute} {hour} * * *", zone), float(start)
    for _ in range(4):
        later = schedule.next_after(found)
        assert later is not None
        assert found < later <= found + 26 * 3600
        found = later
