"""How a pool's status is written: only what changed, onto the object that the user wrote."""

from __future__ import annotations

from typing import Any

from karpy.controllers.shared import Shared, conditions_patch
from karpy.objects.meta import Condition, find_condition
from karpy.objects.nodepool import RESTING, NodePool
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["write_conditions"]


def write_conditions(shared: Shared, pool: NodePool, conditions: tuple[Condition, ...], **fields: Any) -> None:
    """Write the conditions and other fields of the status, unless the pool says so already; the state hears of it at once. That a
    pool goes to rest is an event too.

    Raises:
        KubeError: above all a conflict, where somebody else wrote in the meantime.
    """
    if conditions == pool.conditions and not fields:
        return
    patch = conditions_patch(pool.metadata.resource_version, conditions, **fields)
    raw = shared.kube.patch(pool.origin, pool.name, patch, subresource="status")
    shared.state.apply(WatchEvent(EventType.MODIFIED, pool.origin, raw))
    resting = find_condition(conditions, RESTING)
    if resting is not None and resting.is_true and not pool.rests_because:
        shared.recorder.warning(pool.origin, pool.metadata, RESTING, resting.message or "")
