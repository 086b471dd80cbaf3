"""Money is not thrown away: consolidation saves and comes to rest, and nothing is launched over and over."""

from __future__ import annotations

from karpy.disruption.command import Reason
from karpy.objects import kinds
from karpy.objects.nodeclaim import INITIALIZED, NodeClaim
from karpy.sim.invariants.facts import Facts, Findings, Move, condition, provider_id_of
from karpy.sim.processes.trace import Call

__all__ = ["consolidation_rests", "consolidation_saves", "launches_are_bounded", "replacements_come_first"]

_CENT_FRACTION = 1e-9
SPARE_CLAIMS = 40
LESSONS = 240
"""Each claim that is refused for want of capacity teaches a few offerings that cannot be had: those that were tried."""
SPARE_MACHINES = 8
SPARE_MOVES = 3
_YOUTH = 0.85
"""The part of its life in which no machine expires."""
ABANDONED_S = 600.0
"""A move whose replacements have not come by then is given up."""


def consolidation_saves(facts: Facts, call: Call) -> Findings:
    """What replaces nodes for their price costs less than they do."""
    if not (call.is_of_cloud and call.verb == "create") or _prices_move(facts):
        return
    for move in facts.moves:
        if call.name in move.replacements and move.command.reason is Reason.UNDERUTILIZED:
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


def replacements_come_first(facts: Facts, call: Call) -> Findings:
    """What is to be replaced stays until its replacements are ready for pods."""
    if not _is_voluntary(facts, call):
        return
    moves = (move for move in reversed(facts.moves) if move.who == call.who and call.name in move.command.claims)
    move = next(moves, None)
    if move is None or facts.now - move.at > ABANDONED_S:
        return
    claims = facts.named(kinds.NODE_CLAIM)
    ready = [name for name in move.replacements if name in claims and condition(claims[name], INITIALIZED)]
    wanted = len(move.command.replacements)
    if len(ready) < wanted:
        yield call.object, f"is deleted by {call.who} while {len(ready)} of its {wanted} replacements are ready"


def consolidation_rests(facts: Facts, call: Call) -> Findings:
    """While nobody wants anything else and no machine is lost, no more nodes are taken away from pods than there were."""
    if not _is_voluntary(facts, call) or _prices_move(facts) or not _is_used(facts, call.name):
        return
    count, nodes = facts.count_while_alike("taken away", call.who)
    if count > nodes + SPARE_MOVES:
        yield call.who, f"took {count} nodes away since anything changed, when there were {nodes}"


def _is_used(facts: Facts, claim: str) -> bool:
    """Whether pods have to leave with the claim's node, but for those of daemons."""
    owned = facts.named(kinds.NODE_CLAIM).get(claim)
    node = facts.node_of(provider_id_of(owned)) if owned is not None else None
    if node is None:
        return False
    pods = (pod for pod in facts.objects(kinds.POD) if pod["spec"].get("nodeName") == node["metadata"]["name"])
    return any(all(own["kind"] != "DaemonSet" for own in pod["metadata"].get("ownerReferences") or ()) for pod in pods)


def _prices_move(facts: Facts) -> bool:
    """Whether what is charged may be another price than the one that is listed: nobody can be blamed for that."""
    weather = facts.site.weather
    return weather.price_walk is not None or bool(weather.price_changes)


def _is_voluntary(facts: Facts, call: Call) -> bool:
    """Whether a claim is deleted that is not old, whose machine runs and is not about to be taken away, and whose node is ready."""
    if call.kind != kinds.NODE_CLAIM or call.verb != "delete":
        return False
    claim = facts.named(kinds.NODE_CLAIM).get(call.name)
    if claim is None or "deletionTimestamp" in claim["metadata"] or _is_old(NodeClaim.from_dict(claim), facts.now):
        return False
    machine = facts.site.machine(provider_id_of(claim))
    node = facts.node_of(provider_id_of(claim))
    if machine is None or node is None or machine.terminating_since is not None or machine.taken_at is not None:
        return False
    return "deletionTimestamp" not in node["metadata"] and condition(node, "Ready") is not None


def _is_old(claim: NodeClaim, now: float) -> bool:
    """Whether it may be its age that it goes for: some go a little before their time, lest they all go together."""
    life = claim.expire_after_s
    return life is not None and now >= claim.metadata.created + _YOUTH * life


def launches_are_bounded(facts: Facts, call: Call) -> Findings:
    """In ten minutes no more machines are launched than twice the pods there were, and a few; nor very many more claims made."""
    pods = facts.most_pods  # whoever calls: pods that are gone when a machine is launched counted as well
    if call.verb != "create" or call.kind not in (None, kinds.NODE_CLAIM):
        return
    what, spare = ("machines", SPARE_MACHINES) if call.is_of_cloud else ("nodeclaims", _spare_claims(facts))
    if call.is_of_cloud and facts.count_by_span("launched", call.result.provider_id) > 1:
        return  # the same machine again, after a crash
    made = facts.count_by_span(what)
    if made > spare + 2 * pods:
        yield what, f"{made} were made within ten minutes for {pods} pods"


def _spare_claims(facts: Facts) -> int:
    """As many as it takes to learn that nothing is to be had, where few offerings are tried at a time."""
    tries = facts.site.weather.tries
    return max(SPARE_CLAIMS, LESSONS // tries) if tries else SPARE_CLAIMS
