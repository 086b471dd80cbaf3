"""Which nodes do these pods need? `solve` puts pods on paper: on nodes that exist, on claims planned a moment ago, on new ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import Pod
from karpy.objects.podspec import TopologySpreadConstraint
from karpy.resources import total
from karpy.scheduling.batch import Batch
from karpy.scheduling.bound import rough_bound
from karpy.scheduling.classes import NOWHERE_SHUT, Shut
from karpy.scheduling.ground import Ground
from karpy.scheduling.headroom import set_apart
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Plan
from karpy.scheduling.policy import Policy
from karpy.scheduling.run import Run
from karpy.state.snapshot import Snapshot

__all__ = ["MAX_INSTANCE_TYPES", "Run", "solve"]

FEW_PODS = 150
"""Up to so many pods every packing is tried in any case."""

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
    reserved_capacity: bool = True,
    default_spread: Sequence[TopologySpreadConstraint] = (),
    shut: Shut = NOWHERE_SHUT,
) -> Plan:
    """What to do about ``pods`` (default: `Snapshot.to_place`) in the cluster of ``snapshot``.

    Pure: the same input gives the same plan. One pod that cannot be read or placed never stops the others. Without
    ``respect_preferences`` only what is required counts. Without ``strict_min_values`` a ``minValues`` that cannot be met is
    lowered instead of refusing the pods. Without ``reserved_capacity`` reservations are offerings like any other, and nobody
    counts them (feature gate ReservedCapacity). ``default_spread`` holds for pods that name no spread constraint of their own (see
    `karpy.scheduling.defaultspread`).

    Pods to which nodes are ``shut`` are not put there.

    Once ``pods`` have their places, the virtual pods of the snapshot's CapacityBuffers get room; `Plan.buffers` says where.

    ``packing`` names the order in which planned machines are filled. By default a pod goes where it adds the least to the price,
    and where there are few pods, or the plan leaves pods waiting or is dear, machines are also filled evenly, as Karpenter does
    it; the better plan counts.

    Raises:
        InvalidObject: there is no such packing.
    """
    asked = None if packing is None else Packing.named(packing)
    wanted = snapshot.to_place if pods is None else tuple(pods)
    policy = Policy(
        respect_preferences=respect_preferences,
        strict_min_values=strict_min_values,
        reserved_capacity=reserved_capacity,
        default_spread=default_spread,
    )
    batch = Batch.read(snapshot, catalog, wanted, policy, shut)
    ground = Ground(snapshot, catalog, policy, [read.pod for read in batch.readable])

    def made(way: Policy) -> tuple[Run, Plan]:
        run = Run(ground, batch, way)
        run.place_all()
        return run, set_apart(run.to_plan(max_instance_types), snapshot.buffers)

    if asked is not None:
        to_the_letter = asked is Packing.KARPENTER
        return made(attrs.evolve(policy, packing=asked, one_by_one=to_the_letter, leads=not to_the_letter))[1]
    run, best = made(policy)
    if _is_good(best, run):
        return best
    few = len(batch.readable) <= FEW_PODS
    even = attrs.evolve(policy, packing=Packing.KARPENTER, one_by_one=few)
    run, plan = made(even)
    best = _better(best, plan)
    if few and run.leads_others:
        run, plan = made(attrs.evolve(even, leads=False))
        best = _better(best, plan) if run.is_sure else best
    return best


def _is_good(plan: Plan, run: Run) -> bool:
    """Whether another way need not be tried: nothing is launched; or of many pods all have a place at a fair price."""
    if not plan.launches:
        return True
    pods = len(run.batch.readable)
    if pods <= FEW_PODS or len(plan.unschedulable) > len(run.batch.refused) or _unplaced_headroom(plan):
        return False
    needed = total(launch.requests for launch in plan.launches)
    return plan.price <= FAIR_PRICE * rough_bound(needed, run.templates)


def _better(best: Plan, even: Plan) -> Plan:
    """The plan that leaves fewer pods waiting, real ones before virtual ones; else the best so far, if it is no dearer and takes no
    more machines than the one where they are filled evenly."""
    waiting = [(sum(len(part.pods) for part in plan.unschedulable), _unplaced_headroom(plan)) for plan in (best, even)]
    if waiting[0] != waiting[1]:
        return best if waiting[0] < waiting[1] else even
    return best if best.price <= even.price and len(best.launches) <= len(even.launches) else even


def _unplaced_headroom(plan: Plan) -> int:
    return sum(buffer.unplaced for buffer in plan.buffers)
