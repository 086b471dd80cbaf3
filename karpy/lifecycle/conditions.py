"""Conditions of objects that karpy owns, with the root condition Ready worked out from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karpy.objects.meta import Condition, find_condition, set_condition

__all__ = ["AWAITING", "is_said", "saying", "with_condition"]

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


def saying(
    conditions: Sequence[Condition], wanted: Mapping[str, Condition | None], *, now: float
) -> tuple[Condition, ...]:
    """``conditions`` where each type of ``wanted`` says what it is to say, or is away (None). What says so already stays."""
    found = tuple(each for each in conditions if wanted.get(each.type, each) is not None)
    for new in wanted.values():
        if new is not None and not is_said(found, new):
            found = set_condition(found, new, now=now)
    return found


def is_said(conditions: Sequence[Condition], new: Condition) -> bool:
    """Whether ``conditions`` say just this already, since whenever."""
    old = find_condition(conditions, new.type)
    return old is not None and _said(old) == _said(new)


def _said(condition: Condition) -> tuple[str, str | None, str | None]:
    return condition.status, condition.reason, condition.message or None


def _ready(conditions: Sequence[Condition], depends_on: Sequence[str]) -> Condition:
    statuses = {condition.type: condition.status for condition in conditions}
    open_ones = [f"{type_}={statuses[type_]}" for type_ in depends_on if statuses[type_] != "True"]
    if not open_ones:
        return Condition("Ready", "True", "Ready", "")
    failed = any(statuses[type_] == "False" for type_ in depends_on)
    reason = "UnhealthyDependents" if failed else "ReconcilingDependents"
    return Condition("Ready", "False" if failed else "Unknown", reason, ", ".join(open_ones))
