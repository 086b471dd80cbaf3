"""An independent judge of plans: does what a plan promises really hold? Slow and plain, so that it can be believed.

It works pod by pod and type by type on the rules of Kubernetes, and shares nothing with the solver but the value types.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceType, Offering
from karpy.errors import InvalidObject
from karpy.labels import LabelSpec
from karpy.objects.pod import Pod
from karpy.requirements import Requirements
from karpy.resources import NODES, Resources, total
from karpy.scheduling.plan import Launch, Nomination, Plan
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot
from karpy.taints import PREFER_NO_SCHEDULE, Taint
from karpy.testing import make_catalog
from tests.judge_around import apart, may_run, spread, together, world_after
from tests.judge_storage import clash, disks, ports


def violations(plan: Plan, snapshot: Snapshot, catalog: Catalog, pods: Iterable[Pod]) -> list[str]:
    """Every broken promise of ``plan``, in words."""
    by_key = {pod.key: pod for pod in pods}
    found = list(_places(plan, by_key))
    for nomination in plan.nominations:
        found.extend(_nomination(nomination, snapshot, by_key))
    for launch in plan.launches:
        found.extend(_launch(launch, snapshot, catalog, by_key))
    found.extend(_limits(plan, snapshot, catalog))
    world = world_after(plan, snapshot, catalog, by_key)
    for rule in (spread, together, apart, ports, disks):
        found.extend(rule(world))
    return found


def _places(plan: Plan, pods: Mapping[str, Pod]) -> Iterator[str]:
    parts = (*plan.launches, *plan.nominations, *plan.unschedulable)
    placed = [key for part in parts for key in part.pods]
    if sorted(placed) != sorted(pods):
        yield f"not every pod is accounted for once: {sorted(placed)} of {sorted(pods)}"


def _nomination(nomination: Nomination, snapshot: Snapshot, pods: Mapping[str, Pod]) -> Iterator[str]:
    view = snapshot.node(nomination.node)
    if view is None or view.is_leaving:
        yield f"{nomination.node} is no node that pods can go to"
        return
    newcomers = [pods[key] for key in nomination.pods]
    needed = total(pod.requests for pod in (*newcomers, *view.pods))
    if not needed.fits_in(view.allocatable):
        yield f"{nomination.node}: {needed} do not fit {view.allocatable}"
    for pod in newcomers:
        if not _tolerates(pod, view.taints):
            yield f"{pod.key} does not tolerate the taints of {nomination.node}"
        if not may_run(pod, view.requirements):
            yield f"{pod.key} may not run on {nomination.node}"


def _launch(launch: Launch, snapshot: Snapshot, catalog: Catalog, pods: Mapping[str, Pod]) -> Iterator[str]:
    template = launch.pool.template_requirements
    if launch.min_values_relaxed:
        template = Requirements(attrs.evolve(requirement, min_values=None) for requirement in template.values())
    known = catalog.types[launch.pool.name]
    if launch.requirements & template != launch.requirements:
        yield f"requirements {launch.requirements} leave the pool's {template}"
    prices = [priced.price for priced in launch.instance_types]
    if prices != sorted(prices):
        yield f"types are not in order of price: {prices}"
    for key in launch.pods:
        if not _tolerates(pods[key], launch.pool.taints):
            yield f"{key} does not tolerate the taints of {launch.pool.name}"
    choices = [priced for priced in launch.instance_types if priced.price < math.inf]
    if not choices:
        yield f"nothing that {', '.join(launch.pods)} could run on is to be had"
    for priced in choices:
        instance_type = known.by_name(priced.name)
        assert instance_type is not None
        machine = launch.requirements & instance_type.requirements
        daemons = list(_daemons(snapshot, launch, instance_type))
        needed = total(pod.requests for pod in (*(pods[key] for key in launch.pods), *daemons))
        for key in launch.pods:
            if any(clash(pods[key], daemon) for daemon in daemons):
                yield f"{key} wants a port that a daemon takes on {priced.name}"
        holding = tuple(o for o in instance_type.offerings if needed.fits_in(_room(instance_type, o)))
        if not holding:
            yield f"{priced.name} does not hold {needed}"
        if cheapest(attrs.evolve(instance_type, offerings=holding), launch.requirements) != priced.price:
            yield f"{priced.name} does not cost {priced.price}"
        yield from (f"{key} may not run on {priced.name}" for key in launch.pods if not may_run(pods[key], machine))


def _room(instance_type: InstanceType, offering: Offering) -> Resources:
    """What a machine that is bought this way has for pods."""
    if offering.capacity_override is None and offering.overhead_override is None:
        return instance_type.allocatable
    overhead = instance_type.overhead if offering.overhead_override is None else offering.overhead_override
    return InstanceType("", Requirements(), (), _capacity(instance_type, offering), overhead).allocatable


def _capacity(instance_type: InstanceType, offering: Offering) -> Resources:
    if offering.capacity_override is None:
        return instance_type.capacity
    return Resources({**instance_type.capacity, **offering.capacity_override})


def _daemons(snapshot: Snapshot, launch: Launch, instance_type: InstanceType) -> Iterator[Pod]:
    for daemon_set in snapshot.daemon_sets:
        pod = daemon_set.to_pod()
        if pod.spec.resource_claims:
            continue  # left out by rule: where its devices are is not known
        machine = launch.pool.template_requirements & instance_type.requirements
        up = Requirements.from_labels({labels.REGISTERED: "true", labels.INITIALIZED: "true"})
        try:
            runs = _tolerates(pod, launch.pool.taints) and may_run(pod, machine & up)
        except InvalidObject:
            continue  # its controller cannot place it either
        if runs:
            yield pod


def cheapest(instance_type: InstanceType, wanted: Requirements) -> float:
    """The least price of an offering that can be had now and that ``wanted`` allows; infinite when there is none."""
    prices = (
        offering.sort_price
        for offering in instance_type.offerings
        if offering.available and offering.requirements.intersects(wanted) is None
    )
    return min(prices, default=math.inf)


def _limits(plan: Plan, snapshot: Snapshot, catalog: Catalog) -> Iterator[str]:
    """Whatever type each launch turns out to be, the pool stays within its limits."""
    for pool in snapshot.pools:
        if pool.limits is None:
            continue
        launches = [launch for launch in plan.launches if launch.pool.name == pool.name]
        if not launches:
            continue
        held = [view.capacity for view in snapshot.nodes if view.pool == pool.name and not view.is_leaving]
        used = total([*held, *(_largest(launch, catalog) for launch in launches)])
        if over := used.exceeds(pool.limits):
            yield f"{pool.name} is over its limits of {', '.join(over)}: {used} > {pool.limits}"


def _largest(launch: Launch, catalog: Catalog) -> Resources:
    most = Resources()
    for priced in launch.instance_types:
        instance_type = catalog.types[launch.pool.name].by_name(priced.name)
        assert instance_type is not None
        for offering in instance_type.offerings:
            allowed = offering.available and offering.requirements.intersects(launch.requirements) is None
            if allowed and launch.requests.fits_in(_room(instance_type, offering)):
                most = most.maximum(_capacity(instance_type, offering))
    return most + {NODES: 1}


def _tolerates(pod: Pod, taints: Iterable[Taint]) -> bool:
    hard = (taint for taint in taints if taint.effect != PREFER_NO_SCHEDULE)
    return all(any(toleration.tolerates(taint) for toleration in pod.spec.tolerations) for taint in hard)


def plan_of(
    *objects: Mapping[str, Any],
    types: Iterable[InstanceType] | None = None,
    spec: LabelSpec | None = None,
    **policy: Any,
) -> Plan:
    """The plan for a cluster of these API objects, found to be sound."""
    snapshot = Snapshot.from_objects(objects)
    catalog = make_catalog(snapshot, types, spec)
    plan = solve(snapshot, catalog, **policy)
    assert violations(plan, snapshot, catalog, snapshot.to_place) == []
    return plan
