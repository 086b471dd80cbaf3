"""The conformance pages say what the markers of the tests say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import (
    COMMAND,
    LENGTHS,
    PAGES,
    ROOT,
    SPECIFICATIONS,
    Mark,
    all_marks,
    covered_by,
    ids_of,
    marks_in,
    pages,
    render,
)
from tests.untested import UNTESTED


def marks_of(tmp_path: Path, source: str) -> list[Mark]:
    module = tmp_path / "test_it.py"
    module.write_text(source)
    return list(marks_in(module, tmp_path))


def test_every_marker_names_a_line_of_its_specification() -> None:
    assert [mark.problem for mark in all_marks() if mark.problem] == []


@pytest.mark.parametrize("marker", LENGTHS)
def test_every_number_has_a_test_or_a_reason_and_not_both(marker: str) -> None:
    covered, all_ids = covered_by(all_marks(), marker), ids_of(marker)
    reasons = {each for each in UNTESTED if each.startswith(f"{SPECIFICATIONS[marker]}-")}
    assert sorted(all_ids - covered.keys() - reasons) == [], "no test and no reason in tests/untested.py"
    assert sorted(covered.keys() & reasons) == [], "tested by now: remove their reasons from tests/untested.py"
    assert sorted((covered.keys() | reasons) - all_ids) == [], f"the specification ends at {max(all_ids)}"


def test_the_pages_are_up_to_date() -> None:
    wanted = pages(all_marks())
    stale = [page.name for page, text in wanted.items() if not page.exists() or page.read_text() != text]
    left_over = sorted({page.name for page in PAGES.glob("*.md")} - {page.name for page in wanted})
    assert not stale, f"{stale} in {PAGES.relative_to(ROOT)} differ from the tests' markers: run `{COMMAND}`"
    assert not left_over, f"no test refers to {left_over} in {PAGES.relative_to(ROOT)}: remove them"


def test_the_site_shows_every_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text()
    assert [page.name for page in pages(all_marks()) if f"conformance/{page.name}" not in nav] == []


def test_a_marker_among_the_parameters_of_a_test_counts(tmp_path: Path) -> None:
    source = (
        '@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.core("CORE-007"))])\ndef test_x(x): ...\n'
    )
    assert marks_of(tmp_path, source) == [Mark("core", "CORE-007", "test_it.py:1", "test_it.py::test_x")]


@pytest.mark.parametrize("marker", SPECIFICATIONS)
@pytest.mark.parametrize("argument", ["'CORE 1'", "'CORE-1'", "'XY-001'", "17", "name", ""])
def test_what_is_no_id_is_refused_by_file_and_line(tmp_path: Path, marker: str, argument: str) -> None:
    (mark,) = marks_of(tmp_path, f"@pytest.mark.{marker}({argument})\ndef test_x(): ...\n")
    assert mark.problem.startswith("test_it.py:1: ")
    assert f"'{SPECIFICATIONS[marker]}-001'" in mark.problem


def test_a_marker_that_decorates_no_test_is_refused(tmp_path: Path) -> None:
    (mark,) = marks_of(tmp_path, 'pytestmark = pytest.mark.core("CORE-001")\n')
    assert mark.problem == "test_it.py:1: the marker of CORE-001 decorates no test"


def test_ids_are_counted_by_the_hundred() -> None:
    page = render("core", {"CORE-101": ["b"], "CORE-001": ["a"], "CORE-002": ["a", "b"]})
    assert "| CORE-0xx | 2 |\n| CORE-1xx | 1 |\n| all | 3 |" in page
    assert "| CORE-002 | `a`<br>`b` |" in page


def test_numbers_without_a_test_are_there_with_the_reason() -> None:
    page = render("core", {"CORE-001": ["a"]}, {"CORE-003": "not here", "CORE-002": "nor there"})
    assert page.endswith("|---|---|\n| CORE-002 | nor there |\n| CORE-003 | not here |\n")
    assert "why" not in render("core", {"CORE-001": ["a"]})
