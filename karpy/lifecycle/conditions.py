"""Conditions of objects that karpy owns, with the root condition Ready worked out from the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from karpy.objects.meta import Condition, find_condition, set_condition

__all__ = ["AWAITING", "AWAITING_MESSAGE", "observing", "transitions", "with_condition"]

AWAITING = "AwaitingReconciliation"
AWAITING_MESSAGE = "object is awaiting reconciliation"


def with_condition(
    conditions: Sequence[Condition], new: Condition, depends_on: Sequence[str], *, now: float
) -> tuple[Condition, ...]:
    """``conditions`` with ``new`` in it; those of ``depends_on`` that are missing as Unknown; and Ready, which is True
    when all of them are, False when one is."""
    merged = set_condition(conditions, new, now=now)
    for type_ in depends_on:
        if find_condition(merged, type_) is None:
            merged = set_condition(merged, Condition(type_, "Unknown", AWAITING, AWAITING_MESSAGE), now=now)
    return set_condition(merged, _ready(merged, depends_on), now=now)


def _ready(conditions: Sequence[Condition], depends_on: Sequence[str]) -> Condition:
    statuses = {condition.type: condition.status for condition in conditions}
    open_ones = [f"{type_}={statuses[type_]}" for type_ in depends_on if statuses[type_] != "True"]
    if not open_ones:
        return Condition("Ready", "True", "Ready", "")
    failed = any(statuses[type_] == "False" for type_ in depends_on)
    reason = "UnhealthyDependents" if failed else "ReconcilingDependents"
    return Condition("Ready", "False" if failed else "Unknown", reason, ", ".join(open_ones))


def observing(conditions: Iterable[Condition], types: Collection[str], generation: int) -> tuple[Condition, ...]:
    """The same, said about this generation of the object where the type is among ``types``."""
    return tuple(
        msgspec.structs.replace(each, observed_generation=generation) if each.type in types else each
        for each in conditions
    )


def transitions(before: Sequence[Condition], after: Sequence[Condition]) -> Iterator[tuple[str, str]]:
    """The types whose status changed, and what is told of each; a condition that was not there was Unknown."""
    for new in after:
        old = find_condition(before, new.type)
        was = old.status if old is not None else "Unknown"
        if was != new.status:
            told = (
                f"Status condition transitioned, Type: {new.type}, Status: {was} -> {new.status}, Reason: {new.reason}"
            )
            yield new.type, f"{told}, Message: {new.message}" if new.message else told
