"""Which nodes may be looked at at all, and why the others may not (core specification 5.2)."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, Price, current_price
from karpy.disruption.headroom import NO_HEADROOM, Headroom, standing_headroom
from karpy.objects.nodeclaim import CONSOLIDATABLE
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.settings import Settings
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Candidate", "NotCandidate", "candidates", "disruption_cost"]


@attrs.frozen(eq=False)
class Candidate:
    """A node that may be disrupted: its pool, what it costs, and the pods that would have to move."""

    view: NodeView
    pool: NodePool
    price: Price
    headroom: Headroom = NO_HEADROOM
    """What CapacityBuffers keep ready, here and on the other nodes."""

    @property
    def pods(self) -> tuple[Pod, ...]:
        return self.view.reschedulable_pods

    @property
    def is_empty(self) -> bool:
        """Nothing runs here whose end would cost anything, and no room here is kept ready."""
        return self.disruption_cost <= 1.0 and not self.headroom.by_node.get(self.view.name)

    @property
    def disruption_cost(self) -> float:
        """1 and what it costs to move each pod; a pod that is worth nothing does not count (core specification 5.2)."""
        return self.view.derived(disruption_cost)

    @property
    def savings_ratio(self) -> float:
        return self.price / self.disruption_cost


def disruption_cost(view: NodeView) -> float:
    """1 and what it costs to move each pod of the machine."""
    return 1.0 + sum(max(0.0, eviction_cost(pod)) for pod in view.reschedulable_pods)


@attrs.frozen
class NotCandidate:
    """Why a managed node may not be disrupted now."""

    node: str
    reason: str


def eviction_cost(pod: Pod) -> float:
    """From -10 to 10: 1, moved by the pod's deletion cost and priority."""
    deletion_cost = (pod.metadata.annotations or {}).get(labels.POD_DELETION_COST, "0")
    try:
        wish = float(int(deletion_cost))
    except ValueError:
        wish = 0.0
    return max(-10.0, min(10.0, 1.0 + wish / 2**27 + (pod.spec.priority or 0) / 2**25))


def candidates(
    snapshot: Snapshot, catalog: Catalog, *, now: float, settings: Settings | None = None
) -> tuple[tuple[Candidate, ...], tuple[NotCandidate, ...]]:
    """Every managed node with a verdict. What CapacityBuffers keep ready is worked out by ``settings``."""
    found, refused = [], []
    headroom = standing_headroom(snapshot, catalog, settings)
    pools = {pool.name: pool for pool in snapshot.pools}
    for view in snapshot.nodes:
        if view.claim is None:
            continue
        reason = _why_not(view, snapshot, now)
        pool = pools.get(view.pool)
        if reason is None and pool is None:
            reason = f"NodePool not found (NodePool={view.pool or 'none'})"
        if reason is not None or pool is None:
            refused.append(NotCandidate(view.name, reason or ""))
            continue
        found.append(Candidate(view, pool, price_of(view, catalog), headroom))
    return tuple(found), tuple(refused)


def _why_not(view: NodeView, snapshot: Snapshot, now: float) -> str | None:
    claim = view.claim
    assert claim is not None, "only managed nodes are asked about"
    if view.is_leaving:
        return "Node is deleting or marked for deletion"
    if view.node is None or not view.is_initialized:
        return "Node isn't initialized"
    if view.nominated_until > now:
        return "Node is nominated for a pending pod"
    annotations = view.node.metadata.annotations or {}
    if "true" in (annotations.get(labels.DO_NOT_DISRUPT), annotations.get(labels.DO_NOT_CONSOLIDATE)):
        return f'Disruption is blocked through the "{labels.DO_NOT_DISRUPT}" annotation'
    return _blocking_pod(view, snapshot, now)


def _blocking_pod(view: NodeView, snapshot: Snapshot, now: float) -> str | None:
    forbidding = next((pod for pod in view.derived(_pods_with_a_wish) if pod.is_protected(now)), None)
    if forbidding is not None:
        return f'Pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod={forbidding.key})'
    for pod in view.derived(_pods_to_evict) if snapshot.budgets else ():
        held = snapshot.budgets_of(pod)
        if len(held) > 1 or any(budget.forbids_now(pod) for budget in held):
            return f"Pdb prevents pod evictions (PodDisruptionBudget={held[0].metadata.key})"
    return None


def _pods_with_a_wish(view: NodeView) -> tuple[Pod, ...]:
    """Those that do not want to be disturbed, at least for a while."""
    return tuple(pod for pod in view.pods if pod.is_active and pod.protected_s is not None)


def _pods_to_evict(view: NodeView) -> tuple[Pod, ...]:
    """But for those that nobody will evict."""
    return tuple(pod for pod in view.pods if pod.is_active and not (pod.is_static or pod.tolerates_disruption))


def price_of(view: NodeView, catalog: Catalog) -> Price:
    """What the node costs per hour; 0 when its offering is unknown."""
    types = catalog.types.get(view.pool)
    found = types.by_name(view.labels.get(labels.INSTANCE_TYPE, "")) if types is not None else None
    if found is None:
        return 0.0
    return current_price(found, view.labels.get(labels.ZONE, ""), view.labels.get(labels.CAPACITY_TYPE, "")) or 0.0


def by_savings(found: Iterable[Candidate]) -> list[Candidate]:
    """Those first that save the most for what their disruption costs; ties by name."""
    return sorted(found, key=lambda candidate: (-candidate.savings_ratio, candidate.view.name))


def is_consolidatable(candidate: Candidate) -> bool:
    """Whether the pool wants that at all, and the node has been left alone for as long as the pool asks."""
    pool, claim = candidate.pool, candidate.view.claim
    if pool.is_static or pool.consolidate_after_s is None:
        return False
    return claim is not None and claim.is_true(CONSOLIDATABLE)
