from __future__ import annotations

import pytest

from karpy.testing.clock import FakeClock
from karpy_aws.errors import AWSError
from karpy_aws.remembered import Answer, Remembered

REFUSED = AWSError("ec2:DescribeSubnets", "InternalError", status=500)


def refuse() -> str:
    raise REFUSED


def test_an_answer_is_good_for_a_while() -> None:
    clock = FakeClock()
    memory: Remembered[str] = Remembered(clock, 60)
    assert memory.ask("q", lambda: "a") == Answer("a")
    clock.advance(59)
    assert memory.ask("q", lambda: "b") == Answer("a")
    clock.advance(1)
    assert memory.ask("q", lambda: "b") == Answer("b")
    assert memory.ask("another question", lambda: "c") == Answer("c")


def test_an_old_answer_is_better_than_none_and_says_why_it_is_old() -> None:
    clock = FakeClock()
    memory: Remembered[str] = Remembered(clock, 60)
    memory.ask("q", lambda: "a")
    clock.advance(3600)
    assert memory.ask("q", refuse) == Answer("a", REFUSED)
    assert memory.ask("q", lambda: "b") == Answer("b")


def test_what_was_never_answered_fails() -> None:
    with pytest.raises(AWSError, match="ec2:DescribeSubnets"):
        Remembered[str](FakeClock(), 60).ask("q", refuse)
