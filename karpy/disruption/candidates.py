"""Which nodes may be looked at at all, and why the others may not (core specification 5.2)."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceType, Price
from karpy.disruption.cost import current_price_of, disruption_cost, type_of
from karpy.disruption.headroom import NO_HEADROOM, Headroom, standing_headroom
from karpy.disruption.verdicts import BlockedBy, NotCandidate, NotWanted, Verdict
from karpy.objects.nodeclaim import CONSOLIDATABLE, DRIFTED
from karpy.objects.nodepool import WHEN_EMPTY, NodePool
from karpy.objects.pod import Pod
from karpy.settings import Settings
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["EMPTY", "Candidate", "by_savings", "candidates", "freed_at"]

EMPTY = NotWanted("Node is empty", is_told=False)
"""Why it is not consolidated: it may go for that alone."""


@attrs.frozen(eq=False, slots=False)
class Candidate:
    """A node that may be disrupted: its pool, what it costs, the pods that would have to move, and what its pool wants of it."""

    view: NodeView
    pool: NodePool
    instance_type: InstanceType | None
    """None: the pool has none of this name."""
    headroom: Headroom = NO_HEADROOM
    """What CapacityBuffers keep ready, here and on the other nodes."""
    hold: BlockedBy | None = None
    """What keeps methods from it that are graceful. Its claim has a deadline, so the others need not wait for that."""

    @property
    def claim(self) -> str:
        """The name of its claim."""
        return self.view.claim.name if self.view.claim is not None else ""

    @property
    def pods(self) -> tuple[Pod, ...]:
        return self.view.reschedulable_pods

    @functools.cached_property
    def price(self) -> Price:
        """What it costs per hour; 0 when its offering is unknown."""
        return current_price_of(self.view, self.instance_type)

    @functools.cached_property
    def has_drifted(self) -> bool:
        """Whether it is no longer what its pool asks for."""
        return self.view.claim is not None and self.view.claim.is_true(DRIFTED)

    @functools.cached_property
    def is_empty(self) -> bool:
        """Nothing runs here whose end would cost anything, and no room here is kept ready."""
        return self.disruption_cost <= 1.0 and not self.headroom.by_node.get(self.view.name)

    @property
    def disruption_cost(self) -> float:
        """1 and what it costs to move each pod; a pod that is worth nothing does not count (core specification 5.2)."""
        return self.view.derived(disruption_cost)

    @functools.cached_property
    def savings_ratio(self) -> float:
        return self.price / self.disruption_cost

    # What its pool wants of it

    @functools.cached_property
    def unwanted(self) -> NotWanted | None:
        """Why the pool does not want it to go, whatever runs on it: not at all, or not before it was left alone for long enough."""
        pool, claim = self.pool, self.view.claim
        if pool.is_static:
            return NotWanted(f'NodePool "{pool.name}" is static', is_told=False)
        if pool.consolidate_after_s is None:
            return NotWanted(f'NodePool "{pool.name}" has consolidation disabled')
        if claim is None or not claim.is_true(CONSOLIDATABLE):
            return _NOT_QUIET
        return None

    @functools.cached_property
    def unconsolidatable(self) -> NotWanted | None:
        """The same, or why it does not want it to go for the sake of money (core specification 5.6)."""
        pool = self.pool
        if pool.is_static:
            return self.unwanted
        if self.instance_type is None:
            return NotWanted(f'Instance Type "{self.view.labels.get(labels.INSTANCE_TYPE, "")}" not found')
        for key in (labels.CAPACITY_TYPE, labels.ZONE):
            if key not in self.view.labels:
                return NotWanted(f'Node does not have label "{key}"')
        if pool.consolidate_after_s is None:
            return self.unwanted
        if self.is_empty:
            return EMPTY
        if pool.consolidation_policy == WHEN_EMPTY:
            return NotWanted(f'NodePool "{pool.name}" has consolidation policy WhenEmpty, but node is not empty')
        return self.unwanted

    @property
    def may_go_empty(self) -> bool:
        """Whether its pool wants it to go, since nothing runs on it."""
        return self.is_empty and self.unwanted is None

    @property
    def may_be_consolidated(self) -> bool:
        """Whether its pool wants it to go if its pods have a cheaper place."""
        return self.unconsolidatable is None


_NOT_QUIET = NotWanted("Pods came or went within consolidateAfter", is_told=False)


def candidates(
    snapshot: Snapshot,
    catalog: Catalog,
    *,
    now: float,
    settings: Settings | None = None,
    busy: frozenset[str] = frozenset(),
) -> tuple[tuple[Candidate, ...], Mapping[str, Verdict]]:
    """Every managed node: those that may go, by some method at least, and why the others may not, by name.

    ``busy`` are the claims that commands are about already. What CapacityBuffers keep ready is worked out by ``settings``.
    """
    found: list[Candidate] = []
    refused: dict[str, Verdict] = {}
    headroom = standing_headroom(snapshot, catalog, settings)
    pools = {pool.name: pool for pool in snapshot.pools}
    for view in snapshot.nodes:
        if view.claim is None:
            continue
        pool = pools.get(view.pool)
        verdict: Verdict | None = _why_not(view, now, busy) or _without_pool(view, pool, catalog)
        held = None
        if verdict is None:
            held = _held_by(view, snapshot, now)
            verdict = None if _has_deadline(view) else held
        if verdict is not None or pool is None:
            refused[view.name] = verdict or NotCandidate("")
        else:
            found.append(Candidate(view, pool, type_of(view, catalog), headroom, held))
    return tuple(found), refused


def _why_not(view: NodeView, now: float, busy: frozenset[str]) -> Verdict | None:
    if view.claim is not None and view.claim.name in busy:
        return NotCandidate("Node is being disrupted")
    verdict = view.derived(_not_there)
    if verdict is None and view.nominated_until > now:
        return NotCandidate("Node is nominated for a pending pod")
    return verdict or view.derived(_not_to_be_touched)


def _not_there(view: NodeView) -> Verdict | None:
    """Not yet, or not for long."""
    if view.node is None:
        return NotCandidate("Nodeclaim does not have an associated node")
    if not view.is_initialized:
        return NotCandidate("Node isn't initialized")
    return NotCandidate("Node is deleting or marked for deletion") if view.is_leaving else None


def _not_to_be_touched(view: NodeView) -> Verdict | None:
    """For what stands on it."""
    if labels.NODEPOOL not in view.labels:
        return NotCandidate(f"Node doesn't have required label (label={labels.NODEPOOL})")
    for part in (view.node, view.claim):
        annotations = (part.metadata.annotations if part is not None else None) or {}
        if "true" in (annotations.get(labels.DO_NOT_DISRUPT), annotations.get(labels.DO_NOT_CONSOLIDATE)):
            return NotCandidate(f'Disruption is blocked through the "{labels.DO_NOT_DISRUPT}" annotation')
    return None


def _without_pool(view: NodeView, pool: NodePool | None, catalog: Catalog) -> Verdict | None:
    if pool is None or pool.name not in catalog.types:
        return NotCandidate(f"Nodepool not found (NodePool={view.pool or 'none'})")
    return None


def _has_deadline(view: NodeView) -> bool:
    """Whether its drain comes to an end whatever holds its pods."""
    return view.claim is not None and view.claim.termination_grace_period_s is not None


def _held_by(view: NodeView, snapshot: Snapshot, now: float) -> BlockedBy | None:
    """The pod that must not be disturbed, or that its PodDisruptionBudgets do not let go."""
    forbidding = next((pod for pod in view.derived(_pods_with_a_wish) if pod.is_protected(now)), None)
    if forbidding is not None:
        text = f'Pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod={forbidding.key})'
        return BlockedBy(forbidding.key, labels.DO_NOT_DISRUPT, text)
    for pod in view.derived(_pods_to_evict) if snapshot.budgets else ():
        held = snapshot.budgets_of(pod)
        names = " ".join(sorted(budget.metadata.key for budget in held))
        if len(held) > 1:
            text = f"Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{names}])"
            return BlockedBy(pod.key, f"PodDisruptionBudgets {names}", text)
        if any(budget.forbids_now(pod) for budget in held):
            text = f"Pdb prevents pod evictions (PodDisruptionBudget=[{names}])"
            return BlockedBy(pod.key, f"PodDisruptionBudget {names}", text)
    return None


def freed_at(snapshot: Snapshot, now: float) -> float:
    """When the passing of time alone next lets a node be looked at: no pods are on their way to it any more, or all of its pods
    have run for as long as they did not want to be disturbed. Infinity: never."""
    ends = [view.nominated_until for view in snapshot.nodes if view.nominated_until > now]
    held = (view.derived(_pods_with_a_wish) for view in snapshot.nodes if view.is_managed)
    ends += (max(pod.protected_until for pod in pods) for pods in held if pods)
    return min((end for end in ends if end > now), default=math.inf)


def _pods_with_a_wish(view: NodeView) -> tuple[Pod, ...]:
    """Those that do not want to be disturbed, at least for a while."""
    return tuple(pod for pod in view.pods if pod.is_active and pod.protected_s is not None)


def _pods_to_evict(view: NodeView) -> tuple[Pod, ...]:
    """But for those that nobody will evict."""
    return tuple(pod for pod in view.pods if pod.is_active and not (pod.is_static or pod.tolerates_disruption))


def by_savings(found: Iterable[Candidate]) -> list[Candidate]:
    """Those first that save the most for what their disruption costs; ties by name."""
    return sorted(found, key=lambda candidate: (-candidate.savings_ratio, candidate.view.name))
