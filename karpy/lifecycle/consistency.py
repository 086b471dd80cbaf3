"""Is a machine what it was bought as? (core specification 4.7)"""

from __future__ import annotations

from collections.abc import Sequence

from karpy.objects.meta import Condition
from karpy.objects.node import Node
from karpy.objects.nodeclaim import CONSISTENT_STATE_FOUND, NodeClaim
from karpy.resources import Resources, format_amount

__all__ = ["consistency", "shortfalls"]

_LEAST = 0.9


def shortfalls(claim: NodeClaim, node: Node) -> tuple[str, ...]:
    """A sentence for each resource that was asked for, and of which the node has less than nine tenths of what was promised."""
    if claim.metadata.is_deleting or not claim.is_initialized:
        return ()
    found = Resources.parse(node.status.capacity or {})
    return tuple(
        _told(name, claim.capacity[name], found.get(name, 0))
        for name in sorted(claim.capacity)
        if claim.requests.get(name) and claim.capacity[name] and found.get(name, 0) < _LEAST * claim.capacity[name]
    )


def consistency(short: Sequence[str]) -> Condition:
    """What the claim says of that. A node that just joined is held to be what it was bought as."""
    if short:
        return Condition(CONSISTENT_STATE_FOUND, "False", "ConsistencyCheckFailed", "Consistency Check Failed")
    return Condition(CONSISTENT_STATE_FOUND, "True", CONSISTENT_STATE_FOUND, "")


def _told(name: str, expected: int, found: int) -> str:
    share = f"{100 * found / expected:.1f}% of expected"
    return (
        f"expected {format_amount(name, expected)} of resource {name}, but found {format_amount(name, found)} ({share})"
    )
