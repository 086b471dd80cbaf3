"""What an account may run at a time."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from karpy import labels
from karpy.resources import CPU, Resources
from karpy.sim.region.terse import Terse, amount
from karpy.sim.region.where import OfferingKey, Where

__all__ = ["Quota", "Quotas"]


@attrs.frozen(repr=False)
class Quota(Terse):
    """So many vCPU, so many machines, or both, of these offerings together."""

    where: Where = Where()
    vcpus: int | None = attrs.field(default=None, validator=attrs.validators.optional(amount))
    machines: int | None = attrs.field(default=None, validator=attrs.validators.optional(amount))


@attrs.define
class _Use:
    quota: Quota
    vcpus: int = 0
    machines: int = 0


class Quotas:
    """What is used of each quota, and whether one more machine may be had."""

    def __init__(self, quotas: Sequence[Quota] = ()) -> None:
        self._uses = [_Use(quota) for quota in quotas]

    def refusal(self, key: OfferingKey, capacity: Resources) -> str:
        """The code of EC2's error for the first quota that such a machine would exceed; empty when there is none."""
        for use in self._uses:
            quota = use.quota
            if key not in quota.where:
                continue
            if quota.machines is not None and use.machines + 1 > quota.machines:
                return "InstanceLimitExceeded"
            if quota.vcpus is not None and use.vcpus + _vcpus(capacity) > quota.vcpus:
                return "MaxSpotInstanceCountExceeded" if key[2] == labels.SPOT else "VcpuLimitExceeded"
        return ""

    def count(self, key: OfferingKey, capacity: Resources, *, by: int) -> None:
        """``by`` machines more, or less."""
        for use in self._uses:
            if key in use.quota.where:
                use.machines += by
                use.vcpus += by * _vcpus(capacity)

    def clear_up(self) -> None:
        """Let everybody have everything."""
        self._uses = []


def _vcpus(capacity: Resources) -> int:
    return -(-capacity.get(CPU, 0) // 1000)
