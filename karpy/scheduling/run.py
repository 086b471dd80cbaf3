"""One pass over the pods that wait, with one packing: everything that a solve works with.

Source: core specification 3.4–3.6 and 3.10. Pods that are alike are one lot and are placed one after another; what refused a lot
for good is not asked again, so the cost grows with the number of classes, not with pods × nodes × instance types.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from karpy.cloud.instancetype import Price
from karpy.objects.pod import Pod
from karpy.scheduling.aftermath import aftermath_of
from karpy.scheduling.batch import Batch
from karpy.scheduling.bound import bound_of
from karpy.scheduling.claims import Fit, PlannedClaim
from karpy.scheduling.classes import PodClass, ReadPod, classify
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.existing import ExistingNode
from karpy.scheduling.ground import Absent, Ground
from karpy.scheduling.groups import Group
from karpy.scheduling.launching import to_launch
from karpy.scheduling.limits import within
from karpy.scheduling.lots import Lot, gathered, in_single_file
from karpy.scheduling.openclaims import EvenClaims, OpenClaims
from karpy.scheduling.opennodes import OpenNodes
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Launch, Nomination, Plan, Unschedulable
from karpy.scheduling.policy import Policy
from karpy.scheduling.reasons import Refusals
from karpy.scheduling.reservations import Reservations
from karpy.scheduling.rungs import Options, Rung, hosts_of
from karpy.scheduling.spare import Sizes
from karpy.scheduling.stopping import Stop
from karpy.scheduling.thriftyclaims import ThriftyClaims
from karpy.scheduling.topology import Topology
from karpy.state.snapshot import Snapshot

__all__ = ["Run"]

_NOBODY = Absent()


class Run:
    """The scratch state of one pass."""

    def __init__(
        self,
        ground: Ground,
        batch: Batch,
        policy: Policy,
        *,
        around: Iterable[ReadPod] = (),
        absent: Absent = _NOBODY,
    ) -> None:
        """``around`` are pods that have a place on machines which are planned already; ``absent`` are nodes that are not there."""
        self.ground = ground
        self.policy = policy
        self.batch = batch
        self.well_known = ground.well_known
        self.templates = ground.templates
        self.remaining = ground.remaining(absent)
        takers = [template.columns for template in self.templates if template.takes_reservations]
        self.reservations = Reservations.of(takers)
        gone = absent.positions
        names = [view.name for view in absent.views]
        self.topology = Topology(ground.census, (*batch.readable, *around), gone, names)
        selecting = (lambda _pod: ()) if self.topology.is_empty else self.topology.selecting
        parts = _real_first(batch.readable, ground.snapshot.headroom)
        self.queue = [classify(part, selecting, batch.shut) for part in parts]
        by_index = ground.floor.by_index
        self.open_nodes = OpenNodes(ground.floor, [by_index[index] for index in gone if index in by_index])
        self.open_claims = self._open_claims()
        self.left_over: list[Lot] = []
        self.others_matter = not self.topology.is_empty or self.reservations is not None
        """Whether a place for one pod may make one for another that was refused."""
        self._stop: Stop | None = None
        self._is_cut = False
        self._rungs: dict[tuple[Constraints, tuple[Group, ...]], tuple[Rung, ...]] = {}
        self._blank: dict[Hashable, Fit | None] = {}

    @property
    def nodes(self) -> Sequence[ExistingNode]:
        """The nodes that are there, with what was put on them."""
        return self.open_nodes.nodes

    @property
    def classes(self) -> list[PodClass]:
        """All classes of pods that are looked at."""
        return [found for classes in self.queue for found in classes]

    def _open_claims(self) -> OpenClaims[Any]:
        if self.policy.packing is Packing.KARPENTER:
            return EvenClaims(self.well_known)
        alone = self._price_alone if self.policy.packing is Packing.FRUGAL else None
        return ThriftyClaims(self.well_known, functools.partial(_sizes, self.queue), alone)

    def place_all(self, stop: Stop | None = None) -> bool:
        """Every pod that has a place gets it; those that have none are left over.

        It stops where ``stop`` says so, and returns False then. What was not tried then is not left over.
        """
        self._stop = stop
        for classes in self.queue:
            left = self._place_part(classes)
            if self._is_cut:
                return False
            self.left_over.extend(left)
        return True

    def _place_part(self, classes: Iterable[PodClass]) -> list[Lot]:
        """Go round until a whole round places nothing: a pod may become placeable through pods that came after it."""
        waiting = [Lot(pod_class, self._where_planned(pod_class)) for pod_class in classes]
        if self.policy.one_by_one:
            waiting = in_single_file(waiting)
        left = sum(map(len, waiting))
        while waiting:
            before = left
            self._place_round(waiting)
            waiting = [lot for lot in waiting if lot]
            left = sum(map(len, waiting))
            if left == before or not self.others_matter or self._is_cut:
                break
        return waiting

    def _place_round(self, lots: Sequence[Lot]) -> None:
        is_plain = self.policy.packing is Packing.KARPENTER or self.topology.is_empty
        if is_plain or not any(map(self._gathers, lots)):
            for lot in lots:
                if not self._is_cut:
                    self._place(lot)
            return
        for companions in gathered(lots, self._gathers):
            if sum(map(len, companions)) > 1 and self._gathers(companions[0]):
                self._place_together(companions)
            for lot in companions:
                if not self._is_cut:
                    self._place(lot)

    def _gathers(self, lot: Lot) -> bool:
        """Whether its pods want to be on one host with each other."""
        return self.ladder(lot.pod_class)[0].gathers

    def ladder(self, pod_class: PodClass) -> tuple[Rung, ...]:
        """The rungs of a class, the strictest first."""
        selected_by: tuple[Group, ...] = pod_class.selected_by  # type: ignore[assignment]  # what `selecting` returned
        key = (pod_class.constraints, selected_by)
        found = self._rungs.get(key)
        if found is None:
            found = self._rungs[key] = tuple(
                Rung(c, selected_by, self.topology, leads=self.policy.leads)
                for c in self.ground.ladder(pod_class.constraints)
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
        assigned = self.ground.snapshot.assignments
        if not assigned:
            return pod_class.pods
        waiting = []
        for pod in pod_class.pods:
            position = self.open_nodes.machine(assigned.get(pod.metadata.uid, ""))
            alone = Lot(pod_class, (pod,))
            if position is None or not any(
                self.open_nodes.keep(position, alone, rung) for rung in self.ladder(pod_class)
            ):
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
        while lot and not self._is_cut:
            for rung in tuple(rungs):
                if self._put(lot, rung):
                    break
                if rung.is_free:
                    rungs.remove(rung)
            else:
                self._refused(lot)
                return  # the pods after it are alike, and nothing changed since
            if self._stop is not None and self._stop.is_exceeded(self.open_claims.claims):
                self._is_cut = True

    def _refused(self, lot: Lot) -> None:
        """Nobody takes the next of the lot. If nothing that comes later can change that, this may be the end."""
        if self._stop is not None and not self.others_matter and self._stop.is_about(lot.pods):
            self.left_over.append(lot)
            self._is_cut = True

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
                claim = PlannedClaim(start, start.mask & affordable, self.reservations)
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
                claim = PlannedClaim(start, start.mask & affordable, self.reservations)
                fit = self._first_fit(claim, lot.pod_class, rung.options(start)) if claim.mask else None
                if fit is not None:
                    return fit.price
        return math.inf

    def _first_fit(self, claim: PlannedClaim, pod_class: PodClass, options: Options) -> Fit | None:
        """What a new claim becomes with its first pod: worked out once for all pods that are alike, as long as what they may
        have stays the same."""
        key = (claim.shape, claim.mask, options, self.reservations.version if self.reservations is not None else 0)
        if key not in self._blank:
            self._blank[key] = claim.fit(pod_class, options, by_size=self.policy.packing is not Packing.KARPENTER)
        fit = self._blank[key]
        return None if fit is None else fit._replace(amounts=dict(fit.amounts))

    def launched(self, max_types: int) -> tuple[list[tuple[PlannedClaim, Launch]], list[Unschedulable]]:
        """The planned machines, and the refusals of pods whose machine would have too few types to choose from."""
        kept, dropped = [], []
        for claim in self.open_claims.claims:
            launch = to_launch(claim, max_types)
            if launch is not None:
                kept.append((claim, launch))
            else:
                reason = f"minValues requirement is not met by the cheapest {max_types} instance types"
                dropped.append(Unschedulable(tuple(pod.key for pod in claim.pods), reason))
        return kept, dropped

    def nominations(self) -> tuple[Nomination, ...]:
        """Who goes to which node that exists."""
        return tuple(node.to_nomination() for node in self.open_nodes.filled)

    def unschedulable(self) -> Iterator[Unschedulable]:
        """Those for whom no place was found. Why is worked out when somebody asks."""
        refusals = Refusals(self.templates, self.remaining, self.ground.snapshot.pools, self.reservations)
        for lot in self.left_over:
            why = functools.partial(refusals.of, lot.pod_class, self.ladder(lot.pod_class)[-1])
            yield Unschedulable(tuple(pod.key for pod in lot.pods), refusals=why)

    def to_plan(self, max_types: int, snapshot: Snapshot | None = None) -> Plan:
        """``snapshot`` is the one that the plan is about, if it is not the one that was compiled."""
        snapshot = snapshot or self.ground.snapshot
        launched, dropped = self.launched(max_types)
        kept = tuple(claim for claim, _ in launched)
        return Plan(
            version=snapshot.version,
            launches=tuple(launch for _, launch in launched),
            nominations=self.nominations(),
            unschedulable=(*self.batch.refused, *dropped, *self.unschedulable()),
            floor=functools.partial(bound_of, kept, self.classes, self.templates),
            aftermath=functools.partial(
                aftermath_of,
                snapshot=snapshot,
                catalog=self.ground.catalog,
                policy=self.policy,
                max_instance_types=max_types,
                pods=self.batch.pods,
                nominated={node.view: node.pods for node in self.open_nodes.filled},
                planned=kept,
                remaining=self.remaining,
            ),
        )


def _sizes(queue: Iterable[Iterable[PodClass]]) -> Sizes:
    return Sizes(itertools.chain.from_iterable(queue))


def _real_first(pods: Sequence[ReadPod], headroom: Iterable[Pod]) -> tuple[Sequence[ReadPod], ...]:
    """The real pods, then the virtual ones: nobody goes elsewhere, or waits, for the sake of room in reserve."""
    virtual = {pod.metadata.uid for pod in headroom}
    if not virtual:
        return (pods,)
    parts: tuple[list[ReadPod], list[ReadPod]] = ([], [])
    for read in pods:
        parts[read.pod.metadata.uid in virtual].append(read)
    return parts
