from __future__ import annotations

import pytest

from karpy.scheduling.explain.values import distinct, first_that, last_that, readable


@pytest.mark.parametrize(
    ("name", "amount", "up", "text"),
    [
        ("memory", 1288490189, True, "1.3Gi"),
        ("memory", 1288490189, False, "1.2Gi"),
        ("memory", 3 * 1024**3, True, "3Gi"),
        ("memory", 100, True, "100"),
        ("ephemeral-storage", 5 * 1024**2 + 1, True, "5.1Mi"),
        ("cpu", 1500, True, "1500m"),
        ("nodes", 2, True, "2"),
    ],
)
def test_amounts_of_bytes_are_rounded_so_that_what_is_said_holds(name: str, amount: int, up: bool, text: str) -> None:
    assert readable(name, amount, up=up) == text


def test_thresholds_are_found_by_halving() -> None:
    assert last_that([1, 3, 5, 7], lambda each: each <= 5) == 5
    assert last_that([1, 3], lambda each: each < 1) is None
    assert first_that(range(2, 100), lambda each: each >= 41) == 41
    assert first_that([], lambda _each: True) is None


def test_things_that_cannot_be_hashed_can_still_be_told_apart() -> None:
    assert distinct([{"a": 1}, {"b": 1}, {"a": 1}]) == [{"a": 1}, {"b": 1}]
