"""In which order things come to pass in the life of a node: over its claim, its Node, the pods on it, and its log lines.

Of two steps the one came first that was written first; what was written at once has no order. An order counts as Karpenter's where
it held in every life that was recorded: what came about by chance of timing was the other way round in another one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import permutations
from typing import Any

from tests.scenarios.lifecycle.tape import Change, Tape

__all__ = ["lives", "orders", "reversed_orders"]

Json = Mapping[str, Any]
Life = Mapping[str, int]
"""Steps, and when each was first taken; a number says no more than what came before what."""

_LABELS = {
    "karpenter.sh/registered": "is registered",
    "karpenter.sh/initialized": "is initialised",
    "node.kubernetes.io/exclude-from-external-load-balancers": "is out of load balancers",
}
_TERMINATION = "karpenter.sh/termination"


def lives(tape: Tape) -> list[Life]:
    """The lives of all pools and claims of a run, of the first replacement, and of each claim in the log."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    machines = _machines(tape)
    for number, change in enumerate(tape.changes):
        holder = ("NodePool", change.key) if change.kind == "NodePool" else ("", _claim_of(change, machines))
        if holder[1]:
            life = found.setdefault(holder, {})
            for step in _steps(change):
                life.setdefault(step, number)
    return [*found.values(), *_replacement(found.values()), *_logged(tape)]


def orders(known: Iterable[Life]) -> frozenset[tuple[str, str]]:
    """Pairs of steps that were taken in this order whenever both were taken at different times, and were so at least once."""
    seen: set[tuple[str, str]] = set()
    for life in known:
        seen.update(
            (first, then)
            for first, then in permutations(life, 2)
            if life[first] < life[then] and _are_compared(first, then)
        )
    return frozenset((first, then) for first, then in seen if (then, first) not in seen)


def _are_compared(first: str, then: str) -> bool:
    """Steps of one claim are compared over all claims, and of two nodes only one's with the other's."""
    ours, theirs = (step.rpartition("'s ")[0] for step in (first, then))
    return ours != theirs or not ours


def reversed_orders(known: frozenset[tuple[str, str]], tape: Tape) -> frozenset[str]:
    """Where a run has it the other way round."""
    return frozenset(
        f"Order: {then}, before {first}"
        for life in lives(tape)
        for first, then in known
        if first in life and then in life and life[then] < life[first]
    )


# Whose life a change belongs to


def _machines(tape: Tape) -> dict[str, str]:
    """Claims by the provider ids of their machines, and by the names of their nodes."""
    found = {}
    for change in tape.of("NodeClaim"):
        provider_id = (change.object.get("status") or {}).get("providerID")
        if provider_id:
            found[provider_id] = change.key
    for change in tape.of("Node"):
        claim = found.get(change.object["spec"].get("providerID", ""))
        if claim is not None:
            found[change.key] = claim
    return found


def _claim_of(change: Change, machines: Mapping[str, str]) -> str:
    match change.kind:
        case "NodeClaim":
            return change.key
        case "Node":
            return machines.get(change.key, "")
        case "Pod":
            return machines.get(change.object["spec"].get("nodeName", ""), "")
    return ""


# Steps


def _steps(change: Change) -> Iterator[str]:
    """What has become so with this write."""
    if change.kind == "Pod":
        if any(each.get("reason") == "EvictionByEvictionAPI" for each in _conditions(change.object)):
            yield "a pod is evicted"
        return
    if change.after is None:
        yield f"{change.kind} is gone"
        return
    before = set(_state(change.before)) if change.before is not None else set()
    yield from (f"{change.kind} {step}" for step in _state(change.after) if step not in before)
    if change.before is not None and _unregistered(change.before) and not _unregistered(change.after):
        yield "Node loses the taint unregistered"


def _state(obj: Json) -> Iterator[str]:
    metadata = obj["metadata"]
    if obj["kind"] == "NodeClaim":
        yield "is made"
    if _TERMINATION in (metadata.get("finalizers") or ()):
        yield "has the finalizer"
    if metadata.get("deletionTimestamp"):
        yield "is being deleted"
    if obj["kind"] != "Node":
        yield from (f"is {each['type']}" for each in _conditions(obj) if each["status"] == "True")
    if obj["kind"] == "NodePool" and "karpenter.sh/nodepool-hash" in (metadata.get("annotations") or {}):
        yield "has a hash"
    if obj["kind"] == "NodeClaim":
        yield from _state_of_claim(obj)
    if obj["kind"] == "Node":
        yield from (word for label, word in _LABELS.items() if label in (metadata.get("labels") or {}))
        if any(owner["kind"] == "NodeClaim" for owner in metadata.get("ownerReferences") or ()):
            yield "is owned"
        if any(taint["key"] == "karpenter.sh/disrupted" for taint in obj["spec"].get("taints") or ()):
            yield "is tainted disrupted"


def _state_of_claim(claim: Json) -> Iterator[str]:
    status = claim.get("status") or {}
    if status.get("providerID"):
        yield "has a provider id"
    if status.get("nodeName"):
        yield "has a node"
    if "node.kubernetes.io/instance-type" in (claim["metadata"].get("labels") or {}):
        yield "has an instance type"
    if "karpenter.sh/nodeclaim-termination-timestamp" in (claim["metadata"].get("annotations") or {}):
        yield "has a deadline"


def _conditions(obj: Json) -> Iterable[Json]:
    found: Iterable[Json] = (obj.get("status") or {}).get("conditions") or ()
    return found


def _unregistered(node: Json) -> bool:
    taints = node["spec"].get("taints") or ()
    return node["kind"] == "Node" and any(taint["key"] == "karpenter.sh/unregistered" for taint in taints)


# Lives of another kind


def _replacement(found: Collection[Life]) -> Iterator[Life]:
    """The first node that was disrupted, and the first claim that was made when it was tainted."""
    disrupted = [life for life in found if "NodeClaim is DisruptionReason" in life]
    if not disrupted:
        return
    candidate = min(disrupted, key=lambda life: life["NodeClaim is DisruptionReason"])
    tainted = candidate.get("Node is tainted disrupted", 0)
    later = [life for life in found if life.get("NodeClaim is made", 0) > tainted]
    if later:
        replacement = min(later, key=lambda life: life["NodeClaim is made"])
        yield {
            **{f"candidate's {step}": number for step, number in candidate.items()},
            **{f"replacement's {step}": number for step, number in replacement.items()},
        }


def _logged(tape: Tape) -> Iterator[Life]:
    """What the log says of each claim."""
    found: dict[str, dict[str, int]] = {}
    for number, line in enumerate(tape.log):
        name = line.fields.get("NodeClaim")
        name = name.get("name") if isinstance(name, Mapping) else name
        if name:
            found.setdefault(str(name), {}).setdefault(f"log says: {line.message}", number)
    yield from found.values()
