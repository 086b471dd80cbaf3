"""Nodes that nothing runs on are taken away together (core specification 5.4)."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.disruption.budgets import allowed_disruptions
from karpy.disruption.candidates import Candidate, by_savings, is_consolidatable
from karpy.disruption.command import Command, Reason
from karpy.state.snapshot import Snapshot

__all__ = ["empty_nodes", "may_go_empty"]


def may_go_empty(candidate: Candidate) -> bool:
    """Whether its pool wants it to go, since nothing runs on it."""
    return candidate.is_empty and is_consolidatable(candidate)


def empty_nodes(snapshot: Snapshot, found: Sequence[Candidate]) -> Command | None:
    """One command for all empty nodes that the budgets let go: the dearest first, should they not let all of them."""
    chosen: list[Candidate] = []
    left: dict[str, int] = {}
    for candidate in by_savings(filter(may_go_empty, found)):
        name = candidate.pool.name
        if name not in left:
            left[name] = allowed_disruptions(snapshot, candidate.pool, Reason.EMPTY)
        if left[name] > 0:
            left[name] -= 1
            chosen.append(candidate)
    if not chosen:
        return None
    return Command(
        reason=Reason.EMPTY,
        claims=tuple(candidate.view.claim.name for candidate in chosen if candidate.view.claim is not None),
        nodes=tuple(candidate.view.name for candidate in chosen),
        savings=sum(candidate.price for candidate in chosen),
        version=snapshot.version,
    )
