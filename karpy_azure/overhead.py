"""How much of a machine is there for pods: memory lost to the hypervisor, and what AKS has the kubelet keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from karpy.cloud.instancetype import Overhead
from karpy.resources import CPU, MEMORY, Resources

__all__ = ["node_overhead", "usable_memory"]

MIB: Final = 2**20
GIB: Final = 2**30

VM_MEMORY_OVERHEAD_PERCENT: Final = 0.075
_EVICTION_MEMORY: Final = 750 * MIB
_Bands = Sequence[tuple[float, float]]
_MEMORY_BANDS: Final[_Bands] = ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06), (math.inf, 0.02))
_CPU_BANDS: Final[_Bands] = ((1, 0.06), (1, 0.04), (2, 0.02), (math.inf, 0.01))
"""Width (GiB, cores) and the share of it that is kept, from the first unit on."""


def usable_memory(memory_gib: float, overhead_percent: float = VM_MEMORY_OVERHEAD_PERCENT) -> int:
    """Bytes of memory that the node will report, estimated from the size; a fraction of a GiB is not counted.

    >>> usable_memory(8)
    7945689497
    """
    listed = int(memory_gib) * GIB
    return listed - math.ceil(listed * overhead_percent)


def node_overhead(vcpus: int, memory_gib: float) -> Overhead:
    """What AKS reserves: falling shares of memory and cores, and 750 MiB below which the kubelet evicts."""
    kept = {
        CPU: int(1_000 * _kept(vcpus, _CPU_BANDS)),
        MEMORY: int(1_024 * _kept(memory_gib, _MEMORY_BANDS)) * MIB,
    }
    return Overhead(Resources(kept), Resources(), Resources({MEMORY: _EVICTION_MEMORY}))


def _kept(amount: float, bands: _Bands) -> float:
    left, kept = amount, 0.0
    for width, share in bands:
        kept += min(left, width) * share
        left -= min(left, width)
    return kept
