"""Bringing a failing trial down to what it takes to fail."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from karpy.sim.processes.process import Program
from karpy.testing.trials import Outcome, Trial, reference

__all__ = ["shrink"]

MOST_TRIES = 400


def shrink(trial: Trial, program: Program = reference, *, most_tries: int = MOST_TRIES) -> tuple[Trial, Outcome]:
    """The smallest trial found that breaks an invariant which ``trial`` breaks too, and what comes of it.

    What does not fail is given back as it is. Each step plays a trial with something less in it, and goes on from the first that
    still fails: so of what is left nothing can be left out.
    """
    outcome = trial.play(program)
    if not outcome.violations:
        return trial, outcome
    search = _Search(trial, outcome, lambda each: each.play(program), most_tries)
    # First by plan: what came by chance comes at other calls as soon as anything is different.
    search.try_one(attrs.evolve(trial, faults=trial.faults.by_plan(outcome.happened)))
    while search.step():
        pass
    return search.trial, search.outcome


@attrs.define
class _Search:
    """The smallest failing trial so far."""

    trial: Trial
    outcome: Outcome
    play: Callable[[Trial], Outcome]
    tries_left: int

    def step(self) -> bool:
        """Go on to a smaller trial; False when there is none, or no patience."""
        return any(self.try_one(smaller) for smaller in self.trial.smaller() if self.tries_left > 0)

    def try_one(self, smaller: Trial) -> bool:
        self.tries_left -= 1
        outcome = self.play(smaller)
        if not outcome.broken & self.outcome.broken:
            return False
        self.trial, self.outcome = smaller, outcome
        return True
