"""Conditions of objects that karpy owns, with the root condition Ready worked out from the others."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.objects.meta import Condition, find_condition, set_condition

__all__ = ["AWAITING", "with_condition"]

AWAITING = "AwaitingReconciliation"
_AWAITING_MESSAGE = "object is awaiting reconciliation"


def with_condition(
    conditions: Sequence[Condition], new: Condition, depends_on: Sequence[str], *, now: float
) -> tuple[Condition, ...]:
    """``conditions`` with ``new`` in it; those of ``depends_on`` that are missing as Unknown; and Ready, which is True
    when all of them are, False when one is."""
    merged = set_condition(conditions, new, now=now)
    for type_ in depends_on:
        if find_condition(merged, type_) is None:
            merged = set_condition(merged, Condition(type_, "Unknown", AWAITING, _AWAITING_MESSAGE), now=now)
    return set_condition(merged, _ready(merged, depends_on), now=now)


def _ready(conditions: Sequence[Condition], depends_on: Sequence[str]) -> Condition:
    statuses = {condition.type: condition.status for condition in conditions}
    open_ones = [f"{type_}={statuses[type_]}" for type_ in depends_on if statuses[type_] != "True"]
    if not open_ones:
        return Condition("Ready", "True", "Ready", "")
    failed = any(statuses[type_] == "False" for type_ in depends_on)
    reason = "UnhealthyDependents" if failed else "ReconcilingDependents"
    return Condition("Ready", "False" if failed else "Unknown", reason, ", ".join(open_ones))
