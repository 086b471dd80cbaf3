"""The judge on machines that are to be launched: every type that a launch lists can be had, is allowed, and holds its pods."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
import msgspec

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceType, Offering
from karpy.errors import InvalidObject
from karpy.objects.pod import Pod
from karpy.objects.workloads import DaemonSet
from karpy.requirements import Requirement, Requirements
from karpy.resources import NODES, Resources, total
from karpy.scheduling.plan import Launch, Plan, PricedType
from karpy.state.snapshot import NodeView, Snapshot
from tests.judge_catalog import bought, labelled, sold, ways
from tests.judge_pods import could_run, may_run, tolerates
from tests.judge_storage import clash

UP = Requirements.from_labels({labels.REGISTERED: "true", labels.INITIALIZED: "true"})
ONLY_ON_PAPER = (labels.HOSTNAME, labels.REGISTERED, labels.INITIALIZED)


def launch_violations(launch: Launch, snapshot: Snapshot, catalog: Catalog, pods: Mapping[str, Pod]) -> Iterator[str]:
    pool = snapshot.pool(launch.pool.name)
    if pool is None or not pool.may_grow:
        yield f"{launch.pool.name} is no pool that launches machines for pods"
        return
    placed = [pods[key] for key in launch.pods if key in pods]
    if not placed or not launch.instance_types:
        yield f"a launch of {len(launch.instance_types)} types for {len(placed)} pods"
    yield from _claim(launch, placed)
    known = sold(catalog, launch.pool.name)
    names = [priced.name for priced in launch.instance_types]
    types = [each for each in map(known.by_name, names) if each is not None]
    if len(types) < len(names) or len(set(names)) < len(names):
        yield f"types that are not sold, or named twice: {names}"
        return
    yield from _variety(launch, types)
    offered = ways(launch, catalog)
    asked = total(pod.requests for pod in placed)
    if not any(priced.price < math.inf for priced in launch.instance_types):
        yield f"nothing that {', '.join(launch.pods)} could run on is to be had"
    for priced, instance_type in zip(launch.instance_types, types, strict=True):
        may_be = [offering for offering, _given in offered[priced.name]]
        held = holding(instance_type, may_be, asked)
        offerings = (
            holding(instance_type, held, launch.requests) or held
        )  # where some hold the claim, no other is tried
        if priced.price == math.inf and not offerings and _is_reserved(launch):
            continue  # named beside those that have a reservation, as Karpenter does; it is never launched
        yield from _type(launch, placed, priced, instance_type, offerings)
        yield from _room(launch, snapshot, placed, asked, instance_type, offerings)


def holding(instance_type: InstanceType, offerings: Iterable[Offering], amounts: Resources) -> list[Offering]:
    return [each for each in offerings if amounts.fits_in(bought(instance_type, each).allocatable)]


def _is_reserved(launch: Launch) -> bool:
    kinds = launch.requirements.get(labels.CAPACITY_TYPE)
    return kinds is not None and kinds.single() == labels.RESERVED


def _claim(launch: Launch, placed: Sequence[Pod]) -> Iterator[str]:
    """What is said of all types together."""
    template = launch.pool.template_requirements
    if launch.min_values_relaxed:
        template = Requirements(attrs.evolve(requirement, min_values=None) for requirement in template.values())
    if launch.requirements & template != launch.requirements:
        yield f"requirements {launch.requirements} leave the pool's {template}"
    for key in ONLY_ON_PAPER:
        if key in launch.requirements:
            yield f"{key} is asked for, and no machine has it before it is a node"
    if launch.pod_uids != tuple(pod.metadata.uid for pod in placed):
        yield f"{launch.pod_uids} are not the uids of {launch.pods}"
    asked = total(pod.requests for pod in placed)
    if not asked.fits_in(launch.requests):
        yield f"the claim asks for {launch.requests}, and its pods for {asked}"
    order = [(priced.price, priced.name) for priced in launch.instance_types]
    if order != sorted(order):
        yield f"types are not in order of price, then name: {order}"
    for pod in placed:
        if not tolerates(pod, launch.pool.taints):
            yield f"{pod.key} does not tolerate the taints of {launch.pool.name}"


def _variety(launch: Launch, types: Sequence[InstanceType]) -> Iterator[str]:
    """As many different values as ``minValues`` says are among the types."""
    for requirement in launch.requirements.values():
        held = (each.requirements.get(requirement.key) for each in types)
        found = set().union(*(each.values for each in held if each is not None and not each.complement))
        if len(found) < (requirement.min_values or 0):
            yield f"{requirement} is to have {requirement.min_values} values, and has {sorted(found)}"


def _type(
    launch: Launch,
    placed: Sequence[Pod],
    priced: PricedType,
    instance_type: InstanceType,
    offerings: Sequence[Offering],
) -> Iterator[str]:
    """It is what launch and pods ask for, it can be had, and for that price."""
    conflict = instance_type.requirements.intersects(launch.requirements)
    if conflict is not None:
        yield f"{priced.name} is not among what the launch asks for: {conflict}"
    machine = labelled(launch, instance_type.requirements) & instance_type.requirements
    yield from (f"{pod.key} may not run on {priced.name}" for pod in placed if not may_run(pod, machine))
    if not offerings:
        yield f"{priced.name} cannot be had"
    if min((offering.sort_price for offering in offerings), default=math.nan) != priced.price:
        yield f"{priced.name} does not cost {priced.price}"


def _room(
    launch: Launch,
    snapshot: Snapshot,
    placed: Sequence[Pod],
    asked: Resources,
    instance_type: InstanceType,
    offerings: Sequence[Offering],
) -> Iterator[str]:
    """Wherever it may come to be, it holds the pods beside the daemons that come too."""
    if not offerings:
        yield f"{instance_type.name} does not hold {asked}"
    if not snapshot.daemon_sets:
        return
    own = instance_type.requirements
    known = labelled(launch, own)
    for offering in offerings:
        daemons = list(_daemons(snapshot, launch, _Layers((known, own, offering.requirements))))
        needed = asked + total(daemon.requests for daemon in daemons)
        if not needed.fits_in(bought(instance_type, offering).allocatable):
            yield f"{instance_type.name} in {offering.zone} does not hold {needed}"
        for pod in placed:
            if any(clash(pod, daemon) for daemon in daemons):
                yield f"{pod.key} wants a port that a daemon takes on {instance_type.name} in {offering.zone}"


@attrs.frozen
class _Layers:
    """Several requirements as one, without working all of it out."""

    parts: tuple[Requirements, ...]

    def get(self, key: str) -> Requirement | None:
        held = [part[key] for part in self.parts if key in part]
        return functools.reduce(operator.and_, held) if held else None


def _daemons(snapshot: Snapshot, launch: Launch, machine: _Layers) -> Iterator[Pod]:
    """The daemons that the new node may come to run: like the newest one that runs, but not bound to its host."""
    up = attrs.evolve(machine, parts=(*machine.parts, UP))
    for daemon_set in snapshot.daemon_sets:
        pod = daemon_set.to_pod()
        there = [other for view in snapshot.nodes for other in view.pods if _is_of(other, daemon_set)]
        if there:
            newest = max(there, key=lambda other: (other.metadata.created, other.key))
            spec = msgspec.structs.replace(newest.spec, affinity=pod.spec.affinity)
            pod = msgspec.structs.replace(newest, spec=spec)
        if pod.spec.resource_claims:
            continue  # left out by rule: where its devices are is not known
        try:
            if tolerates(pod, launch.pool.taints) and could_run(pod, up):
                yield pod
        except InvalidObject:
            continue  # its controller cannot place it either


def _is_of(pod: Pod, daemon_set: DaemonSet) -> bool:
    return any(owner.controller and owner.uid == daemon_set.metadata.uid for owner in pod.metadata.owner_references)


# What launches take together


def over_limits(plan: Plan, snapshot: Snapshot, catalog: Catalog) -> Iterator[str]:
    """Whatever type each launch turns out to be, the pool stays within its limits."""
    for pool in snapshot.pools:
        launches = [launch for launch in plan.launches if launch.pool.name == pool.name]
        if pool.limits is None or not launches:
            continue
        held = [_counted(view, catalog) for view in snapshot.nodes if view.pool == pool.name and not view.is_leaving]
        used = total([*held, *(_largest_of(launch, catalog) for launch in launches)])
        if over := used.exceeds(pool.limits):
            yield f"{pool.name} is over its limits of {', '.join(over)}: {used} > {pool.limits}"


def _counted(view: NodeView, catalog: Catalog) -> Resources:
    """A claim without an instance is a machine too: the largest that it may become."""
    if view.node is not None or view.claim is None or view.claim.capacity:
        return view.capacity
    wanted = view.claim.requirements
    types = sold(catalog, view.pool)
    return _largest(catalog, view.pool, [each.name for each in types if each.requirements.intersects(wanted) is None])


def _largest_of(launch: Launch, catalog: Catalog) -> Resources:
    """The most that the launch may turn out to be, among what holds it and can be had."""
    most, types = Resources(), sold(catalog, launch.pool.name)
    for name, offered in ways(launch, catalog).items():
        instance_type = types.by_name(name)
        assert instance_type is not None
        for offering, _given in offered:
            machine = bought(instance_type, offering)
            if launch.requests.fits_in(machine.allocatable):
                most = most.maximum(machine.capacity)
    return most + {NODES: 1}


def _largest(catalog: Catalog, pool: str, names: Iterable[str]) -> Resources:
    most = Resources()
    for name in names:
        instance_type = sold(catalog, pool).by_name(name)
        if instance_type is not None:
            for offering in instance_type.offerings:
                most = most.maximum(bought(instance_type, offering).capacity)
    return most + {NODES: 1}


def over_reserved(plan: Plan, catalog: Catalog) -> Iterator[str]:
    """Each launch that is to be a reserved machine finds one that is still to be had."""
    left: dict[str, int] = {}
    asking: list[list[str]] = []
    for launch in plan.launches:
        if not _is_reserved(launch):
            continue
        ids = []
        for offering in (offering for offerings in ways(launch, catalog).values() for offering, _given in offerings):
            if offering.reservation_id is not None:
                known = left.get(offering.reservation_id, offering.reservation_capacity)
                left[offering.reservation_id] = min(known, offering.reservation_capacity)
                ids.append(offering.reservation_id)
        asking.append(list(dict.fromkeys(ids)))
    holders: dict[str, list[int]] = {reservation: [] for reservation in left}
    for number, ids in enumerate(asking):
        if not _give(number, asking, holders, left, set()):
            yield f"{len(asking)} launches want reserved machines of {sorted(left)}, and there are {left}; one wants {ids}"


def _give(
    number: int, asking: Sequence[Sequence[str]], holders: dict[str, list[int]], left: Mapping[str, int], seen: set[str]
) -> bool:
    """Give the launch one of the reservations that it asks for; who holds it may have to take another."""
    for reservation in asking[number]:
        if reservation in seen:
            continue
        seen.add(reservation)
        if len(holders[reservation]) < left[reservation]:
            holders[reservation].append(number)
            return True
        for other in list(holders[reservation]):
            if _give(other, asking, holders, left, seen):
                holders[reservation].remove(other)
                holders[reservation].append(number)
                return True
    return False
