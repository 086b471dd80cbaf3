"""The pods of a solve, read once for all packings that are tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import Pod
from karpy.scheduling.admission import Refused
from karpy.scheduling.classes import NOWHERE_SHUT, PodReader, ReadPod, Shut
from karpy.scheduling.defaultspread import DefaultSpread
from karpy.scheduling.plan import Unschedulable
from karpy.scheduling.policy import Policy
from karpy.state.snapshot import Snapshot

__all__ = ["Batch", "pod_reader", "told"]


@attrs.frozen(eq=False)
class Batch:
    """``pods`` that want a place. With the virtual pods of buffers: those that can be read, and the refusals of the rest."""

    pods: Sequence[Pod]
    readable: Sequence[ReadPod]
    refused: Sequence[Unschedulable]
    shut: Shut = NOWHERE_SHUT

    @classmethod
    def read(
        cls, snapshot: Snapshot, catalog: Catalog, pods: Sequence[Pod], policy: Policy, shut: Shut = NOWHERE_SHUT
    ) -> Batch:
        """What these pods ask for. It stays the same whatever packing is tried."""
        readable, refused = pod_reader(snapshot, catalog, policy).read_all((*pods, *snapshot.headroom))
        return cls(pods, readable, told(refused), shut)


def pod_reader(snapshot: Snapshot, catalog: Catalog, policy: Policy) -> PodReader:
    """Reads pods as they are placed in this cluster."""
    return PodReader(
        catalog.labels,
        snapshot.namespaces,
        snapshot.storage,
        unsupported=catalog.unsupported_volumes,
        default_spread=DefaultSpread(policy.default_spread, snapshot.workloads) if policy.default_spread else None,
        respect_preferences=policy.respect_preferences,
    )


def told(refused: Iterable[tuple[Pod, Refused]]) -> list[Unschedulable]:
    """The refusals of pods that are not looked at, as a plan has them."""
    return [Unschedulable((pod.key,), why.reason, kind=why.kind) for pod, why in refused]
