"""How things are measured here: several runs, the median of them, one table, and JSON for whoever compares."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import attrs


@attrs.frozen
class Measure:
    """``n`` is the number of runs that ``value`` is the median of; ``better`` is ``higher`` or ``lower``."""

    name: str
    value: float
    unit: str
    n: int
    better: str


def seconds(run: Callable[[], object]) -> float:
    """Wall seconds of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def rate(name: str, unit: str, count: int, run: Callable[[], object], *, runs: int = 5) -> Measure:
    """``count`` things a second."""
    return Measure(name, statistics.median(count / seconds(run) for _ in range(runs)), unit, runs, "higher")


def duration(name: str, run: Callable[[], float], *, runs: int = 5) -> Measure:
    """Milliseconds of something that takes its own time in seconds."""
    return Measure(name, statistics.median(run() * 1000 for _ in range(runs)), "ms", runs, "lower")


def render(measures: Iterable[Measure]) -> str:
    measures = list(measures)
    width = max((len(each.name) for each in measures), default=0) + 1
    lines = [f"{'benchmark':<{width}}{'value':>12}  {'unit':<16}{'n':>3}"]
    lines += [
        f"{each.name:<{width}}{each.value:>12,.{2 if each.unit == 'exponent' else 1}f}  {each.unit:<16}{each.n:>3}"
        for each in measures
    ]
    return "\n".join(lines)


def write(path: Path, measures: Iterable[Measure]) -> None:
    path.write_text(json.dumps([attrs.asdict(each) for each in measures], indent=2) + "\n")
