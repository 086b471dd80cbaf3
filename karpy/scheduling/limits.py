"""What is left under the limits of pools."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from karpy import labels
from karpy.cloud.instancetype import Catalog, allocatable_groups
from karpy.resources import NODES, Resources, total
from karpy.scheduling.instances import TypeColumns
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["counted", "remaining_limits", "usage", "within"]


def usage(snapshot: Snapshot, pools: Collection[str], catalog: Catalog) -> dict[str, Resources]:
    """By pool, the capacity of its machines that are not leaving."""
    found: dict[str, list[Resources]] = {name: [] for name in pools}
    for view in snapshot.nodes if pools else ():
        if view.pool in found and not view.is_leaving:
            found[view.pool].append(counted(view, catalog))
    return {name: total(amounts) for name, amounts in found.items()}


def counted(view: NodeView, catalog: Catalog) -> Resources:
    """What a machine counts against the limits of its pool. A claim that was not launched yet counts as the largest machine that
    it may become, so that passes in quick succession cannot overshoot a limit together."""
    claim = view.claim
    if claim is None or claim.capacity or view.node is not None:
        return view.capacity
    named = claim.requirements.get(labels.INSTANCE_TYPE)
    types = catalog.types.get(view.pool)
    possible = [t for t in types or () if named is None or named.has(t.name)]
    most = Resources()
    for instance_type in possible:
        for machine in allocatable_groups(instance_type):
            most = most.maximum(machine.capacity)
    return most + {NODES: 1}


def remaining_limits(snapshot: Snapshot, catalog: Catalog) -> dict[str, Resources | None]:
    """Per pool what is left of each limited resource; None where the pool has no limits."""
    used = usage(snapshot, [pool.name for pool in snapshot.pools if pool.limits is not None], catalog)
    return {pool.name: _left(pool.limits, used.get(pool.name, Resources())) for pool in snapshot.pools}


def _left(limits: Resources | None, used: Resources) -> Resources | None:
    return None if limits is None else Resources({name: most - used.get(name, 0) for name, most in limits.items()})


def within(remaining: Mapping[str, int] | None, found: TypeColumns) -> int:
    """The types of which one more does not exceed what is left."""
    mask = found.all
    for name, left in (remaining or {}).items():
        if name == NODES:
            mask = mask if left > 0 else 0
        else:
            mask &= found.not_larger(name, left)
    return mask
