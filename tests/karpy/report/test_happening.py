from __future__ import annotations

import json

from karpy.report.happening import Happening, What, clock_text

START = 1_000_000.0


def test_json_gives_time_kind_and_fields() -> None:
    line = Happening(START + 1.23456, What.NODE_READY, "n1 (m5.large)", {"node": "n1"}).to_json(START)
    assert json.loads(line) == {
        "time": "1970-01-12T13:46:41Z",
        "seconds": 1.235,
        "event": "node-ready",
        "node": "n1",
        "text": "n1 (m5.large)",
    }
    assert "\n" not in line


def test_a_line_gives_the_time_since_the_start() -> None:
    assert Happening(START + 61, What.NOTE, "hello").to_line(START).split() == ["01:01", "note", "hello"]


def test_hours_are_told_in_minutes() -> None:
    assert clock_text(3_725) == "62:05"
