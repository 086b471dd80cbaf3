"""Money is not thrown away: consolidation saves, and nothing is launched over and over."""

from __future__ import annotations

from karpy.objects import kinds
from karpy.sim.invariants.facts import Facts, Findings, Move
from karpy.sim.trace import Call

__all__ = ["consolidation_saves", "launches_are_bounded"]

_CENT_FRACTION = 1e-9
SPARE_CLAIMS = 40
"""Each claim that is refused for want of capacity teaches a few offerings that cannot be had."""
SPARE_MACHINES = 8


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
    """In ten minutes no more machines are launched than twice the pods there are, and a few; nor very many more claims made."""
    if call.verb != "create" or call.kind not in (None, kinds.NODE_CLAIM):
        return
    what, spare = ("machines", SPARE_MACHINES) if call.is_of_cloud else ("nodeclaims", SPARE_CLAIMS)
    if call.is_of_cloud and facts.count_by_span("launched", call.result.provider_id) > 1:
        return  # the same machine again, after a crash
    made, pods = facts.count_by_span(what), len(facts.objects(kinds.POD))
    if made > spare + 2 * pods:
        yield what, f"{made} were made within ten minutes for {pods} pods"
