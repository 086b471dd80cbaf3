"""Answers to "why?" as JSON: one object for each thing asked about."""

from __future__ import annotations

from typing import Any

from karpy.clock import format_time
from karpy.disruption.budgets import Allowance
from karpy.disruption.command import Command
from karpy.objects.meta import to_wire
from karpy.report.advice import advice
from karpy.report.command_json import METHODS, command_json, verdict_json
from karpy.report.whys import Answer, NodeAnswer, PodAnswer, PoolAnswer
from karpy.scheduling.explain.explanation import Explanation

__all__ = ["answer_json"]


def answer_json(answer: Answer) -> dict[str, Any]:
    """``asked`` says what the object is about; the other keys depend on its kind."""
    if isinstance(answer, NodeAnswer):
        return {"asked": answer.asked, **_node(answer)}
    if isinstance(answer, PodAnswer):
        return {"asked": answer.asked, **_pod(answer)}
    return {"asked": answer.asked, **_pool(answer)}


def _node(answer: NodeAnswer) -> dict[str, Any]:
    judged, view = answer.judged, answer.judged.view
    return {
        "node": view.node.name if view.node is not None else None,
        "nodeClaim": view.claim.name if view.claim is not None else None,
        "nodePool": view.pool or None,
        "goes": answer.goes,
        "verdict": verdict_json(answer.verdict),
        "advice": advice(answer),
        "price": judged.price,
        "disruptionCost": judged.disruption_cost,
        "rescheduleDisruptionCost": judged.reschedule_cost,
        "candidateFor": [METHODS[method] for method in judged.methods],
        "methods": {METHODS[method]: verdict_json(verdict) for method, verdict in judged.found.items()},
        "alone": command_json(judged.alone) if isinstance(judged.alone, Command) else None,
        "pods": dict(sorted(answer.places.items())),
        "homeless": [_explanation(each) for each in answer.homeless],
        "budgets": [_allowance(each) for each in answer.allowances],
        "conditions": [to_wire(each) for each in view.claim.conditions] if view.claim is not None else [],
    }


def _pod(answer: PodAnswer) -> dict[str, Any]:
    return {
        "state": answer.state,
        "explanation": None if answer.explanation is None else _explanation(answer.explanation),
        "machine": None if answer.machine is None else answer_json(answer.machine),
    }


def _explanation(found: Explanation) -> dict[str, Any]:
    return {
        "pod": found.pod,
        "summary": found.summary,
        "conflict": [str(each) for each in found.conflict],
        "also": [[str(each) for each in conflict] for conflict in found.also],
        "nearest": [{"changes": list(each.changes), "place": each.place} for each in found.nearest],
        "instanceTypes": [str(each) for each in found.funnel],
    }


def _pool(answer: PoolAnswer) -> dict[str, Any]:
    return {
        "at": format_time(answer.at),
        "budgets": [_allowance(each) for each in answer.allowances],
        "nodes": {name: verdict_json(verdict) for name, verdict in sorted(answer.nodes.items())},
    }


def _allowance(found: Allowance) -> dict[str, Any]:
    return {
        "reason": None if found.reason is None else found.reason.value,
        "allowed": min(found.allowed, found.nodes),
        "nodes": found.nodes,
        "disrupting": found.disrupted,
        "text": str(found),
    }
