"""Which nodes does Kubernetes not mend by itself, and when are so many broken that it must be something else? (core
specification 4.11)"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs

from karpy.cloud.provider import RepairPolicy
from karpy.objects.meta import find_condition
from karpy.objects.node import Node

__all__ = ["Companion", "Fault", "fault_of", "is_suspect", "may_replace"]

_TOLERATED_SHARE = 0.2


@attrs.frozen
class Fault:
    """What a node suffers from, and when that has been borne for long enough."""

    condition: str
    since: float
    due: float


def fault_of(node: Node, policies: Iterable[RepairPolicy]) -> Fault | None:
    """What ends the node's life first if it stays as it is, or None when it is healthy."""
    found = []
    for policy in policies:
        condition = find_condition(node.status.conditions, policy.condition)
        if condition is not None and condition.status == policy.status:
            found.append(Fault(policy.condition, condition.since, condition.since + policy.toleration_s))
    return min(found, key=lambda fault: fault.due, default=None)


def is_suspect(statuses: Iterable[tuple[str, str]], policies: Sequence[RepairPolicy]) -> bool:
    """Whether any of these conditions, by type and status, is one that nodes are repaired for."""
    return not {(policy.condition, policy.status) for policy in policies}.isdisjoint(statuses)


@attrs.frozen
class Companion:
    """A node of the same pool, the one in question included."""

    node: Node
    is_leaving: bool = False


def may_replace(fault: Fault, companions: Sequence[Companion], policies: Sequence[RepairPolicy]) -> bool:
    """Whether a node with this fault may be replaced now.

    When more than a fifth of the pool, rounded up, is unhealthy for however short a time, the cause is hardly in each of the nodes,
    and new ones would fare no better. Where one that joined since the fault began is well, this is known to be otherwise: then they
    are replaced one after the other, or nobody would ever be.
    """
    broken = [companion for companion in companions if fault_of(companion.node, policies) is not None]
    if len(broken) <= math.ceil(len(companions) * _TOLERATED_SHARE):
        return True
    if any(companion.is_leaving for companion in broken):
        return False
    well = (each.node for each in companions if each.node.is_ready and fault_of(each.node, policies) is None)
    return any(node.metadata.created > fault.since for node in well)
