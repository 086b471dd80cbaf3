"""How a solve leaves the cluster on paper: what a plan can be questioned about long after it was made.

Questions are answered by the scheduling code itself, for a pod that comes after all the others. So here is what such a pod
would find: nodes with the pods that were nominated to them, planned machines that still may narrow, and what is left of limits.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

import attrs
import msgspec

from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import Pod
from karpy.requirements import Requirements
from karpy.resources import Resources
from karpy.scheduling.claims import PlannedClaim
from karpy.scheduling.classes import ReadPod, read_pods
from karpy.scheduling.constraints import AffinityTerm, Constraints
from karpy.scheduling.daemons import daemons_of, expected_on
from karpy.scheduling.policy import Policy
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Aftermath", "Machines", "Planned", "aftermath_of"]


@attrs.frozen(eq=False)
class Planned:
    """A planned machine, and those of its pods that count for spread and affinity."""

    claim: PlannedClaim
    pods: tuple[ReadPod, ...]


@attrs.frozen(eq=False, slots=False)
class Machines:
    """The planned machines, as the solve left them. They are shared by all questions and must not be changed."""

    claims: tuple[PlannedClaim, ...]
    snapshot: Snapshot
    catalog: Catalog
    _stripped: dict[tuple[AffinityTerm, ...], Constraints] = attrs.field(init=False, factory=dict)

    @functools.cached_property
    def expected(self) -> Mapping[NodeView, Resources]:
        """What daemons will still take, on the nodes on which any will."""
        daemons = daemons_of(self.snapshot.daemon_sets, self.snapshot.daemon_pods)
        found = {view: expected_on(view, daemons) for view in self.snapshot.nodes} if daemons else {}
        return {view: amounts for view, amounts in found.items() if any(amounts.values())}

    @functools.cached_property
    def all(self) -> tuple[Planned, ...]:
        return tuple(Planned(claim, self.read(claim.pods)) for claim in self.claims)

    def read(self, pods: Iterable[Pod]) -> tuple[ReadPod, ...]:
        """Pods of planned machines, with nothing left of their constraints but whom they keep away."""
        snapshot, stripped = self.snapshot, self._stripped
        found = []
        for read in read_pods(pods, self.catalog.labels, snapshot.namespaces, snapshot.storage)[0]:
            kept = read.constraints.anti_affinity
            if kept not in stripped:
                stripped[kept] = Constraints(Requirements(), anti_affinity=kept)
            found.append(msgspec.structs.replace(read, constraints=stripped[kept], attachments=frozenset()))
        return tuple(found)


@attrs.frozen(kw_only=True, eq=False)
class Aftermath:
    """The inputs of one more solve. ``policy`` is that of the solve whose plan is questioned; ``counted`` has the nodes whose
    pods count for spread and affinity."""

    snapshot: Snapshot
    counted: Snapshot
    catalog: Catalog
    policy: Policy
    max_instance_types: int
    machines: Machines
    planned: Sequence[Planned]
    remaining: Mapping[str, Resources | None]
    pods: Mapping[str, Pod]
    """The pods that were asked for, by key."""


def aftermath_of(
    *,
    snapshot: Snapshot,
    catalog: Catalog,
    policy: Policy,
    max_instance_types: int,
    pods: Sequence[Pod],
    nominated: Mapping[NodeView, Sequence[Pod]],
    planned: tuple[PlannedClaim, ...],
    remaining: Mapping[str, Resources | None],
) -> Aftermath:
    """The cluster when every nominated pod is where it was nominated to, and none of ``pods`` is anywhere else."""
    moving = {pod.metadata.uid for pod in pods}
    nodes = tuple(_filled(view, nominated.get(view, ()), moving) for view in snapshot.nodes)
    cluster = attrs.evolve(snapshot, pending=(), nodes=nodes, buffers=())
    machines = Machines(planned, cluster, catalog)
    return Aftermath(
        snapshot=cluster,
        counted=cluster,
        catalog=catalog,
        policy=policy,
        max_instance_types=max_instance_types,
        machines=machines,
        planned=machines.all,
        remaining=remaining,
        pods={pod.key: pod for pod in pods},
    )


def _filled(view: NodeView, newcomers: Sequence[Pod], moving: set[str]) -> NodeView:
    if view.is_leaving and any(pod.metadata.uid in moving for pod in view.pods):
        return attrs.evolve(view, pods=tuple(pod for pod in view.pods if pod.metadata.uid not in moving))
    return attrs.evolve(view, pods=(*view.pods, *map(_arrived, newcomers))) if newcomers else view


def _arrived(pod: Pod) -> Pod:
    """A pod whose predecessor of the same name is still leaving is there for good once it has moved."""
    if not pod.metadata.is_deleting:
        return pod
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=None))
