"""The page on the life of a node shows the states and transitions that there are."""

from __future__ import annotations

from karpy.lifecycle.states import TRANSITIONS, State
from tests.lifecycle_page import COMMAND, PAGE, ROOT, drawing, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), f"{PAGE.relative_to(ROOT)} is stale: run `{COMMAND}`"


def test_the_site_shows_the_page() -> None:
    assert f": {PAGE.name}" in (ROOT / "mkdocs.yml").read_text()


def test_the_drawing_has_a_line_for_each_state_and_each_transition() -> None:
    lines = drawing(TRANSITIONS)
    assert [line for line in lines if not line.startswith(" ")] == [state.value for state in State]
    assert sum("─▶" in line for line in lines) == len(TRANSITIONS)
