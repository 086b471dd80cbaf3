from __future__ import annotations

import threading

from karpy.errors import ProviderError
from karpy.testing.clock import FakeClock
from karpy_aws.turns import Turn, Turns


def test_a_turn_is_taken_when_it_is_due_and_not_before() -> None:
    clock, done = FakeClock(), []
    turns = Turns(clock, [Turn("a", 10, lambda: done.append("a")), Turn("b", 10, lambda: done.append("b"), first_s=5)])
    turns.take()
    turns.take()
    assert done == ["a"]
    clock.advance(5)
    turns.take()
    assert done == ["a", "b"]
    clock.advance(5)
    turns.take()
    assert done == ["a", "b", "a"]


def test_one_that_fails_is_told_and_tried_again_soon_and_the_others_have_their_turn() -> None:
    clock, done, told = FakeClock(), [], []

    def fail() -> None:
        done.append("tried")
        raise ProviderError("no")

    turns = Turns(
        clock,
        [Turn("bad", 3600, fail), Turn("good", 3600, lambda: done.append("good"))],
        lambda turn, error: told.append((turn.name, str(error))),
    )
    turns.take()
    assert (done, told) == (["tried", "good"], [("bad", "no")])
    clock.advance(60)
    turns.take()
    assert done == ["tried", "good", "tried"]


def test_who_comes_while_another_is_at_it_goes_on_at_once() -> None:
    clock, begun, go_on = FakeClock(), threading.Event(), threading.Event()
    done: list[int] = []

    def slow() -> None:
        done.append(1)
        begun.set()
        go_on.wait(10)

    turns = Turns(clock, [Turn("slow", 60, slow)])
    other = threading.Thread(target=turns.take)
    other.start()
    begun.wait(10)
    turns.take()
    assert done == [1]
    go_on.set()
    turns.take(wait=True)
    other.join()
    assert done == [1]
