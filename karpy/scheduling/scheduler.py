"""Which nodes do these pods need? `solve` puts pods on paper: on nodes that exist, on claims planned a moment ago, on new ones.

Source: core specification 3.4–3.6. Pods that are alike are one class and are placed one after another; whatever refused a
class once is not asked again, so the cost grows with the number of classes, not with pods × nodes × instance types.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import Pod
from karpy.resources import Resources
from karpy.scheduling.claims import PlannedClaim, Template, templates_for
from karpy.scheduling.classes import Constraints, PodClass, classify
from karpy.scheduling.daemons import daemons_of
from karpy.scheduling.existing import ExistingNode, existing_nodes
from karpy.scheduling.limits import remaining_limits, within
from karpy.scheduling.plan import Plan, Unschedulable
from karpy.scheduling.reasons import explain_refusals
from karpy.state.snapshot import Snapshot
from karpy.taints import PREFER_NO_SCHEDULE

__all__ = ["MAX_INSTANCE_TYPES", "solve"]

MAX_INSTANCE_TYPES = 600
"""How many of the cheapest feasible types a launch keeps (Karpenter v1.8 and later)."""


def solve(
    snapshot: Snapshot,
    catalog: Catalog,
    pods: Iterable[Pod] | None = None,
    *,
    max_instance_types: int = MAX_INSTANCE_TYPES,
) -> Plan:
    """What to do about ``pods`` (default: `Snapshot.to_place`) in the cluster of ``snapshot``.

    Pure: the same input gives the same plan. One pod that cannot be read or placed never stops the others.
    """
    run = _Run(snapshot, catalog)
    classes = run.admit(snapshot.to_place if pods is None else pods)
    waiting = [run.where_planned(pod_class) for pod_class in classes]
    for pod_class, members in zip(classes, waiting, strict=True):
        run.place(pod_class, members)
    return run.to_plan(max_instance_types)


@attrs.define(eq=False)
class _Run:
    """The scratch state of one solve."""

    snapshot: Snapshot
    catalog: Catalog
    nodes: list[ExistingNode] = attrs.field(init=False)
    by_claim: dict[str, ExistingNode] = attrs.field(init=False)
    templates: tuple[Template, ...] = attrs.field(init=False)
    remaining: dict[str, Resources | None] = attrs.field(init=False)
    has_preferences_in_taints: bool = attrs.field(init=False)
    claims: list[PlannedClaim] = attrs.field(factory=list)
    turn: int = 0
    refused: list[Unschedulable] = attrs.field(factory=list)
    left_over: list[tuple[PodClass, list[Pod]]] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        daemons = daemons_of(self.snapshot.daemon_sets)
        self.nodes = existing_nodes(self.snapshot, daemons)
        self.by_claim = {node.view.claim.name: node for node in self.nodes if node.view.claim is not None}
        self.templates = templates_for(self.snapshot.pools, self.catalog, daemons)
        self.remaining = remaining_limits(self.snapshot, self.catalog)
        taints = (taint for template in self.templates for taint in template.taints)
        self.has_preferences_in_taints = any(taint.effect == PREFER_NO_SCHEDULE for taint in taints)

    def admit(self, pods: Iterable[Pod]) -> list[PodClass]:
        """The classes of the pods that may be placed at all; the others are refused with their reason."""
        classes, refused = classify(pods, self.catalog.labels)
        self.refused.extend(Unschedulable((pod.key,), reason) for pod, reason in refused)
        return classes

    def place(self, pod_class: PodClass, waiting: list[Pod]) -> None:
        """Place these pods of one class: on what exists, on claims planned in this solve, on new ones."""
        constraints: Constraints | None = pod_class.constraints
        while waiting and constraints is not None:
            relaxed = attrs.evolve(pod_class, constraints=constraints)
            waiting = self._on_existing(relaxed, waiting)
            waiting = self._on_claims(relaxed, waiting)
            constraints = constraints.relax(taints_may_be_preferences=self.has_preferences_in_taints)
        if waiting:
            self.left_over.append((pod_class, waiting))

    def where_planned(self, pod_class: PodClass) -> list[Pod]:
        """Keep pods with the claim that an earlier pass launched for them, and return the others.

        Done for all pods before any is placed anew: nobody takes a place that was made for somebody else.
        """
        assigned = self.snapshot.assignments
        if not assigned:
            return pod_class.pods
        rungs = [attrs.evolve(pod_class, constraints=rung) for rung in pod_class.constraints.ladder()]
        waiting = []
        for pod in pod_class.pods:
            node = self.by_claim.get(assigned.get(pod.metadata.uid, ""))
            if node is None or not any(node.add(pod, rung) for rung in rungs):
                waiting.append(pod)
        return waiting

    def _on_existing(self, pod_class: PodClass, waiting: list[Pod]) -> list[Pod]:
        placed = 0
        for node in self.nodes:
            while placed < len(waiting) and node.add(waiting[placed], pod_class):
                placed += 1
            if placed == len(waiting):
                break
        return waiting[placed:]

    def _on_claims(self, pod_class: PodClass, waiting: list[Pod]) -> list[Pod]:
        """The claim with the fewest pods first, of several the one that grew last (Karpenter's order). A claim that refused
        is out, since it can only get fuller."""
        open_claims = [(*claim.rank, index) for index, claim in enumerate(self.claims)]
        heapq.heapify(open_claims)
        for position, pod in enumerate(waiting):
            while open_claims:
                claim = self.claims[open_claims[0][2]]
                if claim.add(pod, pod_class):
                    self.turn += 1
                    claim.rank = (len(claim.pods), -self.turn)
                    heapq.heapreplace(open_claims, (*claim.rank, open_claims[0][2]))
                    break
                heapq.heappop(open_claims)
            else:
                opened = self._new_claim(pod, pod_class)
                if opened is None:
                    return waiting[position:]
                heapq.heappush(open_claims, (*opened.rank, len(self.claims) - 1))
        return []

    def _new_claim(self, pod: Pod, pod_class: PodClass) -> PlannedClaim | None:
        """A claim of the first template that can host the pod, counted against its pool's limits."""
        for template in self.templates:
            limit = self.remaining[template.pool.name]
            claim = PlannedClaim(template.base, template.base.mask & within(limit, template.columns))
            if claim.mask and claim.add(pod, pod_class):
                claim.rank = (1, len(self.claims))
                self.claims.append(claim)
                if limit is not None:
                    self.remaining[template.pool.name] = limit - claim.largest_capacity(limit)
                return claim
        return None

    def to_plan(self, max_types: int) -> Plan:
        return Plan(
            version=self.snapshot.version,
            launches=tuple(claim.to_launch(max_types) for claim in self.claims),
            nominations=tuple(node.to_nomination() for node in self.nodes if node.pods),
            unschedulable=(*self.refused, *(self._unschedulable(*left) for left in self.left_over)),
        )

    def _unschedulable(self, pod_class: PodClass, pods: list[Pod]) -> Unschedulable:
        refusals = explain_refusals(pod_class, self.templates, self.remaining)
        reason = "; ".join(str(refusal) for refusal in refusals) or "no nodepool is ready to launch nodes"
        return Unschedulable(tuple(pod.key for pod in pods), reason, refusals)
