"""What disruption would do as JSON, in the format of recorded scenarios, with more keys beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from karpy import labels
from karpy.disruption.command import Command, Method, Move, Reason
from karpy.disruption.survey import Judgement, Survey
from karpy.disruption.verdicts import BlockedBy, NoCheaper, Verdict
from karpy.report.outlook import claim_requirements, priced
from karpy.scheduling.plan import Launch

__all__ = ["METHODS", "command_json", "judgement_json", "survey_json", "verdict_json"]

METHODS = {
    Method.EMPTINESS: "emptiness",
    Method.STATIC_DRIFT: "staticDrift",
    Method.DRIFT: "drift",
    Method.MULTI_NODE: "multiNode",
    Method.SINGLE_NODE: "singleNode",
}
"""What the recorded format calls them."""

UNLIMITED = 2**31 - 1
"""What the recorded format starts from where no budget says anything."""


def survey_json(survey: Survey) -> dict[str, Any]:
    """What the next pass would do, and what each method and each node say when asked by themselves."""
    commands = survey.next.commands
    return {
        "action": METHODS[commands[0].method] if commands else "",
        "command": command_json(commands[0]) if commands else None,
        "commands": [command_json(command) for command in commands],
        "budgets": _budgets(survey),
        "methods": {
            name: sorted(map(command_json, survey.methods.get(method, ())), key=lambda each: each["candidates"])
            for method, name in METHODS.items()
        },
        "nodes": {judged.name: judgement_json(survey, judged) for judged in survey.nodes},
    }


def _budgets(survey: Survey) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {reason.value: {} for reason in Reason}
    for allowance in survey.allowances:
        if allowance.reason is not None:
            is_limited = allowance.limit is not None or allowance.problem is not None
            left = allowance.allowed if is_limited else UNLIMITED - allowance.disrupted
            found[allowance.reason.value][allowance.pool] = left
    return found


def command_json(command: Command) -> dict[str, Any]:
    """A command, its nodes sorted."""
    return {
        "method": METHODS[command.method],
        "decision": command.decision.value,
        "reason": command.reason.value,
        "candidates": sorted(command.nodes),
        "replacements": [_replacement(launch) for launch in command.replacements],
        "savings": priced(command.savings),
        "moves": [_move(move) for move in sorted(command.moves, key=lambda move: move.pod)],
        "explanation": command.explain(),
    }


def _replacement(launch: Launch) -> dict[str, Any]:
    wanted = launch.requirements.get(labels.CAPACITY_TYPE)
    return {
        "nodePool": launch.pool.name,
        "instanceTypes": [each.name for each in launch.instance_types],
        "requirements": claim_requirements(launch).to_selectors(),
        "capacityTypes": [each for each in sorted(launch.capacity_types) if wanted is None or wanted.has(each)],
        "cheapestPrice": priced(launch.price) if launch.instance_types else None,
        "pods": sorted(launch.pods),
    }


def _move(move: Move) -> dict[str, Any]:
    """Pods that move to replacement number 0 are among its ``pods`` too."""
    return {"pod": move.pod, **({"node": move.to} if isinstance(move.to, str) else {"replacement": move.to})}


def judgement_json(survey: Survey, judged: Judgement) -> dict[str, Any]:
    """One node. What it costs is 0 where no method may look at it, as in the recorded format."""
    return {
        "price": judged.price,
        "disruptionCost": judged.disruption_cost,
        "rescheduleDisruptionCost": judged.reschedule_cost,
        "candidateFor": [METHODS[method] for method in judged.methods],
        **({} if judged.graceful is None else {"gracefulError": str(judged.graceful)}),
        **({} if judged.eventual is None else {"eventualError": str(judged.eventual)}),
        **dict(_told(judged)),
        "verdict": verdict_json(survey.verdict(judged.name)),
    }


def _told(judged: Judgement) -> Iterator[tuple[str, Any]]:
    """What Karpenter would say in events of single-node consolidation. What it keeps to itself is in ``verdict`` alone."""
    alone = judged.alone
    if judged.unwanted is not None and judged.unwanted.is_told:
        yield "notEligible", [judged.unwanted.reason]
    if isinstance(alone, Command):
        yield "alone", command_json(alone)
    elif isinstance(alone, (BlockedBy, NoCheaper)):
        yield "aloneMessages", [alone.text]


def verdict_json(verdict: Verdict) -> dict[str, str]:
    """Its kind, as the metric calls it, and its words."""
    return {"kind": verdict.kind, "text": str(verdict)}
