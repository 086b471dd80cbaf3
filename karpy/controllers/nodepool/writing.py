"""How a pool's status is written: only what changed, onto the object that the user wrote, with an event for each turn."""

from __future__ import annotations

from typing import Any

from karpy.controllers.shared import Shared, conditions_patch
from karpy.lifecycle.conditions import transitions
from karpy.objects.meta import Condition
from karpy.objects.nodepool import RESTING, NodePool
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["write_conditions"]


def write_conditions(shared: Shared, pool: NodePool, conditions: tuple[Condition, ...], **fields: Any) -> None:
    """Write the conditions and other fields of the status, unless the pool says so already; the state hears of it at once.

    Raises:
        KubeError: above all a conflict, where somebody else wrote in the meantime.
    """
    known = pool.conditions
    if conditions == known and not fields:
        return
    patch = conditions_patch(pool.metadata.resource_version, conditions, **fields)
    raw = shared.kube.patch(pool.origin, pool.name, patch, subresource="status")
    shared.state.apply(WatchEvent(EventType.MODIFIED, pool.origin, raw))
    for type_, told in transitions(known, conditions):
        tell = shared.recorder.warning if type_ == RESTING else shared.recorder.normal
        tell(pool.origin, pool.metadata, type_, told)
