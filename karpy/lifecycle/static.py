"""Pools with a fixed number of nodes: how many are missing, and which of those that are too many go (core specification 5.13)."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from karpy.objects.nodepool import NodePool
from karpy.resources import NODES
from karpy.state.fleets import Fleet
from karpy.state.nodeview import NodeView

__all__ = ["Missing", "missing", "surplus"]


@attrs.frozen
class Missing:
    """So many are ``wanted``, and so many may be launched ``now``."""

    wanted: int
    now: int


def missing(pool: NodePool, fleet: Fleet, *, is_trying: bool = False) -> Missing:
    """How many machines the pool lacks. One that is to be replaced counts until it is deleted: its replacement is somebody else's
    business. Every machine that is still there counts against the limit. While a pool is tried it gets one at a time."""
    wanted = max((pool.replicas or 0) - len(fleet.active) - len(fleet.pending_disruption), 0)
    there = len(fleet.active) + len(fleet.pending_disruption) + len(fleet.deleting)
    now = wanted
    if pool.limits is not None and NODES in pool.limits:
        now = min(now, max(pool.limits[NODES] - there, 0))
    if is_trying:
        is_one_on_its_way = any(not view.is_registered for view in fleet.active)
        now = 0 if is_one_on_its_way else min(now, 1)
    return Missing(wanted, now)


def surplus(pool: NodePool, fleet: Fleet, cost: Callable[[NodeView], float]) -> tuple[NodeView, ...]:
    """The machines that are too many: first those that are not launched yet, then empty ones, then by what it costs to move their
    pods; those with pods that must not be disrupted come last. Among equals the youngest goes."""
    count = len(fleet.active) - (pool.replicas or 0)
    if count <= 0:
        return ()
    return tuple(sorted(fleet.active, key=lambda view: (*_rank(view, cost), -_created(view), view.name))[:count])


def _rank(view: NodeView, cost: Callable[[NodeView], float]) -> tuple[int, float]:
    if not view.provider_id:
        return 0, 0.0
    if any(pod.is_active and pod.protected_s is not None for pod in view.pods):
        return 3, cost(view)
    return (2, cost(view)) if view.reschedulable_pods else (1, 0.0)


def _created(view: NodeView) -> float:
    return view.claim.metadata.created if view.claim is not None else 0.0
