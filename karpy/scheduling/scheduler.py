"""Which nodes do these pods need? `solve` puts pods on paper: on nodes that exist, on claims planned a moment ago, on new ones.

Source: core specification 3.4–3.6 and 3.10. Pods that are alike are one class and are placed one after another; what refused
a class for good is not asked again, so the cost grows with the number of classes, not with pods × nodes × instance types.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import Pod, TopologySpreadConstraint
from karpy.resources import Resources, total
from karpy.scheduling.bound import price_bound
from karpy.scheduling.claims import Fit, PlannedClaim, Template, templates_for
from karpy.scheduling.classes import PodClass, ReadPod, classify, read_pods
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.daemons import daemons_of
from karpy.scheduling.defaultspread import DefaultSpread
from karpy.scheduling.existing import ExistingNode, existing_nodes
from karpy.scheduling.headroom import set_apart
from karpy.scheduling.limits import remaining_limits, within
from karpy.scheduling.openclaims import EvenClaims, OpenClaims
from karpy.scheduling.opennodes import OpenNodes
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Plan, Unschedulable
from karpy.scheduling.reasons import explain_refusals
from karpy.scheduling.rungs import Options, Rung
from karpy.scheduling.spare import Sizes
from karpy.scheduling.thriftyclaims import ThriftyClaims
from karpy.scheduling.topology import Group, Topology
from karpy.state.snapshot import Snapshot
from karpy.taints import PREFER_NO_SCHEDULE

__all__ = ["MAX_INSTANCE_TYPES", "solve"]

_PACKINGS = (Packing.THRIFTY, Packing.KARPENTER)

FEW_PODS = 150
"""Up to so many pods both packings are tried in any case."""

FAIR_PRICE = 2.0
"""A plan that costs no more than so many times what it could cost at the very least is not made again in another way."""

MAX_INSTANCE_TYPES = 600
"""How many of the cheapest feasible types a launch keeps (Karpenter v1.8 and later)."""


def solve(
    snapshot: Snapshot,
    catalog: Catalog,
    pods: Iterable[Pod] | None = None,
    *,
    packing: Packing | str | None = None,
    max_instance_types: int = MAX_INSTANCE_TYPES,
    respect_preferences: bool = True,
    strict_min_values: bool = True,
    default_spread: Sequence[TopologySpreadConstraint] = (),
) -> Plan:
    """What to do about ``pods`` (default: `Snapshot.to_place`) in the cluster of ``snapshot``.

    Pure: the same input gives the same plan. One pod that cannot be read or placed never stops the others. Without
    ``respect_preferences`` only what is required counts. Without ``strict_min_values`` a ``minValues`` that cannot be met is
    lowered instead of refusing the pods. ``default_spread`` holds for pods that name no spread constraint of their own (see
    `karpy.scheduling.defaultspread`).

    Once ``pods`` have their places, the virtual pods of the snapshot's CapacityBuffers get room; `Plan.buffers` says where.

    ``packing`` names the order in which planned machines are filled. By default machines are filled up one after another, and
    where there are few pods, or the plan leaves pods waiting or is dear, also evenly, as Karpenter does it; the better plan counts.
    """
    wanted = snapshot.to_place if pods is None else tuple(pods)
    plans = []
    for each in _PACKINGS if packing is None else (Packing(packing),):
        policy = _Policy(respect_preferences, strict_min_values, each, default_spread)
        run = _Run(snapshot, catalog, wanted, policy)
        run.place_all()
        plans.append(set_apart(run.to_plan(max_instance_types), snapshot.buffers))
        if _is_good(plans[-1], run, len(wanted) + len(snapshot.headroom)):
            break
    return plans[0] if len(plans) == 1 else _better(*plans)


def _is_good(plan: Plan, run: _Run, pods: int) -> bool:
    """Whether another packing need not be tried: nothing is launched; or of many pods all have a place at a fair price."""
    if not plan.launches:
        return True
    if pods <= FEW_PODS or len(plan.unschedulable) > len(run.refused) or _unplaced_headroom(plan):
        return False
    needed = total(launch.requests for launch in plan.launches)
    return plan.price <= FAIR_PRICE * price_bound(needed, run.templates)


def _better(thrifty: Plan, karpenter: Plan) -> Plan:
    """The one that leaves fewer pods waiting, real ones before virtual ones; then the cheaper one, unless it has more machines and
    saves less than half."""
    waiting = [
        (sum(len(part.pods) for part in plan.unschedulable), _unplaced_headroom(plan)) for plan in (thrifty, karpenter)
    ]
    if waiting[0] != waiting[1]:
        return thrifty if waiting[0] < waiting[1] else karpenter
    cheaper, dearer = (thrifty, karpenter) if thrifty.price <= karpenter.price else (karpenter, thrifty)
    if len(cheaper.launches) > len(dearer.launches) and 2 * cheaper.price > dearer.price:
        return dearer
    return cheaper


def _unplaced_headroom(plan: Plan) -> int:
    return sum(buffer.unplaced for buffer in plan.buffers)


def _real_first(pods: list[ReadPod], headroom: Iterable[Pod]) -> tuple[list[ReadPod], ...]:
    """The real pods, then the virtual ones: nobody goes elsewhere, or waits, for the sake of room in reserve."""
    virtual = {pod.metadata.uid for pod in headroom}
    if not virtual:
        return (pods,)
    parts: tuple[list[ReadPod], list[ReadPod]] = ([], [])
    for read in pods:
        parts[read.pod.metadata.uid in virtual].append(read)
    return parts


@attrs.frozen
class _Policy:
    respect_preferences: bool
    strict_min_values: bool
    packing: Packing
    default_spread: Sequence[TopologySpreadConstraint]


@attrs.define(eq=False)
class _Waiting:
    """Pods of one class that have no place yet."""

    pod_class: PodClass
    pods: Sequence[Pod]


class _Run:
    """The scratch state of one solve."""

    def __init__(self, snapshot: Snapshot, catalog: Catalog, pods: Sequence[Pod], policy: _Policy) -> None:
        daemons = daemons_of(snapshot.daemon_sets)
        self.snapshot = snapshot
        self.well_known = catalog.labels.well_known
        self.templates: tuple[Template, ...] = templates_for(
            snapshot.pools, catalog, daemons, strict_min_values=policy.strict_min_values
        )
        self.remaining: dict[str, Resources | None] = remaining_limits(snapshot, catalog)
        taints = (taint for template in self.templates for taint in template.taints)
        self.taints_may_be_preferences = any(taint.effect == PREFER_NO_SCHEDULE for taint in taints)
        readable, refused = read_pods(
            (*pods, *snapshot.headroom),
            catalog.labels,
            snapshot.namespaces,
            snapshot.storage,
            unsupported=catalog.unsupported_volumes,
            default_spread=DefaultSpread(policy.default_spread, snapshot.workloads) if policy.default_spread else None,
        )
        if not policy.respect_preferences:
            required = {c: c.without_preferences() for c in dict.fromkeys(read.constraints for read in readable)}
            readable = [attrs.evolve(read, constraints=required[read.constraints]) for read in readable]
        self.refused = [Unschedulable((pod.key,), why.reason, kind=why.kind) for pod, why in refused]
        self.topology = Topology(snapshot, self.templates, readable, self.well_known)
        selecting = (lambda _pod: ()) if self.topology.is_empty else self.topology.selecting
        self.queue = [classify(part, selecting) for part in _real_first(readable, snapshot.headroom)]
        self.nodes: list[ExistingNode] = existing_nodes(snapshot, daemons)
        self.by_claim = {node.view.claim.name: node for node in self.nodes if node.view.claim is not None}
        self.open_nodes = OpenNodes(self.nodes)
        self.packing = policy.packing
        self.open_claims = self._open_claims(policy.packing)
        self.left_over: list[_Waiting] = []
        self._blank: dict[Hashable, Fit | None] = {}
        self._rungs: dict[tuple[Constraints, tuple[Group, ...]], tuple[Rung, ...]] = {}

    def _open_claims(self, packing: Packing) -> OpenClaims[Any]:
        if packing is Packing.KARPENTER:
            return EvenClaims(self.well_known)
        return ThriftyClaims(self.well_known, Sizes(c for classes in self.queue for c in classes))

    def place_all(self) -> None:
        """Every pod that has a place gets it; those that have none are left over."""
        for classes in self.queue:
            self.left_over.extend(self._place_part(classes))

    def _place_part(self, classes: Iterable[PodClass]) -> list[_Waiting]:
        """Go round until a whole round places nothing: a pod may become placeable through pods that came after it."""
        waiting = [_Waiting(pod_class, self._where_planned(pod_class)) for pod_class in classes]
        while waiting:
            left = [_Waiting(part.pod_class, self._place(part.pod_class, part.pods)) for part in waiting]
            left = [part for part in left if part.pods]
            before, after = (sum(len(part.pods) for part in parts) for parts in (waiting, left))
            waiting = left
            if before == after or self.topology.is_empty:
                break
        return waiting

    def _ladder(self, pod_class: PodClass) -> tuple[Rung, ...]:
        """The rungs of a class, the strictest first."""
        selected_by: tuple[Group, ...] = pod_class.selected_by  # type: ignore[assignment]  # what `selecting` returned
        key = (pod_class.constraints, selected_by)
        found = self._rungs.get(key)
        if found is None:
            ladder = pod_class.constraints.ladder(taints_may_be_preferences=self.taints_may_be_preferences)
            found = self._rungs[key] = tuple(Rung(c, selected_by, self.topology) for c in ladder)
        return found

    def _where_planned(self, pod_class: PodClass) -> Sequence[Pod]:
        """Keep pods with the claim that an earlier pass launched for them, and return the others.

        Done for all pods before any is placed anew: nobody takes a place that was made for somebody else.
        """
        assigned = self.snapshot.assignments
        if not assigned:
            return pod_class.pods
        waiting = []
        for pod in pod_class.pods:
            node = self.by_claim.get(assigned.get(pod.metadata.uid, ""))
            if node is None or not any(self.open_nodes.put(node, pod, pod_class, r) for r in self._ladder(pod_class)):
                waiting.append(pod)
        return waiting

    def _place(self, pod_class: PodClass, pods: Sequence[Pod]) -> Sequence[Pod]:
        """Place pods of one class; returns those that found no place.

        A rung on which no other pod matters, and that refused one pod, refuses all that come after it.
        """
        rungs = list(self._ladder(pod_class))
        self.open_nodes.begin()
        self.open_claims.begin(pod_class)
        self._blank.clear()
        for position, pod in enumerate(pods):
            for rung in tuple(rungs):
                if self._put(pod, pod_class, rung):
                    break
                if rung.is_free:
                    rungs.remove(rung)
            else:
                return pods[position:]  # the pods after it are alike, and nothing changed since
        return ()

    def _put(self, pod: Pod, pod_class: PodClass, rung: Rung) -> bool:
        return (
            self.open_nodes.place(pod, pod_class, rung)
            or self.open_claims.place(pod, pod_class, rung)
            or self._on_new_claim(pod, pod_class, rung)
        )

    def _on_new_claim(self, pod: Pod, pod_class: PodClass, rung: Rung) -> bool:
        """A claim of the first template that can host the pod, counted against its pool's limits."""
        if not rung.allows_host(None):
            return False
        for template in self.templates:
            limit = self.remaining[template.pool.name]
            affordable = within(limit, template.columns)
            for start in template.starts:
                claim = PlannedClaim(start, start.mask & affordable)
                fit = self._first_fit(claim, pod_class, rung.options(start)) if claim.mask else None
                if fit is not None:
                    claim.take(pod, pod_class, fit)
                    self.open_claims.open(claim, rung)
                    if limit is not None:
                        self.remaining[template.pool.name] = limit - claim.largest_capacity(limit)
                    return True
        return False

    def _first_fit(self, claim: PlannedClaim, pod_class: PodClass, options: Options) -> Fit | None:
        """What a new claim becomes with its first pod: worked out once for all pods that are alike, as long as what they may
        have stays the same."""
        reservations = claim.shape.template.reservations
        key = (claim.shape, claim.mask, options, reservations.version if reservations is not None else 0)
        if key not in self._blank:
            self._blank[key] = claim.fit(pod_class, options, by_size=self.packing is Packing.THRIFTY)
        fit = self._blank[key]
        return None if fit is None else fit._replace(amounts=dict(fit.amounts))

    def to_plan(self, max_types: int) -> Plan:
        launches, dropped = [], []
        for claim in self.open_claims.claims:
            launch = claim.to_launch(max_types)
            if launch is not None:
                launches.append(launch)
            else:
                reason = f"minValues requirement is not met by the cheapest {max_types} instance types"
                dropped.append(Unschedulable(tuple(pod.key for pod in claim.pods), reason))
        return Plan(
            version=self.snapshot.version,
            launches=tuple(launches),
            nominations=tuple(node.to_nomination() for node in self.nodes if node.pods),
            unschedulable=(*self.refused, *dropped, *(self._unschedulable(part) for part in self.left_over)),
        )

    def _unschedulable(self, part: _Waiting) -> Unschedulable:
        refusals = explain_refusals(part.pod_class, self.templates, self.remaining, self._ladder(part.pod_class)[-1])
        reason = "; ".join(str(refusal) for refusal in refusals) or "no nodepool is ready to launch nodes"
        return Unschedulable(tuple(pod.key for pod in part.pods), reason, refusals)
