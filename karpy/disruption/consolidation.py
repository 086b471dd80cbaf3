"""What the methods that save money share: what becomes of the pods of a set of nodes (core specification 5.6)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import attrs

from karpy.disruption.balanced import refusal, scores
from karpy.disruption.candidates import EMPTY, Candidate
from karpy.disruption.command import Command, Method
from karpy.disruption.pricing import cheaper, without_same_types
from karpy.disruption.scene import Scene
from karpy.disruption.simulation import Simulation, simulate
from karpy.disruption.verdicts import NoCheaper, Verdict
from karpy.scheduling.plan import Launch

__all__ = ["consolidate", "is_wanted"]


def is_wanted(scene: Scene, candidate: Candidate, method: Method) -> bool:
    """Whether its pool wants it to go if its pods have a cheaper place; if not, that is its verdict. Of one that is empty, and may
    go for that, another method tells."""
    verdict = candidate.unconsolidatable
    if verdict is not None and verdict is not EMPTY:
        scene.docket.say(candidate.view.name, verdict, method)
    return verdict is None


def consolidate(scene: Scene, gone: Sequence[Candidate], method: Method) -> Command | Verdict:
    """What happens to the pods if these nodes go together: a command, or why they had better stay."""
    found = scene.known(gone)
    if found is None:
        found = _worked_out(scene, gone, method)
        scene.learn(gone, found)
    return found if isinstance(found, Verdict) else _accepted(scene, gone, attrs.evolve(found, method=method))


def _worked_out(scene: Scene, gone: Sequence[Candidate], method: Method) -> Command | Verdict:
    """As far as it hangs on the picture alone."""
    found = simulate(scene, gone, machines=None if scene.is_thorough else 1)
    price = sum(candidate.price for candidate in gone)
    if found.blocked is not None:
        return found.blocked
    count = found.machines
    if count > 1:
        return NoCheaper(None, price, functools.partial(_too_many, found.again))
    if found.loses_headroom:
        return NoCheaper(None, price, "Room that is kept ready would be lost")
    # A machine for pods that wait may turn out to have too few types to choose from: they wait on.
    launch = next(iter(found.replacements), None) if count else None
    if launch is None:
        return found.command(method)
    narrowed = _narrowed(scene, launch, gone, price)
    return NoCheaper(launch.price, price, narrowed) if isinstance(narrowed, str) else found.command(method, narrowed)


def _accepted(scene: Scene, gone: Sequence[Candidate], command: Command) -> Command | Verdict:
    """The same as far as it hangs on the time, and on what was done before."""
    if command.replacements:
        kept = scene.churn.without_returns(command.replacements[0], gone)
        if isinstance(kept, Verdict):
            return kept
        if kept is not command.replacements[0]:
            savings = command.savings + command.replacements[0].price - kept.price
            command = attrs.evolve(command, replacements=(kept,), savings=savings)
    found = scores(scene, gone, command.savings)
    command = attrs.evolve(command, scores=found)
    return refusal(found) or scene.restrains(command) or command


def _too_many(again: Callable[[], Simulation]) -> str:
    """Counted when somebody asks: to see that it is more than one costs less."""
    return f"Can't remove without creating {again().machines} candidates"


def _narrowed(scene: Scene, launch: Launch, gone: Sequence[Candidate], price: float) -> Launch | str:
    if launch.min_values_relaxed:
        return "Filtering by price: minValues are not lowered to save money"
    found = cheaper(launch, gone, price, scene.catalog, scene.settings)
    return found if len(gone) == 1 or isinstance(found, str) else without_same_types(found, gone, scene.catalog)
