"""Conditions of objects that karpy owns, with the root condition Ready worked out from the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from karpy.objects.meta import Condition, find_condition, set_condition

__all__ = ["AWAITING", "AWAITING_MESSAGE", "is_said", "saying", "with_condition", "with_conditions"]

AWAITING = "AwaitingReconciliation"
AWAITING_MESSAGE = "object is awaiting reconciliation"


def with_condition(
    conditions: Sequence[Condition], new: Condition, depends_on: Sequence[str], *, now: float, generation: int = 0
) -> tuple[Condition, ...]:
    """As `with_conditions`, with one."""
    return with_conditions(conditions, (new,), depends_on, now=now, generation=generation)


def with_conditions(
    conditions: Sequence[Condition],
    news: Iterable[Condition],
    depends_on: Sequence[str],
    *,
    now: float,
    generation: int = 0,
) -> tuple[Condition, ...]:
    """``conditions`` with ``news`` in it; those of ``depends_on`` that are missing as Unknown; and Ready, which is True
    when all of them are, False when one is. All were seen to hold of this ``generation`` of the object, if that is known."""
    merged = tuple(conditions)
    for new in news:
        merged = set_condition(merged, new, now=now)
    for type_ in depends_on:
        if find_condition(merged, type_) is None:
            merged = set_condition(merged, Condition(type_, "Unknown", AWAITING, AWAITING_MESSAGE), now=now)
    merged = set_condition(merged, _ready(merged, depends_on), now=now)
    if not generation:
        return merged
    return tuple(msgspec.structs.replace(each, observed_generation=generation) for each in merged)


def saying(
    conditions: Sequence[Condition], wanted: Mapping[str, Condition | None], *, now: float, generation: int = 0
) -> tuple[Condition, ...]:
    """``conditions`` where each type of ``wanted`` says what it is to say, or is away (None). What says so already stays."""
    found = tuple(each for each in conditions if wanted.get(each.type, each) is not None)
    for new in wanted.values():
        if new is not None and not is_said(found, new):
            seen = msgspec.structs.replace(new, observed_generation=generation or None)
            found = set_condition(found, seen, now=now)
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
