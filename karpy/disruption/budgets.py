"""How many nodes of each pool may be disrupted at once (core specification 5.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable

from karpy.disruption.command import Reason
from karpy.errors import InvalidObject
from karpy.objects.nodepool import Budget, NodePool
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["allowed_disruptions", "disrupting"]


def allowed_disruptions(snapshot: Snapshot, pool: NodePool, reason: Reason | None) -> int:
    """How many more nodes of ``pool`` may go now for ``reason``; None: for one that budgets do not name.

    A budget with a schedule is held to be active at all times, which allows no more than the schedule would. One that
    cannot be read allows nothing.
    """
    members = [view for view in snapshot.nodes if view.pool == pool.name and view.is_managed and view.is_initialized]
    try:
        allowed = min(_limits(pool.budgets, reason, len(members)), default=len(members))
    except InvalidObject:
        return 0
    return max(0, allowed - disrupting(members))


def disrupting(views: Iterable[NodeView]) -> int:
    """How many of these nodes count against the budgets of their pool: they are going, or not ready."""
    return sum(1 for view in views if view.is_managed and view.is_initialized and view.derived(_is_disrupted))


def _is_disrupted(view: NodeView) -> bool:
    return view.is_leaving or view.node is None or not view.node.is_ready


def _limits(budgets: Iterable[Budget], reason: Reason | None, nodes: int) -> Iterable[int]:
    for budget in budgets:
        # Read even if it is for other reasons: a budget that cannot be read must not let anything through.
        count = _count(budget.nodes, nodes)
        if budget.reasons is None or (reason is not None and reason.value in budget.reasons):
            yield count


def _count(amount: str, nodes: int) -> int:
    """A number, or a percentage rounded up."""
    digits = amount.removesuffix("%")
    if not (digits.isascii() and digits.isdigit()):
        raise InvalidObject(f"{amount!r} is no number of nodes", path="budgets.nodes", accepted='"10" or "10%"')
    return math.ceil(int(digits) * nodes / 100) if amount.endswith("%") else int(digits)
