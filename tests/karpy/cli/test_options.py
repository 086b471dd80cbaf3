from __future__ import annotations

import pytest

from karpy.cli.bad_input import BadInput
from karpy.cli.options import parse_seconds


def test_a_duration_is_seconds_and_no_option_is_none() -> None:
    assert parse_seconds("--until", "1h30m") == 5400.0
    assert parse_seconds("--until", None) is None


@pytest.mark.parametrize("text", ["-3m", "0s", "soon", ""])
def test_what_is_no_time_ahead_names_the_option_and_what_is_accepted(text: str) -> None:
    with pytest.raises(BadInput, match=r"^--until: .*accepted"):
        parse_seconds("--until", text)
