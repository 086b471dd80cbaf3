"""What is remembered by value is what would be worked out anew."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.sim.api.remembered import Remembered


class Counted:
    def __init__(self) -> None:
        self.calls = 0
        self.ask = Remembered(self._work_out, capacity=2)

    def _work_out(self, value: Any, extra: str = "") -> tuple[Any, str]:
        self.calls += 1
        if value == "bad":
            raise ValueError(value)
        return value, extra


def test_equal_values_are_worked_out_once_and_different_ones_apart() -> None:
    it = Counted()
    assert it.ask({"a": [1]}) == it.ask({"a": [1]}) == ({"a": [1]}, "")
    assert it.calls == 1
    assert it.ask({"a": [1]}, "x") == ({"a": [1]}, "x")
    assert it.ask({"a": [True]})[0] == {"a": [True]}
    assert it.calls == 3


def test_who_changes_a_value_later_changes_no_answer() -> None:
    it = Counted()
    value: dict[str, Any] = {"a": {"b": 1}}
    it.ask(value)
    value["a"]["b"] = 2
    assert it.ask({"a": {"b": 1}}) == ({"a": {"b": 1}}, "")
    assert it.ask(value) == ({"a": {"b": 2}}, "")


def test_errors_are_raised_each_time() -> None:
    it = Counted()
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            it.ask("bad")
    assert it.calls == 2


def test_what_is_no_json_is_worked_out_each_time() -> None:
    it = Counted()
    odd = object()
    assert it.ask(odd) == it.ask(odd) == (odd, "")
    assert it.calls == 2


def test_only_so_much_is_kept() -> None:
    it = Counted()
    for value in (1, 2, 3, 1):
        it.ask(value)
    assert it.calls == 4
