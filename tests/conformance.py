"""Which tests cover which line of the specifications: one page a specification, made from the tests' markers.

``python -m tests.conformance`` writes the pages; ``tests/test_conformance.py`` fails when one of them is stale. What no test
covers, and why, is in ``tests/untested.py``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import attrs

from tests.untested import UNTESTED

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
PAGES = ROOT / "docs" / "conformance"
SPECIFICATIONS = {"core": "CORE", "aws": "AWS", "azure": "AZ"}  # the marker, and how its IDs begin
LENGTHS = {"aws": 250}
"""How many numbers a specification has, where every one must have a test or a reason."""
COMMAND = "python -m tests.conformance"


@attrs.frozen
class Mark:
    """One ID of one marker. ``where`` is file and line; ``test`` is empty when the marker decorates no test."""

    marker: str
    id: str
    where: str
    test: str

    @property
    def problem(self) -> str:
        """What is wrong with the marker, or nothing."""
        prefix = SPECIFICATIONS[self.marker]
        if not re.fullmatch(rf"{prefix}-\d{{3}}", self.id):
            return f"{self.where}: {self.id} is no ID of {self.marker} (accepted: text like '{prefix}-001')"
        return "" if self.test else f"{self.where}: the marker of {self.id} decorates no test"


def marks_in(path: Path, root: Path = ROOT) -> Iterator[Mark]:
    """Every mark of a test module, those among the parameters of a test too."""
    tree = ast.parse(path.read_text())
    name = path.relative_to(root).as_posix()
    tests = {id(node): test for test, decorators in _decorated(tree) for part in decorators for node in ast.walk(part)}
    for node in ast.walk(tree):
        marker = _marker(node)
        if isinstance(node, ast.Call) and marker in SPECIFICATIONS:
            for argument in node.args or [ast.Constant("")]:
                test = tests.get(id(node), "")
                yield Mark(marker, _id(argument), f"{name}:{node.lineno}", f"{name}::{test}" if test else "")


def _decorated(tree: ast.Module) -> Iterator[tuple[str, list[ast.expr]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name[:4].lower() == "test":
            yield node.name, node.decorator_list


def _marker(node: ast.AST) -> str:
    """``core`` of ``pytest.mark.core(...)``; nothing for any other expression."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr if ast.unparse(node.func.value) == "pytest.mark" else ""
    return ""


def _id(argument: ast.expr) -> str:
    """The text of the argument; its source where it is no plain text, which no ID looks like."""
    return (
        argument.value
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        else ast.unparse(argument)
    )


def all_marks() -> list[Mark]:
    return [mark for path in sorted(TESTS.rglob("test_*.py")) for mark in marks_in(path)]


def covered_by(marks: Iterable[Mark], marker: str) -> dict[str, set[str]]:
    """The tests of each ID."""
    covered: dict[str, set[str]] = {}
    for mark in marks:
        if mark.marker == marker and not mark.problem:
            covered.setdefault(mark.id, set()).add(mark.test)
    return covered


def ids_of(marker: str) -> set[str]:
    """All that the specification has, where that is known."""
    return {f"{SPECIFICATIONS[marker]}-{number:03}" for number in range(1, LENGTHS.get(marker, 0) + 1)}


def pages(marks: Iterable[Mark]) -> dict[Path, str]:
    """The text of the page of each specification that tests refer to."""
    found = list(marks)
    texts: dict[Path, str] = {}
    for marker, prefix in SPECIFICATIONS.items():
        reasons = {each: reason for each, reason in UNTESTED.items() if each.startswith(f"{prefix}-")}
        if covered := covered_by(found, marker):
            texts[PAGES / f"{marker}.md"] = render(marker, covered, reasons)
    return texts


def render(marker: str, covered: Mapping[str, Iterable[str]], reasons: Mapping[str, str] | None = None) -> str:
    """The page: how many IDs of each hundred are covered, the tests of each ID, and why others have none."""
    hundreds: dict[str, int] = {}
    for each in sorted(covered):
        hundreds[f"{each[:-2]}xx"] = hundreds.get(f"{each[:-2]}xx", 0) + 1
    return "\n".join(
        [
            f"# Conformance: {marker}",
            "",
            f"Each test that carries the marker `{marker}` names the numbered behaviours that it covers. A number without a row",
            f"is not claimed. `{COMMAND}` makes this page from the tests.",
            "",
            "| numbers | covered |",
            "|---|---|",
            *(f"| {hundred} | {count} |" for hundred, count in hundreds.items()),
            f"| all | {len(covered)} |",
            "",
            "| number | tests |",
            "|---|---|",
            *(f"| {each} | {_listed(covered[each])} |" for each in sorted(covered)),
            *_untested(reasons or {}),
            "",
        ]
    )


def _untested(reasons: Mapping[str, str]) -> list[str]:
    rows = [f"| {each} | {reasons[each]} |" for each in sorted(reasons)]
    return ["", "| number | why no test claims it |", "|---|---|", *rows] if rows else []


def _listed(tests: Iterable[str]) -> str:
    return "<br>".join(f"`{test.removeprefix('tests/')}`" for test in sorted(tests))


def main() -> None:
    marks = all_marks()
    problems = [mark.problem for mark in marks if mark.problem]
    if problems:
        raise SystemExit("\n".join(problems))
    PAGES.mkdir(exist_ok=True)
    for page, text in pages(marks).items():
        page.write_text(text)


if __name__ == "__main__":
    main()
