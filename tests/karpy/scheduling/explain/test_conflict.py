from __future__ import annotations

from collections.abc import Callable
from typing import Any

from karpy.scheduling.explain.conflict import Question
from karpy.scheduling.explain.explanation import Constraint, ConstraintKind
from karpy.scheduling.explain.units import Unit


class Case:
    """A case of letters: ``excludes`` says whether those that are left keep the pod out."""

    def __init__(self, letters: str, excludes: Callable[[set[str]], bool], asked: list[str]) -> None:
        self.letters = letters
        self.excludes = excludes
        self.asked = asked

    def without(self, letter: str) -> Case:
        return Case(self.letters.replace(letter, ""), self.excludes, self.asked)

    def place(self) -> str | None:
        self.asked.append(self.letters)
        return None if self.excludes(set(self.letters)) else "somewhere"


def question(letters: str, excludes: Callable[[set[str]], bool]) -> Any:
    def unit(letter: str) -> Unit:
        constraint = Constraint(ConstraintKind.REQUEST, "pod", letter)
        return Unit(constraint, lambda case: case.without(letter), f"no {letter}")  # type: ignore[attr-defined]

    return Question(Case(letters, excludes, []), [unit(letter) for letter in letters])  # type: ignore[arg-type]


def conflict(asked: Any) -> str:
    return "".join(unit.constraint.text for unit in asked.conflict(asked.units))


def test_what_is_not_needed_is_left_out_and_the_rest_keeps_its_order() -> None:
    assert conflict(question("abcdefgh", lambda held: held >= {"b", "g"})) == "bg"
    assert conflict(question("abc", lambda _held: True)) == ""


def test_of_several_conflicts_one_is_found() -> None:
    assert conflict(question("abcd", lambda held: held >= {"a", "b"} or held >= {"c", "d"})) in ("ab", "cd")


def test_nothing_can_be_spared_even_where_less_is_not_always_better() -> None:
    # Without c, a alone excludes the pod; with it, only a and b together do.
    asked = question("abc", lambda held: "a" in held and ("b" in held or "c" not in held))
    found = conflict(asked)
    assert asked.place([unit for unit in asked.units if unit.constraint.text in found]) is None
    for letter in found:
        rest = [unit for unit in asked.units if unit.constraint.text in found.replace(letter, "")]
        assert asked.place(rest) is not None


def test_no_question_is_put_twice() -> None:
    asked = question("abcdefghijklmnop", lambda held: held >= {"c", "k"})
    conflict(asked)
    assert len(asked.case.asked) == len(set(asked.case.asked)) < 40


def test_as_much_is_kept_as_a_place_can_bear_the_first_things_first() -> None:
    asked = question("abcd", lambda held: held >= {"a", "b"} or held >= {"c", "d"})
    assert "".join(unit.constraint.text for unit in asked.grow([], asked.units)) == "ac"
