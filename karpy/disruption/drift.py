"""Nodes that are no longer what their pool asks for: one at a time, and what replaces them may cost anything (core specification
5.5)."""

from __future__ import annotations

from karpy.disruption.candidates import Candidate
from karpy.disruption.command import Command, Method
from karpy.disruption.scene import Scene
from karpy.disruption.simulation import simulate
from karpy.disruption.verdicts import Chosen, Verdict
from karpy.objects.nodeclaim import DRIFTED

__all__ = ["drifted_nodes", "since"]

_METHOD = Method.DRIFT
_SHARE = 0.25
"""Which part of the work of a pass may be done when one more node is looked at. The rest is for those that could save money."""


def since(candidate: Candidate) -> float:
    """When it was found that it had drifted."""
    condition = candidate.view.claim.condition(DRIFTED) if candidate.view.claim is not None else None
    return condition.since if condition is not None else 0.0


def drifted_nodes(scene: Scene) -> tuple[Command, ...]:
    """The first node that drifted and whose pods have a place: those that have no pods first, they disturb nobody.

    Where very many have none, those that a pass did not come to are the first of the next.
    """
    turns = iter(_in_turn(scene))
    for candidate in turns:
        if not scene.is_allowed(candidate, _METHOD):
            continue
        if scene.has_done(_SHARE):
            scene.leave(candidate, _METHOD)
            continue
        found = _judged(scene, candidate)
        if isinstance(found, Verdict):
            scene.docket.say(candidate.view.name, found, _METHOD)
            continue
        scene.spend(candidate, _METHOD)
        scene.docket.say(candidate.view.name, Chosen(found), _METHOD)
        for other in turns:
            if scene.waited(other, _METHOD):
                scene.leave(other, _METHOD)
        return (found,)
    return ()


def _in_turn(scene: Scene) -> list[Candidate]:
    found = [each for each in scene.candidates(_METHOD) if each.has_drifted and not each.pool.is_static]
    return sorted(found, key=lambda each: (-scene.waited(each, _METHOD), bool(each.pods), since(each), each.view.name))


def _judged(scene: Scene, candidate: Candidate) -> Command | Verdict:
    outcome = simulate(scene, (candidate,))
    if outcome.blocked is not None:
        return outcome.blocked
    command = outcome.command(_METHOD, *outcome.replacements)
    return scene.restrains(command) or command
