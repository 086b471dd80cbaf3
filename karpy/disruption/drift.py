"""Nodes that are no longer what their pool asks for: one at a time, and what replaces them may cost anything (core specification
5.5)."""

from __future__ import annotations

from karpy.disruption.candidates import Candidate
from karpy.disruption.command import Command, Method
from karpy.disruption.scene import Scene
from karpy.disruption.simulation import simulate
from karpy.disruption.verdicts import Chosen
from karpy.objects.nodeclaim import DRIFTED

__all__ = ["drifted_nodes", "since"]


def since(candidate: Candidate) -> float:
    """When it was found that it had drifted."""
    condition = candidate.view.claim.condition(DRIFTED) if candidate.view.claim is not None else None
    return condition.since if condition is not None else 0.0


def drifted_nodes(scene: Scene) -> tuple[Command, ...]:
    """The first node that drifted and whose pods have a place: those that have no pods first, they disturb nobody."""
    method = Method.DRIFT
    found = [each for each in scene.candidates(method) if each.has_drifted and not each.pool.is_static]
    for candidate in sorted(found, key=lambda each: (bool(each.pods), since(each), each.view.name)):
        if not scene.is_allowed(candidate, method):
            continue
        outcome = simulate(scene, (candidate,))
        if outcome.blocked is not None:
            scene.docket.say(candidate.view.name, outcome.blocked, method)
            continue
        command = outcome.command(method, *outcome.replacements)
        held = scene.restrains(command)
        if held is not None:
            scene.docket.say(candidate.view.name, held, method)
            continue
        scene.spend(candidate, method)
        scene.docket.say(candidate.view.name, Chosen(command), method)
        return (command,)
    return ()
