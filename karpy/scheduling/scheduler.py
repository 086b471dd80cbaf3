"""Which nodes do these pods need? `solve` puts pods on paper: on nodes that exist, on claims planned a moment ago, on new ones.

Source: core specification 3.4–3.6 and 3.10. Pods that are alike are one class and are placed one after another; what refused
a class for good is not asked again, so the cost grows with the number of classes, not with pods × nodes × instance types.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import Pod
from karpy.resources import Resources, total
from karpy.scheduling.aftermath import Aftermath, aftermath_of
from karpy.scheduling.bound import price_bound
from karpy.scheduling.claims import PlannedClaim, Template, templates_for
from karpy.scheduling.classes import PodClass, classify, read_pods
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.daemons import daemons_of
from karpy.scheduling.existing import ExistingNode, existing_nodes
from karpy.scheduling.limits import remaining_limits, within
from karpy.scheduling.openclaims import OpenClaims, Packing
from karpy.scheduling.opennodes import OpenNodes
from karpy.scheduling.plan import Plan, Unschedulable
from karpy.scheduling.reasons import Refusals
from karpy.scheduling.rungs import Rung
from karpy.scheduling.topology import Group, Topology
from karpy.state.snapshot import Snapshot
from karpy.taints import PREFER_NO_SCHEDULE

__all__ = ["MAX_INSTANCE_TYPES", "Run", "solve"]

_PACKINGS = (Packing.FULLEST, Packing.KARPENTER)

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
    packing: Packing | None = None,
    max_instance_types: int = MAX_INSTANCE_TYPES,
    respect_preferences: bool = True,
    strict_min_values: bool = True,
) -> Plan:
    """What to do about ``pods`` (default: `Snapshot.to_place`) in the cluster of ``snapshot``.

    Pure: the same input gives the same plan. One pod that cannot be read or placed never stops the others. Without
    ``respect_preferences`` only what is required counts. Without ``strict_min_values`` a ``minValues`` that cannot be met is
    lowered instead of refusing the pods.

    ``packing`` names the order in which planned machines are filled. By default machines are filled up one after another, and
    where there are few pods, or the plan leaves pods waiting or is dear, also evenly, as Karpenter does it; the better plan counts.
    """
    wanted = snapshot.to_place if pods is None else tuple(pods)
    plans = []
    for each in _PACKINGS if packing is None else (packing,):
        run = Run(snapshot, catalog, wanted, _Policy(respect_preferences, strict_min_values, each))
        run.place_all()
        plans.append(run.to_plan(max_instance_types))
        if _is_good(plans[-1], run, len(wanted)):
            break
    return min(plans, key=_badness)


def _is_good(plan: Plan, run: Run, pods: int) -> bool:
    """Whether another packing need not be tried: nothing is launched; or of many pods all have a place at a fair price."""
    if not plan.launches:
        return True
    if pods <= FEW_PODS or plan.unschedulable:
        return False
    needed = total(launch.requests for launch in plan.launches)
    return plan.price <= FAIR_PRICE * price_bound(needed, run.templates)


def _badness(plan: Plan) -> tuple[int, float, int]:
    """Lower is better: pods left without a place, then dollars, then machines."""
    return sum(len(part.pods) for part in plan.unschedulable), plan.price, len(plan.launches)


@attrs.frozen
class _Policy:
    respect_preferences: bool
    strict_min_values: bool
    packing: Packing


@attrs.define(eq=False)
class _Waiting:
    """Pods of one class that have no place yet."""

    pod_class: PodClass
    pods: Sequence[Pod]


class Run:
    """The scratch state of one solve; or, ``after`` another, of one for pods that come when all that it planned is there."""

    def __init__(
        self,
        snapshot: Snapshot,
        catalog: Catalog,
        pods: Sequence[Pod],
        policy: _Policy,
        after: Aftermath | None = None,
    ) -> None:
        daemons = daemons_of(snapshot.daemon_sets)
        self.snapshot = snapshot
        self.catalog = catalog
        self.policy = policy
        self.wanted = pods
        self.well_known = catalog.labels.well_known
        self.templates: tuple[Template, ...] = templates_for(
            snapshot.pools, catalog, daemons, strict_min_values=policy.strict_min_values
        )
        self.remaining: dict[str, Resources | None] = (
            remaining_limits(snapshot, catalog) if after is None else dict(after.remaining)
        )
        taints = (taint for template in self.templates for taint in template.taints)
        self.taints_may_be_preferences = any(taint.effect == PREFER_NO_SCHEDULE for taint in taints)
        readable, refused = read_pods(pods, catalog.labels, snapshot.namespaces, snapshot.storage)
        if not policy.respect_preferences:
            required = {c: c.without_preferences() for c in dict.fromkeys(read.constraints for read in readable)}
            readable = [attrs.evolve(read, constraints=required[read.constraints]) for read in readable]
        self.refused = [Unschedulable((pod.key,), reason) for pod, reason in refused]
        counted = snapshot if after is None else after.counted
        around = () if after is None else itertools.chain.from_iterable(planned.pods for planned in after.planned)
        self.topology = Topology(counted, self.templates, (*readable, *around), self.well_known)
        self.classes = classify(readable, (lambda _pod: ()) if self.topology.is_empty else self.topology.selecting)
        self.nodes: list[ExistingNode] = existing_nodes(snapshot, daemons)
        self.by_claim = {node.view.claim.name: node for node in self.nodes if node.view.claim is not None}
        self.open_nodes = OpenNodes(self.nodes)
        self.open_claims = OpenClaims(self.well_known, policy.packing)
        self.left_over: list[_Waiting] = []
        self.refusals = Refusals(self.templates, self.remaining)
        self._rungs: dict[tuple[Constraints, tuple[Group, ...]], tuple[Rung, ...]] = {}

    def place_all(self) -> None:
        """Go round until a whole round places nothing: a pod may become placeable through pods that came after it."""
        waiting = [_Waiting(pod_class, self._where_planned(pod_class)) for pod_class in self.classes]
        while waiting:
            left = [_Waiting(part.pod_class, self._place(part.pod_class, part.pods)) for part in waiting]
            left = [part for part in left if part.pods]
            before, after = (sum(len(part.pods) for part in parts) for parts in (waiting, left))
            waiting = left
            if before == after or self.topology.is_empty:
                break
        self.left_over = waiting

    def ladder(self, pod_class: PodClass) -> tuple[Rung, ...]:
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
            if node is None or not any(self.open_nodes.put(node, pod, pod_class, r) for r in self.ladder(pod_class)):
                waiting.append(pod)
        return waiting

    def _place(self, pod_class: PodClass, pods: Sequence[Pod]) -> Sequence[Pod]:
        """Place pods of one class; returns those that found no place.

        A rung on which no other pod matters, and that refused one pod, refuses all that come after it.
        """
        rungs = list(self.ladder(pod_class))
        self.open_nodes.begin()
        self.open_claims.begin()
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
            claim = PlannedClaim(template.base, template.base.mask & within(limit, template.columns))
            if claim.mask and claim.add(pod, pod_class, rung.options(template.base)):
                self.open_claims.open(claim, rung)
                if limit is not None:
                    self.remaining[template.pool.name] = limit - claim.largest_capacity(limit)
                return True
        return False

    def to_plan(self, max_types: int) -> Plan:
        launches, dropped, kept = [], [], []
        for claim in self.open_claims.claims:
            launch = claim.to_launch(max_types)
            if launch is not None:
                launches.append(launch)
                kept.append(claim)
            else:
                reason = f"minValues requirement is not met by the cheapest {max_types} instance types"
                dropped.append(Unschedulable(tuple(pod.key for pod in claim.pods), reason))
        return Plan(
            version=self.snapshot.version,
            launches=tuple(launches),
            nominations=tuple(node.to_nomination() for node in self.nodes if node.pods),
            unschedulable=(*self.refused, *dropped, *(self._unschedulable(part) for part in self.left_over)),
            aftermath=functools.partial(
                aftermath_of,
                snapshot=self.snapshot,
                catalog=self.catalog,
                policy=self.policy,
                max_instance_types=max_types,
                pods=self.wanted,
                nominated={node.view: node.pods for node in self.nodes if node.pods},
                planned=tuple(kept),
                remaining=self.remaining,
            ),
        )

    def _unschedulable(self, part: _Waiting) -> Unschedulable:
        refusals = functools.partial(self.refusals.of, part.pod_class, self.ladder(part.pod_class)[-1])
        return Unschedulable(tuple(pod.key for pod in part.pods), refusals=refusals)
