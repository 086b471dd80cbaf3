"""The pods of a solve, read once for all packings that are tried."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import Pod
from karpy.scheduling.classes import ReadPod, read_pods
from karpy.scheduling.defaultspread import DefaultSpread
from karpy.scheduling.plan import Unschedulable
from karpy.scheduling.policy import Policy
from karpy.state.snapshot import Snapshot

__all__ = ["Batch"]


@attrs.frozen(eq=False)
class Batch:
    """``pods`` that want a place. With the virtual pods of buffers: those that can be read, and the refusals of the rest."""

    pods: Sequence[Pod]
    readable: Sequence[ReadPod]
    refused: Sequence[Unschedulable]

    @classmethod
    def read(cls, snapshot: Snapshot, catalog: Catalog, pods: Sequence[Pod], policy: Policy) -> Batch:
        """What these pods ask for. It stays the same whatever packing is tried."""
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
        return cls(pods, readable, [Unschedulable((pod.key,), why.reason, kind=why.kind) for pod, why in refused])
