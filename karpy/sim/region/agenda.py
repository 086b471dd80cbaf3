"""What is going to happen in the simulated cloud, and the controller that lets it happen in time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Protocol

from karpy.clock import Clock
from karpy.controllers.base import DONE, Controller, Request, Result, Source

__all__ = ["Agenda", "CloudEvents"]

Action = Callable[[float], None]
"""It is told for when it was planned, which may have passed."""


class Agenda:
    """Actions by time; those of one time in the order in which they were planned."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Action]] = []
        self._planned = 0
        self._listeners: list[Callable[[float], None]] = []

    def plan(self, at: float, action: Action) -> None:
        self._planned += 1
        heapq.heappush(self._heap, (at, self._planned, action))
        for listener in self._listeners:
            listener(at)

    def next_time(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def catch_up(self, now: float) -> None:
        """Do what is due, and what that brings."""
        while self._heap and self._heap[0][0] <= now:
            at, _, action = heapq.heappop(self._heap)
            action(at)

    def on_plan(self, listener: Callable[[float], None]) -> None:
        """Call ``listener`` with the time of everything that is planned, beginning with the next of what is planned already."""
        self._listeners.append(listener)
        at = self.next_time()
        if at is not None:
            listener(at)


class _EventfulCloud(Protocol):
    def catch_up(self) -> float | None: ...

    def on_plan(self, listener: Callable[[float], None]) -> None: ...


class _Loop(Protocol):
    def add(self, controller: Controller) -> None: ...

    def wake(self, controller: Controller, request: Request, after_s: float = 0.0) -> None: ...


class CloudEvents:
    """Lets what a cloud has planned happen in its time, though nobody asks the cloud. While nothing is planned it sleeps."""

    name = "cloud"
    sources: Sequence[Source] = ()

    def __init__(self, cloud: _EventfulCloud, clock: Clock) -> None:
        self._cloud = cloud
        self._clock = clock

    def join(self, loop: _Loop) -> None:
        """Take part in ``loop``, and be woken when something is planned."""
        loop.add(self)
        self._cloud.on_plan(lambda at: loop.wake(self, Request(), at - self._clock.now()))

    def reconcile(self, _request: Request) -> Result:
        at = self._cloud.catch_up()
        return DONE if at is None else Result(at - self._clock.now())
