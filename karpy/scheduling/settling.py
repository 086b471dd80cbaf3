"""A plan is made fit for what kube-scheduler will do with it: nobody finds the machine full that was planned for him.

Pods that would be left out get their machine with the others, and not half a minute later, when it turns out. It is the machine
that they would get then, so nothing is bought that would not be bought anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceType
from karpy.labels import RESERVED
from karpy.objects.meta import ObjectMeta
from karpy.objects.node import Node, NodeSpec, NodeStatus
from karpy.objects.pod import Pod
from karpy.resources import Resources
from karpy.scheduling.batch import Batch
from karpy.scheduling.ground import Ground
from karpy.scheduling.plan import Launch, Nomination, Plan
from karpy.scheduling.playing import Played, play, play_in_turn
from karpy.scheduling.policy import Policy
from karpy.scheduling.run import Run
from karpy.state.snapshot import Nodes, NodeView, Snapshot

__all__ = ["found_missing", "settled"]

_ROUNDS = 3
"""How often machines are added: those that come with the others change who goes where."""

_SURE_SHARE = 0.05
"""What costs no more than such a share of the plan is added when it would be missed if all machines came up at once. Of more, only
what would be missed as well if they came up one after another: how it will be, nobody knows beforehand."""

Part = TypeVar("Part", Launch, Nomination)
Again = Callable[[Snapshot, Sequence[Pod]], Plan]
"""A solve for some pods in a cluster on paper."""


def settled(plan: Plan, snapshot: Snapshot, catalog: Catalog, policy: Policy, solve_again: Again) -> Plan:
    """The plan, with the machines in addition that somebody would find missing."""
    found = plan
    for _ in range(_ROUNDS):
        more = found_missing(found, snapshot, catalog, policy, solve_again)
        if more is None or not more.launches:
            return found
        found = _merged(found, more)
    return found


def found_missing(plan: Plan, snapshot: Snapshot, catalog: Catalog, policy: Policy, solve_again: Again) -> Plan | None:
    """What those need who would be left out; None where nobody would."""
    if not plan.launches or any(_is_reserved(launch) for launch in plan.launches):
        return None
    pods = _placed(plan, snapshot)
    if len(pods) < 2 or _are_alike(pods):
        return None
    machines = [_machine(number, launch, catalog) for number, launch in enumerate(plan.launches)]
    cluster = attrs.evolve(
        snapshot, nodes=Nodes((*snapshot.nodes, *machines)), pending=tuple(pods), buffers=(), assignments={}
    )
    wishless = attrs.evolve(policy, respect_preferences=False)
    batch = Batch.read(cluster, catalog, pods, wishless)
    ground = Ground(cluster, catalog, wishless, [read.pod for read in batch.readable])
    nominated = {nomination.node for nomination in plan.nominations}
    ahead = tuple(view for view in snapshot.nodes if not view.is_initialized or view.name in nominated)

    def lacking(way: Callable[[Run, Iterable[NodeView], Sequence[Pod]], Played]) -> Plan | None:
        played = way(Run(ground, batch, wishless), (*ahead, *machines), pods)
        return solve_again(_afterwards(cluster, played), played.left) if played.left else None

    at_once = lacking(play)
    if at_once is None or at_once.price <= _SURE_SHARE * plan.price:
        return at_once
    in_turn = lacking(play_in_turn)
    return at_once if in_turn is not None and at_once.price <= in_turn.price else in_turn


def _placed(plan: Plan, snapshot: Snapshot) -> list[Pod]:
    """The pods that the plan has a place for, as they stand in kube-scheduler's queue: by priority, then by age.

    Of those that came in the same second, the one comes first that it gave up first: that was written on them in this order.
    """
    uids = {uid for launch in plan.launches for uid in launch.pod_uids}
    uids.update(uid for nomination in plan.nominations for uid in nomination.pod_uids)
    found = [pod for pod in snapshot.to_place if pod.metadata.uid in uids]
    return sorted(found, key=lambda pod: (-(pod.spec.priority or 0), pod.metadata.created, _written(pod)))


def _written(pod: Pod) -> int:
    version = pod.metadata.resource_version
    return int(version) if version.isascii() and version.isdigit() else 0


def _are_alike(pods: Sequence[Pod]) -> bool:
    """Whether it is all one who goes where: machines hold so many of such pods in whatever order they come."""
    first = pods[0].spec
    if first.affinity is not None or first.topology_spread_constraints:
        return False
    return all(pod.spec is first or pod.spec == first for pod in pods)


def _is_reserved(launch: Launch) -> bool:
    """Which machines of one reservation come, the plan has settled: further ones would not know of it."""
    capacity_type = launch.requirements.get(labels.CAPACITY_TYPE)
    return capacity_type is not None and capacity_type.single() == RESERVED


def _machine(number: int, launch: Launch, catalog: Catalog) -> NodeView:
    """The machine when it is up, as the cheapest of the types that it may be; against limits it counts as the largest."""
    types = {each.name: each for each in catalog.types[launch.pool.name]}
    offered = [types[priced.name] for priced in launch.instance_types if priced.name in types]
    name = f"planned-{number:05d}"
    own = {key: value for key, r in launch.requirements.items() if (value := r.single()) is not None}
    return NodeView(
        node=Node(
            ObjectMeta(
                name=name,
                labels={**_labels(offered[0]), **launch.pool.labels, **own, labels.NODEPOOL: launch.pool.name}
                | {labels.HOSTNAME: name, labels.REGISTERED: "true", labels.INITIALIZED: "true"},
            ),
            NodeSpec(taints=launch.pool.taints),
            NodeStatus(capacity={**_largest(offered).to_dict()}, allocatable={**offered[0].allocatable.to_dict()}),
        )
    )


def _labels(instance_type: InstanceType) -> Mapping[str, str]:
    found = ((key, requirement.single()) for key, requirement in instance_type.requirements.items())
    return {key: value for key, value in found if value is not None}


def _largest(types: Sequence[InstanceType]) -> Resources:
    most = Resources()
    for each in types:
        most = most.maximum(each.capacity)
    return most


def _afterwards(cluster: Snapshot, played: Played) -> Snapshot:
    """The cluster on paper once the pods are where they went."""
    nodes = (_with(view, played.on.get(view, ())) for view in cluster.nodes)
    return attrs.evolve(cluster, nodes=Nodes(nodes), pending=tuple(played.left))


def _with(view: NodeView, pods: Sequence[Pod]) -> NodeView:
    return attrs.evolve(view, pods=(*view.pods, *pods)) if pods else view


def _merged(plan: Plan, more: Plan) -> Plan:
    """Both. Who has a machine of ``more`` leaves the one that was planned for him, and with it the room that others take there."""
    moved = {uid for launch in more.launches for uid in launch.pod_uids}
    return attrs.evolve(
        plan,
        launches=(*(_without(part, moved) for part in plan.launches), *more.launches),
        nominations=tuple(left for part in plan.nominations if (left := _without(part, moved)).pods),
    )


def _without(part: Part, moved: set[str]) -> Part:
    kept = [(key, uid) for key, uid in zip(part.pods, part.pod_uids, strict=True) if uid not in moved]
    if len(kept) == len(part.pods):
        return part
    return attrs.evolve(part, pods=tuple(key for key, _ in kept), pod_uids=tuple(uid for _, uid in kept))
