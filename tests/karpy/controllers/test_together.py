from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from karpy.controllers.together import InThreads, one_by_one
from karpy.errors import InvalidObject


@pytest.fixture
def abreast() -> Iterator[InThreads]:
    pool = InThreads(4)
    yield pool
    pool.close()


def test_one_by_one_keeps_the_order_and_this_thread() -> None:
    names: list[str] = []
    calls = [lambda name=name: names.append(threading.current_thread().name) or name for name in "abc"]
    assert one_by_one(calls) == ["a", "b", "c"]
    assert set(names) == {threading.current_thread().name}


def test_in_threads_calls_are_under_way_at_the_same_time(abreast: InThreads) -> None:
    everyone = threading.Barrier(4, timeout=30)
    assert abreast([lambda number=number: (everyone.wait(), number)[1] for number in range(4)]) == [0, 1, 2, 3]


def test_no_more_are_under_way_than_there_are_threads() -> None:
    at_once, most, lock = 0, 0, threading.Lock()

    def call() -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        with lock:
            at_once -= 1

    pool = InThreads(2)
    pool([call] * 50)
    pool.close()
    assert 1 <= most <= 2


def test_what_one_raises_is_raised_when_the_others_are_through(abreast: InThreads) -> None:
    done: list[int] = []

    def call(number: int) -> None:
        if number == 0:
            raise KeyError(number)
        done.append(number)

    with pytest.raises(KeyError):
        abreast([lambda number=number: call(number) for number in range(10)])
    assert sorted(done) == list(range(1, 10))


def test_there_must_be_a_thread() -> None:
    with pytest.raises(InvalidObject, match="one or more"):
        InThreads(0)
