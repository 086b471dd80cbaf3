"""Calls that do not depend on each other go out together: in a few threads in production, one after another in the world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Protocol, TypeVar

from karpy.errors import InvalidObject

__all__ = ["InThreads", "Together", "one_by_one"]

T = TypeVar("T")


class Together(Protocol):
    """Makes all of these calls, and answers what each answered, in their order.

    What one raises does not keep the others from being made, as far as they go out at once. Who wants to go on after a failure lets
    the call answer it.
    """

    def __call__(self, calls: Sequence[Callable[[], T]], /) -> list[T]: ...


def one_by_one(calls: Sequence[Callable[[], T]], /) -> list[T]:
    """In their order, each when the last has answered: the same every time."""
    return [call() for call in calls]


class InThreads:
    """Up to ``most`` calls at a time, each in the context of who asked for it. Threads are started when they are first needed."""

    def __init__(self, most: int = 10) -> None:
        if most < 1:
            raise InvalidObject(f"found {most}", path="most", object_name="InThreads", accepted="one or more")
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="karpy-together")

    def __call__(self, calls: Sequence[Callable[[], Any]], /) -> list[Any]:
        if len(calls) < 2:
            return one_by_one(calls)
        under_way = [self._pool.submit(copy_context().run, call) for call in calls]
        failed = [error for each in under_way if (error := each.exception()) is not None]
        if failed:
            raise failed[0]
        return [each.result() for each in under_way]

    def close(self) -> None:
        """End the threads once their calls are made."""
        self._pool.shutdown()
