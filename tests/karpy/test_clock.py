from __future__ import annotations

import pytest

from karpy.clock import SystemClock, format_time, parse_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-05T09:00:00Z", 1_767_603_600.0),
        ("2026-01-05T10:00:00+01:00", 1_767_603_600.0),
        ("2026-01-05T09:00:00.250000Z", 1_767_603_600.25),
    ],
)
def test_times_of_the_api_are_seconds_since_the_epoch(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


def test_times_are_written_in_whole_seconds_of_utc() -> None:
    assert format_time(1_767_603_600.9) == "2026-01-05T09:00:00Z"


def test_the_system_clock_goes_forward() -> None:
    clock = SystemClock()
    assert clock.now() <= clock.now()
