"""Pools with a fixed number of nodes: how many are missing, and which of those that are too many go (core specification 5.13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from karpy.objects.nodepool import NodePool
from karpy.resources import NODES
from karpy.state.nodeview import NodeView

__all__ = ["Census", "Missing", "census", "missing", "surplus"]


@attrs.frozen
class Census:
    """The machines of one pool that have claims. A command is about those that are ``pending``; nobody has deleted them yet."""

    active: tuple[NodeView, ...] = ()
    pending: tuple[NodeView, ...] = ()
    deleting: tuple[NodeView, ...] = ()

    @property
    def has_one_on_its_way(self) -> bool:
        """Whether a machine is being launched, or was and has not joined."""
        return any(not view.is_registered for view in self.active)

    def __len__(self) -> int:
        return len(self.active) + len(self.pending) + len(self.deleting)


@attrs.frozen
class Missing:
    """So many are ``wanted``, and so many may be launched ``now``."""

    wanted: int
    now: int


def census(views: Iterable[NodeView], pool: str) -> Census:
    """The machines of the pool, told apart."""
    held = [view for view in views if view.pool == pool and view.claim is not None]
    deleting = tuple(view for view in held if view.claim is not None and view.claim.metadata.is_deleting)
    pending = tuple(view for view in held if view.is_leaving and view not in deleting)
    return Census(tuple(view for view in held if not view.is_leaving), pending, deleting)


def missing(pool: NodePool, found: Census, *, is_trying: bool = False) -> Missing:
    """How many machines the pool lacks. One that is to be replaced counts until it is deleted: its replacement is somebody else's
    business. Every machine that is still there counts against the limit. While a pool is tried it gets one at a time."""
    wanted = max((pool.replicas or 0) - len(found.active) - len(found.pending), 0)
    now = wanted
    if pool.limits is not None and NODES in pool.limits:
        now = min(now, max(pool.limits[NODES] - len(found), 0))
    if is_trying:
        now = 0 if found.has_one_on_its_way else min(now, 1)
    return Missing(wanted, now)


def surplus(pool: NodePool, found: Census, cost: Callable[[NodeView], float]) -> tuple[NodeView, ...]:
    """The machines that are too many: first those that are not launched yet, then empty ones, then by what it costs to move their
    pods; those with pods that must not be disrupted come last. Among equals the youngest goes."""
    count = len(found.active) - (pool.replicas or 0)
    if count <= 0:
        return ()
    return tuple(sorted(found.active, key=lambda view: (*_rank(view, cost), -_created(view), view.name))[:count])


def _rank(view: NodeView, cost: Callable[[NodeView], float]) -> tuple[int, float]:
    if not view.provider_id:
        return 0, 0.0
    if any(pod.is_active and pod.is_do_not_disrupt for pod in view.pods):
        return 3, cost(view)
    return (2, cost(view)) if view.reschedulable_pods else (1, 0.0)


def _created(view: NodeView) -> float:
    return view.claim.metadata.created if view.claim is not None else 0.0
