"""One pass over the pods that wait, with one packing: everything that a solve works with.

Source: core specification 3.4–3.6 and 3.10. Pods that are alike are one lot and are placed one after another; what refused a lot
for good is not asked again, so the cost grows with the number of classes, not with pods × nodes × instance types.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from karpy.cloud.instancetype import Catalog, Price
from karpy.objects.pod import Pod
from karpy.resources import Resources
from karpy.scheduling.aftermath import Aftermath, aftermath_of
from karpy.scheduling.batch import Batch
from karpy.scheduling.bound import bound_of
from karpy.scheduling.claims import Fit, PlannedClaim
from karpy.scheduling.classes import PodClass, ReadPod, classify
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.daemons import daemons_of
from karpy.scheduling.existing import ExistingNode, existing_nodes
from karpy.scheduling.groups import Group
from karpy.scheduling.launching import to_launch
from karpy.scheduling.limits import remaining_limits, within
from karpy.scheduling.lots import Lot, gathered, in_single_file
from karpy.scheduling.openclaims import EvenClaims, OpenClaims
from karpy.scheduling.opennodes import OpenNodes
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Plan, Unschedulable
from karpy.scheduling.policy import Policy
from karpy.scheduling.reasons import Refusals
from karpy.scheduling.rungs import Options, Rung, hosts_of
from karpy.scheduling.spare import Sizes
from karpy.scheduling.templates import Template, templates_for
from karpy.scheduling.thriftyclaims import ThriftyClaims
from karpy.scheduling.topology import Topology
from karpy.state.snapshot import Snapshot
from karpy.taints import PREFER_NO_SCHEDULE

__all__ = ["Run"]


class Run:
    """The scratch state of one pass."""

    def __init__(
        self,
        snapshot: Snapshot,
        catalog: Catalog,
        batch: Batch,
        policy: Policy,
        after: Aftermath | None = None,
    ) -> None:
        """With ``after`` it is for pods that come when all that another solve planned is there."""
        daemons = daemons_of(snapshot.daemon_sets, snapshot.daemon_pods)
        self.snapshot = snapshot
        self.catalog = catalog
        self.policy = policy
        self.batch = batch
        self.well_known = catalog.labels.well_known
        self.templates: tuple[Template, ...] = templates_for(
            snapshot.pools,
            catalog,
            daemons,
            strict_min_values=policy.strict_min_values,
            with_reservations=policy.reserved_capacity,
        )
        self.remaining: dict[str, Resources | None] = (
            remaining_limits(snapshot, catalog) if after is None else dict(after.remaining)
        )
        taints = (taint for template in self.templates for taint in template.taints)
        self.taints_may_be_preferences = any(taint.effect == PREFER_NO_SCHEDULE for taint in taints)
        counted = snapshot if after is None else after.counted
        around = () if after is None else itertools.chain.from_iterable(planned.pods for planned in after.planned)
        self.topology = Topology(counted, self.templates, (*batch.readable, *around), self.well_known)
        selecting = (lambda _pod: ()) if self.topology.is_empty else self.topology.selecting
        self.queue = [classify(part, selecting) for part in _real_first(batch.readable, snapshot.headroom)]
        self.nodes: list[ExistingNode] = existing_nodes(snapshot, daemons)
        self.by_claim = {node.view.claim.name: node for node in self.nodes if node.view.claim is not None}
        self.open_nodes = OpenNodes(self.nodes)
        self.open_claims = self._open_claims()
        self.left_over: list[Lot] = []
        self._others_matter = not self.topology.is_empty or any(t.reservations is not None for t in self.templates)
        """Whether a place for one pod may make one for another that was refused."""
        self.refusals = Refusals(self.templates, self.remaining, snapshot.pools)
        self._rungs: dict[tuple[Constraints, tuple[Group, ...]], tuple[Rung, ...]] = {}
        self._blank: dict[Hashable, Fit | None] = {}

    @property
    def classes(self) -> list[PodClass]:
        """All classes of pods that are looked at."""
        return [found for classes in self.queue for found in classes]

    def _open_claims(self) -> OpenClaims[Any]:
        if self.policy.packing is Packing.KARPENTER:
            return EvenClaims(self.well_known)
        alone = self._price_alone if self.policy.packing is Packing.FRUGAL else None
        return ThriftyClaims(self.well_known, Sizes(self.classes), alone)

    def place_all(self) -> None:
        """Every pod that has a place gets it; those that have none are left over."""
        for classes in self.queue:
            self.left_over.extend(self._place_part(classes))

    def _place_part(self, classes: Iterable[PodClass]) -> list[Lot]:
        """Go round until a whole round places nothing: a pod may become placeable through pods that came after it."""
        waiting = [Lot(pod_class, self._where_planned(pod_class)) for pod_class in classes]
        if self.policy.one_by_one:
            waiting = in_single_file(waiting)
        while waiting:
            before = sum(map(len, waiting))
            self._place_round(waiting)
            waiting = [lot for lot in waiting if lot]
            if sum(map(len, waiting)) == before or not self._others_matter:
                break
        return waiting

    def _place_round(self, lots: Sequence[Lot]) -> None:
        if self.policy.packing is Packing.KARPENTER or self.topology.is_empty:
            for lot in lots:
                self._place(lot)
            return
        for companions in gathered(lots, lambda lot: self.ladder(lot.pod_class)[0].gathers):
            if sum(map(len, companions)) > 1 and self.ladder(companions[0].pod_class)[0].gathers:
                self._place_together(companions)
            for lot in companions:
                self._place(lot)

    def ladder(self, pod_class: PodClass) -> tuple[Rung, ...]:
        """The rungs of a class, the strictest first."""
        selected_by: tuple[Group, ...] = pod_class.selected_by  # type: ignore[assignment]  # what `selecting` returned
        key = (pod_class.constraints, selected_by)
        found = self._rungs.get(key)
        if found is None:
            ladder = pod_class.constraints.ladder(taints_may_be_preferences=self.taints_may_be_preferences)
            found = self._rungs[key] = tuple(
                Rung(c, selected_by, self.topology, leads=self.policy.leads) for c in ladder
            )
        return found

    @property
    def leads_others(self) -> bool:
        """Whether any pod was to say where others have to go (see `Policy.leads`)."""
        return any(rung.leads_others for rungs in self._rungs.values() for rung in rungs)

    @property
    def is_sure(self) -> bool:
        """Whether no pod began in a domain by itself while others, whom it wants to be with, may turn out to be elsewhere."""
        return not any(group.began_in_doubt for group in self.topology.groups)

    def keep_planned(self) -> None:
        """Keep pods where an earlier pass planned them, of the classes to which no other pod matters."""
        for pod_class in self.classes:
            if all(rung.is_free for rung in self.ladder(pod_class)):
                self._where_planned(pod_class)

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
            alone = Lot(pod_class, (pod,))
            if node is None or not any(self.open_nodes.keep(node, alone, rung) for rung in self.ladder(pod_class)):
                waiting.append(pod)
        return waiting

    def _begin(self, pod_class: PodClass) -> None:
        self.open_nodes.begin()
        self.open_claims.begin(pod_class)
        self._blank.clear()

    def _place(self, lot: Lot) -> None:
        """Place as many pods of the lot as there are places for.

        A rung on which no other pod matters, and that refused one pod, refuses all that come after it.
        """
        rungs = list(self.ladder(lot.pod_class))
        self._begin(lot.pod_class)
        while lot:
            for rung in tuple(rungs):
                if self._put(lot, rung):
                    break
                if rung.is_free:
                    rungs.remove(rung)
            else:
                return  # the pods after it are alike, and nothing changed since

    def _place_together(self, lots: Sequence[Lot]) -> None:
        """Pods that want to be on one host with each other: a host that has room for all of them, if there is one."""
        first = lots[0].pod_class
        rung = self.ladder(first)[0]
        if hosts_of(rung.host_affinities):
            return  # where they are to be is known
        everyone = Lot.of_all(lots)
        self._begin(everyone.pod_class)
        if self._put(everyone, rung):
            for lot in lots:
                lot.take(len(lot))

    def _put(self, lot: Lot, rung: Rung) -> bool:
        return self.open_nodes.place(lot, rung) or self.open_claims.place(lot, rung) or self._on_new_claim(lot, rung)

    def _on_new_claim(self, lot: Lot, rung: Rung) -> bool:
        """A claim of the first template that can host the pods, counted against its pool's limits."""
        if not rung.allows_host(None):
            return False
        for template in self.templates:
            limit = self.remaining[template.pool.name]
            affordable = within(limit, template.columns)
            for start in template.starts:
                claim = PlannedClaim(start, start.mask & affordable)
                fit = self._first_fit(claim, lot.pod_class, rung.options(start)) if claim.mask else None
                if fit is not None:
                    self.open_claims.open(claim, lot, fit, rung)
                    if limit is not None:
                        self.remaining[template.pool.name] = limit - claim.largest_capacity(limit)
                    return True
        return False

    def _price_alone(self, lot: Lot, rung: Rung) -> Price:
        """What the next of the lot cost on a machine of their own; infinitely much where they get none."""
        if not rung.allows_host(None):
            return math.inf
        for template in self.templates:
            affordable = within(self.remaining[template.pool.name], template.columns)
            for start in template.starts:
                claim = PlannedClaim(start, start.mask & affordable)
                fit = self._first_fit(claim, lot.pod_class, rung.options(start)) if claim.mask else None
                if fit is not None:
                    return fit.price
        return math.inf

    def _first_fit(self, claim: PlannedClaim, pod_class: PodClass, options: Options) -> Fit | None:
        """What a new claim becomes with its first pod: worked out once for all pods that are alike, as long as what they may
        have stays the same."""
        reservations = claim.shape.template.reservations
        key = (claim.shape, claim.mask, options, reservations.version if reservations is not None else 0)
        if key not in self._blank:
            self._blank[key] = claim.fit(pod_class, options, by_size=self.policy.packing is not Packing.KARPENTER)
        fit = self._blank[key]
        return None if fit is None else fit._replace(amounts=dict(fit.amounts))

    def to_plan(self, max_types: int) -> Plan:
        launches, dropped, kept = [], [], []
        for claim in self.open_claims.claims:
            launch = to_launch(claim, max_types)
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
            unschedulable=(*self.batch.refused, *dropped, *(self._unschedulable(lot) for lot in self.left_over)),
            floor=functools.partial(bound_of, tuple(kept), self.classes, self.templates),
            aftermath=functools.partial(
                aftermath_of,
                snapshot=self.snapshot,
                catalog=self.catalog,
                policy=self.policy,
                max_instance_types=max_types,
                pods=self.batch.pods,
                nominated={node.view: node.pods for node in self.nodes if node.pods},
                planned=tuple(kept),
                remaining=self.remaining,
            ),
        )

    def _unschedulable(self, lot: Lot) -> Unschedulable:
        refusals = functools.partial(self.refusals.of, lot.pod_class, self.ladder(lot.pod_class)[-1])
        return Unschedulable(tuple(pod.key for pod in lot.pods), refusals=refusals)


def _real_first(pods: Sequence[ReadPod], headroom: Iterable[Pod]) -> tuple[Sequence[ReadPod], ...]:
    """The real pods, then the virtual ones: nobody goes elsewhere, or waits, for the sake of room in reserve."""
    virtual = {pod.metadata.uid for pod in headroom}
    if not virtual:
        return (pods,)
    parts: tuple[list[ReadPod], list[ReadPod]] = ([], [])
    for read in pods:
        parts[read.pod.metadata.uid in virtual].append(read)
    return parts
