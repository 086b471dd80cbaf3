"""The kubelet block of a node class: what the user wrote, and the fields of it that karpy understands.

Fields that karpy does not know stay in ``raw``: some image families pass them on as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import msgspec

from karpy.objects.meta import Integer, Wire, decode

__all__ = ["MANAGED_FIELDS", "Kubelet"]


class _Fields(Wire, frozen=True):
    cluster_dns: tuple[str, ...] = msgspec.field(name="clusterDNS", default=())
    max_pods: Integer | str | None = None
    pods_per_core: Integer | None = None
    system_reserved: dict[str, str] | None = None
    kube_reserved: dict[str, str] | None = None
    eviction_hard: dict[str, str] | None = None
    eviction_soft: dict[str, str] | None = None
    eviction_soft_grace_period: dict[str, str] | None = None
    eviction_max_pod_grace_period: Integer | None = None
    image_gc_high_threshold_percent: Integer | None = msgspec.field(name="imageGCHighThresholdPercent", default=None)
    image_gc_low_threshold_percent: Integer | None = msgspec.field(name="imageGCLowThresholdPercent", default=None)
    cpu_cfs_quota: bool | None = msgspec.field(name="cpuCFSQuota", default=None)


MANAGED_FIELDS: Final = tuple(field.encode_name for field in msgspec.structs.fields(_Fields))
"""Every image family applies these; others only where the family takes a whole configuration."""


@attrs.frozen
class Kubelet:
    """``raw`` as the API has it, and what it says, name by name.

    ``max_pods`` and the values of the two reserved maps may be expressions; see `karpy_aws.kubeletvalues`.

    >>> Kubelet.from_dict({"maxPods": 30, "maxParallelImagePulls": 5}).unmanaged
    {'maxParallelImagePulls': 5}
    """

    raw: Mapping[str, Any]
    cluster_dns: tuple[str, ...] = attrs.field(default=(), eq=False)
    max_pods: int | str | None = attrs.field(default=None, eq=False)
    pods_per_core: int | None = attrs.field(default=None, eq=False)
    system_reserved: Mapping[str, str] | None = attrs.field(default=None, eq=False)
    kube_reserved: Mapping[str, str] | None = attrs.field(default=None, eq=False)
    eviction_hard: Mapping[str, str] | None = attrs.field(default=None, eq=False)
    eviction_soft: Mapping[str, str] | None = attrs.field(default=None, eq=False)
    eviction_soft_grace_period: Mapping[str, str] | None = attrs.field(default=None, eq=False)
    eviction_max_pod_grace_period: int | None = attrs.field(default=None, eq=False)
    image_gc_high_threshold_percent: int | None = attrs.field(default=None, eq=False)
    image_gc_low_threshold_percent: int | None = attrs.field(default=None, eq=False)
    cpu_cfs_quota: bool | None = attrs.field(default=None, eq=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Kubelet:
        """Read the block of any generation.

        Raises:
            InvalidObject: naming the field path below the block, what was found and what is accepted.
        """
        return cls(data, **msgspec.structs.asdict(decode(data, _Fields)))

    @property
    def unmanaged(self) -> dict[str, Any]:
        """What karpy does not understand and may only pass on."""
        return {name: value for name, value in self.raw.items() if name not in MANAGED_FIELDS}
