from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy.objects.duration import format_duration, parse_duration, parse_optional_duration


@pytest.mark.core("CORE-720")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("1h30m", 5400),
        ("720h", 2_592_000),
        ("1.5h", 5400),
        ("0", 0),
        ("0s", 0),
        ("100ms", 0.1),
        ("-5m", -300),
    ],
)
def test_durations_are_read_as_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.core("CORE-720")
@pytest.mark.parametrize("text", ["", "30", "1d", "1h 30m", "Never", "h", "1hx", "x1h"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidObject, match="is not a duration"):
        parse_duration(text)


@pytest.mark.core("CORE-720")
def test_never_is_no_number_of_seconds() -> None:
    assert parse_optional_duration("Never") is None
    assert parse_optional_duration("1m") == 60
    with pytest.raises(InvalidObject, match='or "Never"'):
        parse_optional_duration("never")


@pytest.mark.parametrize("text", ["720h", "1m30s", "1h1m1s", "0s", "Never"])
def test_printing_undoes_reading(text: str) -> None:
    assert format_duration(parse_optional_duration(text)) == text
