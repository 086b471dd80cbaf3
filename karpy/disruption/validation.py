"""Is a command still right on a newer picture? (core specification 5.10)"""

from __future__ import annotations

from collections.abc import Sequence

from karpy.cloud.instancetype import Catalog
from karpy.disruption.candidates import Candidate
from karpy.disruption.command import Command, Method
from karpy.disruption.consolidation import consolidate
from karpy.disruption.emptiness import empty_among
from karpy.disruption.past import Past
from karpy.disruption.scene import Scene
from karpy.disruption.verdicts import BudgetSpent, ValidationFailed, Verdict
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot

__all__ = ["validate"]

CHURN = "churn"
BUDGET = "budget"
SCHEDULING = "scheduling"


def validate(
    command: Command,
    newer: Snapshot,
    catalog: Catalog,
    *,
    now: float,
    settings: Settings | None = None,
    past: Past | None = None,
) -> Command | ValidationFailed:
    """The command as the newer snapshot allows it, or what is no longer right.

    Of several empty nodes those that still are may go. A consolidation must be found again, for the same nodes, with a
    replacement that the first one allowed. Drift is not looked at again: whatever the pods did, the nodes are not as wanted.
    """
    if not command.method.is_graceful:
        return command
    scene = Scene(newer, catalog, now=now, settings=settings, past=past)
    there = {each.view.claim.name: each for each in scene.candidates(command.method) if each.view.claim is not None}
    found = [there[claim] for claim in command.claims if claim in there]
    if command.method is Method.EMPTINESS:
        return _still_empty(scene, command, found)
    refused = _no_longer(scene, command, there) or _over_budget(scene, command.method, found)
    if refused is not None:
        return refused
    again = consolidate(scene, found, command.method)
    if isinstance(again, Verdict):
        return ValidationFailed(SCHEDULING, str(again))
    return _as_before(command, again)


def _still_empty(scene: Scene, command: Command, found: Sequence[Candidate]) -> Command | ValidationFailed:
    commands = empty_among(scene, found)
    if commands:
        return commands[0]
    for node in command.nodes:
        verdict = scene.docket.last(node)
        if isinstance(verdict, BudgetSpent):
            return ValidationFailed(BUDGET, f"{node}: {verdict}")
    node = command.nodes[0]
    return ValidationFailed(CHURN, f"{node}: {scene.docket.last(node) or 'it is no longer empty'}")


def _no_longer(scene: Scene, command: Command, there: dict[str, Candidate]) -> ValidationFailed | None:
    """One of the nodes may not go any more, for what happened to it or on it."""
    for claim, node in zip(command.claims, command.nodes, strict=True):
        if claim not in there:
            return ValidationFailed(CHURN, f"{node}: {scene.docket.last(node) or 'it is gone'}")
        unwanted = there[claim].unconsolidatable
        if unwanted is not None:
            return ValidationFailed(CHURN, f"{node}: {unwanted}")
    return None


def _over_budget(scene: Scene, method: Method, found: Sequence[Candidate]) -> ValidationFailed | None:
    for candidate in found:
        if not scene.is_allowed(candidate, method):
            return ValidationFailed(BUDGET, f"{candidate.view.name}: {scene.docket.last(candidate.view.name)}")
        scene.spend(candidate, method)
    return None


def _as_before(command: Command, again: Command) -> Command | ValidationFailed:
    """The command found again, if it needs no other machines than those that were named."""
    if len(again.replacements) != len(command.replacements):
        count = len(again.replacements)
        return ValidationFailed(SCHEDULING, f"the pods need {count} new node(s), not {len(command.replacements)}")
    for old, new in zip(command.replacements, again.replacements, strict=True):
        lost = {priced.name for priced in old.instance_types} - {priced.name for priced in new.instance_types}
        if lost:
            return ValidationFailed(
                SCHEDULING, f"{', '.join(sorted(lost))} would no longer do, or would not be cheaper"
            )
    return again
