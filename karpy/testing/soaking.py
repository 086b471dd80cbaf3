"""Many trials, on all processors: how fast, with which faults, and what broke; what broke is made small before it is told."""

from __future__ import annotations

import functools
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

import attrs

from karpy.sim.faults import Fault
from karpy.sim.processes.process import Program
from karpy.testing.programs import name_of
from karpy.testing.shrinking import shrink
from karpy.testing.trials import MINUTES, Outcome, Trial, reference
from karpy.testing.venues import SIM

__all__ = ["Report", "command", "report_failure", "soak"]

_MOST_SHRUNK = 3
_CHUNK = 8


@attrs.frozen(kw_only=True)
class Report:
    """What came of many trials."""

    seeds: int
    virtual_s: float
    wall_s: float
    calls: int
    injected: Counter[Fault]
    failed: tuple[Trial, ...]

    def __str__(self) -> str:
        """Some lines for people."""
        faults = ", ".join(f"{fault.value} {count}" for fault, count in self.injected.most_common())
        speed = f"{self.seeds / self.wall_s:.1f} seeds/s, {self.virtual_s / self.wall_s:.0f} virtual seconds a second"
        return (
            f"{self.seeds} seeds, {self.virtual_s / 3600:.1f} virtual hours, {self.calls} calls in {self.wall_s:.1f} s: {speed}\n"
            f"faults injected: {sum(self.injected.values())} ({faults or 'none'})\n"
            f"violations: {len(self.failed)} of {self.seeds} seeds"
        )


def soak(
    seeds: Iterable[int],
    *,
    minutes: float = MINUTES,
    program: Program = reference,
    cloud: str = SIM,
    processes: int | None = None,
    tell: Callable[[str], None] = lambda _line: None,
) -> Report:
    """Play the trial of every seed. Failures are told as they are found, the first few of them shrunk.

    ``program`` must be a function of a module, for other processes to find it; with ``processes=1`` anything will do.
    """
    began = time.monotonic()
    play = functools.partial(_play, minutes=minutes, program=program, cloud=cloud)
    injected: Counter[Fault] = Counter()
    count, calls, failed = 0, 0, []
    for trial, outcome in _played(play, list(seeds), processes or os.cpu_count() or 1):
        count += 1
        calls += outcome.calls
        injected += outcome.injected
        if outcome.violations:
            failed.append(trial)
            tell(report_failure(trial, outcome, program, small=len(failed) <= _MOST_SHRUNK))
    return Report(
        seeds=count,
        virtual_s=count * minutes * 60,
        wall_s=time.monotonic() - began,
        calls=calls,
        injected=injected,
        failed=tuple(failed),
    )


def report_failure(trial: Trial, outcome: Outcome, program: Program = reference, *, small: bool = True) -> str:
    """What broke, and the one line that plays it again."""
    if small:
        trial, outcome = shrink(trial, program)
    told = "\n".join(f"  {violation}" for violation in outcome.violations)
    return f"{command(trial, program)}\n{told}"


def command(trial: Trial, program: Program = reference) -> str:
    """The line that plays a trial again."""
    named = "" if program is reference else f"--program {name_of(program) or 'MODULE:FUNCTION'} "
    return f"python -m karpy.testing {named}{trial}"


def _play(seed: int, minutes: float, program: Program, cloud: str) -> tuple[Trial, Outcome]:
    trial = Trial.draw(seed, minutes, cloud)
    return trial, trial.play(program)


def _played(
    play: Callable[[int], tuple[Trial, Outcome]], seeds: list[int], processes: int
) -> Iterator[tuple[Trial, Outcome]]:
    """In the order of the seeds, whoever played them."""
    if processes == 1 or len(seeds) < _CHUNK:
        yield from map(play, seeds)
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(play, seeds, chunksize=_CHUNK)
