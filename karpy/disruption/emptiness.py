"""Nodes that nothing runs on are taken away together (core specification 5.4)."""

from __future__ import annotations

from collections.abc import Iterable

from karpy.disruption.candidates import Candidate
from karpy.disruption.command import Command, Method
from karpy.disruption.scene import Scene
from karpy.disruption.verdicts import Chosen

__all__ = ["empty_among", "empty_nodes"]


def empty_nodes(scene: Scene) -> tuple[Command, ...]:
    """One command for all empty nodes that the budgets let go: the dearest first, should they not let all of them."""
    return empty_among(scene, scene.candidates(Method.EMPTINESS))


def empty_among(scene: Scene, found: Iterable[Candidate]) -> tuple[Command, ...]:
    """The same, of these nodes."""
    chosen: list[Candidate] = []
    for candidate in found:
        if candidate.is_empty and candidate.unwanted is not None:
            scene.docket.say(candidate.view.name, candidate.unwanted, Method.EMPTINESS)
        elif candidate.is_empty and scene.is_allowed(candidate, Method.EMPTINESS):
            scene.spend(candidate, Method.EMPTINESS)
            chosen.append(candidate)
    if not chosen:
        return ()
    command = Command(
        method=Method.EMPTINESS,
        claims=tuple(candidate.view.claim.name for candidate in chosen if candidate.view.claim is not None),
        nodes=tuple(candidate.view.name for candidate in chosen),
        savings=sum(candidate.price for candidate in chosen),
        version=scene.snapshot.version,
    )
    for candidate in chosen:
        scene.docket.say(candidate.view.name, Chosen(command), Method.EMPTINESS)
    return (command,)
