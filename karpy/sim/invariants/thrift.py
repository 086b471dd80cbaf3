"""Money is not thrown away: consolidation saves, and nothing is launched over and over."""

from __future__ import annotations

from karpy.objects import kinds
from karpy.sim.invariants.facts import Facts, Findings, Move
from karpy.sim.trace import Call

__all__ = ["consolidation_saves", "launches_are_bounded"]

_CENT_FRACTION = 1e-9
SPARE_LAUNCHES = 10


def consolidation_saves(facts: Facts, call: Call) -> Findings:
    """What replaces nodes for their price costs less than they do."""
    if not (call.is_of_cloud and call.verb == "create"):
        return
    for move in facts.moves:
        if call.name in move.replacements:
            move.replacements[call.name] = facts.price_of([call.name])
            if _is_dearer(facts, move):
                comes = sum(price for price in move.replacements.values() if price is not None)
                nodes = ", ".join(move.command.nodes)
                yield f"nodes/{nodes}", f"at ${move.price:.4f}/h is replaced by what costs ${comes:.4f}/h"


def _is_dearer(facts: Facts, move: Move) -> bool:
    """Judged once all have come, and only where prices stayed what they were when it was decided."""
    prices = move.replacements.values()
    if None in prices or abs(facts.price_of(move.command.claims) - move.price) > _CENT_FRACTION:
        return False
    return sum(price for price in prices if price is not None) >= move.price - _CENT_FRACTION


def launches_are_bounded(facts: Facts, call: Call) -> Findings:
    """In ten minutes no more claims are made than twice the pods there are, and a few."""
    if call.kind != kinds.NODE_CLAIM or call.verb != "create":
        return
    made = facts.count_by_span("launches")
    bound = SPARE_LAUNCHES + 2 * len(facts.objects(kinds.POD))
    if made > bound:
        yield "nodeclaims", f"{made} were made within ten minutes for {len(facts.objects(kinds.POD))} pods"
