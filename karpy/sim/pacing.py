"""A loop on the wall clock: time passes so many times as fast as there, and what others do wakes it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from karpy.sim.clock import VirtualClock
from karpy.sim.loop import Loop

__all__ = ["run_paced"]

_STOP_CHECK_S = 0.2


def run_paced(
    loop: Loop,
    clock: VirtualClock,
    speed: float,
    stop: threading.Event,
    woken: threading.Event,
    wall: Callable[[], float] = time.monotonic,
) -> None:
    """Run ``loop`` until ``stop`` is set. ``woken`` is set by others when there is something to take in.

    Between timers and that, this thread sleeps.
    """
    start, origin = wall(), clock.now()

    def pace() -> float:
        return origin + (wall() - start) * speed

    try:
        while not stop.is_set():
            woken.clear()
            loop.run_ready()
            _sleep(loop, clock, pace, speed, woken, stop)
    finally:
        clock.freeze()


def _sleep(
    loop: Loop,
    clock: VirtualClock,
    pace: Callable[[], float],
    speed: float,
    woken: threading.Event,
    stop: threading.Event,
) -> None:
    """Until the next timer, something to take in, or the end."""
    due = loop.next_time()
    clock.follow(pace, float("inf") if due is None else due)
    while not stop.is_set():
        left_s = _STOP_CHECK_S if due is None else (due - pace()) / speed
        if left_s <= 0 or woken.wait(min(left_s, _STOP_CHECK_S)):
            break
    clock.freeze()
