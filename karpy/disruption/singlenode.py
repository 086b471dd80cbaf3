"""One node after another: the first that can go, or be replaced by a cheaper one (core specification 5.8)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from karpy.disruption.balanced import hopeless
from karpy.disruption.candidates import Candidate
from karpy.disruption.command import Command, Method
from karpy.disruption.consolidation import consolidate, is_wanted
from karpy.disruption.scene import Scene
from karpy.disruption.verdicts import Chosen, NoCheaper, Verdict

__all__ = ["judge", "leave_for_later", "single_node"]

_METHOD = Method.SINGLE_NODE


def single_node(scene: Scene) -> tuple[Command, ...]:
    """The first node that can go or be replaced.

    Those come first that have waited for the most passes to be looked at; then by what their disruption saves for what it costs,
    one of each pool in turn.
    """
    turns = iter(_in_turn(scene, _wanted(scene)))
    for candidate in turns:
        if not scene.is_allowed(candidate, _METHOD):
            continue
        if scene.is_tired and not scene.is_known((candidate,)):
            scene.leave(candidate, _METHOD)
            continue
        found = judge(scene, candidate)
        if isinstance(found, Command):
            scene.spend(candidate, _METHOD)
            scene.docket.say(candidate.view.name, Chosen(found), _METHOD)
            _leave(scene, turns)
            return (found,)
        scene.docket.say(candidate.view.name, found, _METHOD)
    return ()


def judge(scene: Scene, candidate: Candidate) -> Command | Verdict:
    """What becomes of this node alone, whatever budgets say."""
    verdict = hopeless(scene, candidate)
    if verdict is not None:
        return verdict
    if not scene.is_thorough and not scene.is_known((candidate,)) and not scene.screen.passes(candidate):
        scene.learn((candidate,), NoCheaper(None, candidate.price))
    return consolidate(scene, (candidate,), _METHOD)


def leave_for_later(scene: Scene) -> None:
    """Nobody comes to look at nodes alone in this pass: another method has an answer."""
    _leave(scene, _wanted(scene))


def _leave(scene: Scene, found: Iterable[Candidate]) -> None:
    """They are not looked at. Of those of which it is known all the same what becomes of them, that is said."""
    for candidate in found:
        known = scene.known((candidate,))
        if isinstance(known, Verdict):
            scene.docket.say(candidate.view.name, known, _METHOD)
        else:
            scene.leave(candidate, _METHOD)


def _wanted(scene: Scene) -> list[Candidate]:
    return [candidate for candidate in scene.candidates(_METHOD) if is_wanted(scene, candidate, _METHOD)]


def _in_turn(scene: Scene, found: Sequence[Candidate]) -> list[Candidate]:
    by_pool: dict[str, list[Candidate]] = {}
    for candidate in found:
        by_pool.setdefault(candidate.pool.name, []).append(candidate)
    rounds = itertools.zip_longest(*by_pool.values())
    turns = [candidate for each in rounds for candidate in each if candidate is not None]
    return sorted(turns, key=lambda candidate: -scene.waited(candidate, _METHOD))
