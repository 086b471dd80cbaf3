"""An independent judge of commands: is it safe, and does it save what it says? Slow and plain, so that it can be believed.

Where pods go is judged by the rules that plans are judged by (`tests.judge`); the rest is reckoned here from the catalog and the
objects, and shares nothing with the methods but the value types.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, Offering, Price
from karpy.disruption.budgets import allowance
from karpy.disruption.command import Command, Method
from karpy.objects.pod import Pod
from karpy.scheduling.plan import Launch, Nomination, Plan
from karpy.state.snapshot import NodeView, Snapshot
from tests.judge import violations
from tests.judge_catalog import ways

_SAVING = (Method.EMPTINESS, Method.MULTI_NODE, Method.SINGLE_NODE)
_NOTHING = 1e-9


def faults(command: Command, snapshot: Snapshot, catalog: Catalog, now: float) -> list[str]:
    """Everything that is wrong with the command on this cluster, in words."""
    gone = [view for view in snapshot.nodes if view.name in command.nodes]
    found = [*_who_goes(command, gone, snapshot, now), *_budgets(command, gone, snapshot, now)]
    if command.method is not Method.STATIC_DRIFT:
        found.extend(_places(command, gone, snapshot, catalog, now))
    found.extend(_money(command, gone, catalog))
    return found


def _who_goes(command: Command, gone: Sequence[NodeView], snapshot: Snapshot, now: float) -> Iterator[str]:
    if sorted(view.name for view in gone) != sorted(command.nodes) or not gone:
        yield f"{command.nodes} are not nodes of the cluster"
    for view in gone:
        if view.claim is None or view.claim.name not in command.claims:
            yield f"{view.name}: the claim is not named"
        if not view.is_initialized or view.is_leaving or view.nominated_until > now:
            yield f"{view.name} is not up, or goes already, or is about to get pods"
        is_patient = command.method in _SAVING or view.claim is None or view.claim.termination_grace_period_s is None
        if is_patient and any(pod.is_active and pod.is_protected(now) for pod in view.pods):
            yield f"{view.name}: a pod does not want to be disturbed"
        for pod in view.reschedulable_pods if is_patient else ():
            held = [] if pod.tolerates_disruption else snapshot.budgets_of(pod)
            if len(held) > 1 or any(budget.forbids_now(pod) for budget in held):
                yield f"{view.name}: {pod.key} is held by a PodDisruptionBudget"


def _budgets(command: Command, gone: Sequence[NodeView], snapshot: Snapshot, now: float) -> Iterator[str]:
    for name, count in Counter(view.pool for view in gone).items():
        pool = snapshot.pool(name)
        if pool is None or allowance(snapshot, pool, command.reason, now).allowed < count:
            yield f"the budgets of {name} do not let {count} nodes go"


def _places(
    command: Command, gone: Sequence[NodeView], snapshot: Snapshot, catalog: Catalog, now: float
) -> Iterator[str]:
    """Every pod that loses its node has a place, on a node that is up and at rest, or on what is launched."""
    leaving = {pod.key: pod for view in gone for pod in view.reschedulable_pods}
    moved = Counter(move.pod for move in command.moves)
    stays = {key for key, pod in leaving.items() if not snapshot.may_be_evicted(pod, now)}
    if command.method is Method.EMPTINESS:
        return  # a pod that is worth nothing may be left to wait
    if moved.keys() | stays != leaving.keys() | stays or any(count > 1 for count in moved.values()):
        yield f"not each pod has one place: {sorted(leaving)} of {sorted(moved.elements())}"
    rest = snapshot.without(command.nodes)
    for name in {str(move.to) for move in command.moves if isinstance(move.to, str)}:
        view = rest.node(name)
        if view is None or view.is_leaving or not view.is_initialized:
            yield f"{name} is not up"
        elif _is_restless(view, snapshot, now):
            yield f"{name} is within its own consolidateAfter"
    plan, pods = _as_plan(command, rest, leaving)
    yield from violations(plan, rest, catalog, pods.values())


def _is_restless(view: NodeView, snapshot: Snapshot, now: float) -> bool:
    pool = snapshot.pool(view.pool)
    after = pool.consolidate_after_s if pool is not None and not pool.is_static else None
    since = view.claim.quiet_since if view.claim is not None else None
    return after is not None and since is not None and since + after > now


def _as_plan(command: Command, rest: Snapshot, leaving: Mapping[str, Pod]) -> tuple[Plan, Mapping[str, Pod]]:
    waiting = {pod.key: pod for pod in rest.to_place}
    launches = tuple(_that_can_be_had(launch) for launch in command.replacements)
    moving = {move.pod: leaving[move.pod] for move in command.moves if move.pod in leaving}
    launched = {key: waiting[key] for launch in launches for key in launch.pods if key not in moving and key in waiting}
    by_node: dict[str, list[Pod]] = {}
    for move in command.moves:
        if isinstance(move.to, str) and move.pod in moving:
            by_node.setdefault(move.to, []).append(moving[move.pod])
    nominations = tuple(
        Nomination(node, tuple(pod.key for pod in pods), tuple(pod.metadata.uid for pod in pods))
        for node, pods in by_node.items()
    )
    return Plan(version=0, launches=launches, nominations=nominations), {**moving, **launched}


def _that_can_be_had(launch: Launch) -> Launch:
    """Without the types that are listed although nobody sells them that way now."""
    return attrs.evolve(launch, instance_types=tuple(each for each in launch.instance_types if each.price < math.inf))


def _money(command: Command, gone: Sequence[NodeView], catalog: Catalog) -> Iterator[str]:
    before = sum(_paid(view, catalog) for view in gone)
    if command.method not in _SAVING:
        return
    if len(command.replacements) > 1:
        yield "one machine at the most takes the place of nodes that go to save money"
    after: Price = 0.0
    for launch in command.replacements:
        offered = ways(launch, catalog)
        prices = [_launched_as([offering for offering, _given in found]) for found in offered.values() if found]
        worst = max(max(prices_of) for prices_of in prices)
        if worst >= before:
            yield f"the new machine may cost ${worst}, and what goes costs ${before}"
        after += min(min(prices_of) for prices_of in prices)
        if len(gone) > 1:
            yield from _same_types(launch, gone, offered, catalog)
    if not math.isclose(command.savings, before - after, abs_tol=_NOTHING):
        yield f"it saves ${before - after}, and says ${command.savings}"


def _launched_as(offered: Sequence[Offering]) -> list[Price]:
    """The prices of the kind of capacity that comes first: reserved, then spot, then on-demand."""
    for kind in (labels.RESERVED, labels.SPOT, labels.ON_DEMAND):
        prices = [offering.price for offering in offered if offering.capacity_type == kind]
        if prices:
            return prices
    return [offering.price for offering in offered]


def _same_types(
    launch: Launch, gone: Sequence[NodeView], offered: Mapping[str, Sequence[tuple[Offering, object]]], catalog: Catalog
) -> Iterator[str]:
    """A machine of a type that goes had better stay than be made again."""
    for view in gone:
        name = view.labels.get(labels.INSTANCE_TYPE, "")
        if offered.get(name) and max(_launched_as([each for each, _ in offered[name]])) >= _paid(view, catalog):
            yield f"{view.name} is a {name} already"


def _paid(view: NodeView, catalog: Catalog) -> Price:
    types = catalog.types.get(view.pool)
    found = types.by_name(view.labels.get(labels.INSTANCE_TYPE, "")) if types is not None else None
    where = (view.labels.get(labels.ZONE, ""), view.labels.get(labels.CAPACITY_TYPE, ""))
    prices = [
        each.price
        for each in (found.offerings if found is not None else ())
        if (each.zone, each.capacity_type) == where
    ]
    return next((price for price in prices if price > 0), 0.0)
