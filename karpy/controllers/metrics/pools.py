"""What pools may have, have, cost, and may lose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from karpy.cloud.instancetype import Catalog
from karpy.controllers.metrics.nodes import amount_readings
from karpy.disruption.budgets import allowance
from karpy.disruption.command import Reason
from karpy.disruption.cost import price_of
from karpy.gauges import (
    NODEPOOLS_ALLOWED_DISRUPTIONS,
    NODEPOOLS_CONSUMING_BUDGETS,
    NODEPOOLS_COST,
    NODEPOOLS_DRIFTED,
    NODEPOOLS_LIMIT,
    NODEPOOLS_USAGE,
)
from karpy.metrics import Reading
from karpy.objects.driftmode import drift_rule
from karpy.objects.nodeclaim import DRIFTED
from karpy.objects.nodepool import NodePool
from karpy.resources import total, with_usual
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["read_pools"]


def read_pools(snapshot: Snapshot, catalog: Catalog, now: float) -> Iterator[Reading]:
    """The gauges of every pool that can be read. What has no known price costs nothing here."""
    members: dict[str, list[NodeView]] = {}
    for view in snapshot.nodes:
        members.setdefault(view.pool, []).append(view)
    for pool in snapshot.pools:
        yield from _read_pool(pool, members.get(pool.name, ()), snapshot, catalog, now)


def _read_pool(
    pool: NodePool, views: Sequence[NodeView], snapshot: Snapshot, catalog: Catalog, now: float
) -> Iterator[Reading]:
    own = {"nodepool": pool.name}
    yield from amount_readings(NODEPOOLS_LIMIT, pool.limits or {}, own)
    held = with_usual(total(view.capacity for view in views if not view.is_leaving))
    yield from amount_readings(NODEPOOLS_USAGE, held, own)
    yield Reading(NODEPOOLS_COST, sum(price_of(view, catalog) for view in views if view.is_managed), own)
    drifted = sum(view.claim is not None and view.claim.is_true(DRIFTED) for view in views)
    mode = drift_rule(pool.metadata.annotations or {}).mode
    yield Reading(NODEPOOLS_DRIFTED, drifted, {**own, "mode": mode.value})
    for reason in Reason:
        why = {**own, "reason": reason.value}
        found = allowance(snapshot, pool, reason, now)
        yield Reading(NODEPOOLS_ALLOWED_DISRUPTIONS, found.allowed, why)
        yield Reading(NODEPOOLS_CONSUMING_BUDGETS, found.disrupted, why)
