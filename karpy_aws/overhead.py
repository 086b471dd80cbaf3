"""What a node keeps for itself: the kubelet's and the system's share, and the eviction thresholds, by the rules of EKS's images."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from karpy.cloud.instancetype import Overhead
from karpy.errors import InvalidObject
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, Resources, parse_amount
from karpy_aws.kubeletnumbers import KubeletNumbers

__all__ = ["node_overhead"]

MIB: Final = 2**20
GIB: Final = 2**30

_EVICTION_SIGNALS: Final = {MEMORY: "memory.available", EPHEMERAL_STORAGE: "nodefs.available"}
_EVICTION_MEMORY: Final = 100 * MIB
_EVICTION_STORAGE: Final = "10%"
_DISABLED: Final = "100%"
"""Of a threshold: the kubelet takes it for none."""
_CPU_BANDS: Final = ((1_000, 0.06), (1_000, 0.01), (2_000, 0.005), (math.inf, 0.0025))
"""Width in milli-cores and the share of it that the kubelet keeps, from the first core on."""


def node_overhead(*, vcpus: int, pods: int, memory: int, storage: int, kubelet: KubeletNumbers) -> Overhead:
    """What kubelet, system and eviction thresholds keep of a node with ``memory`` and ``storage`` bytes.

    ``pods`` is the number that the kubelet's memory grows with. What the user reserves replaces the default of that resource.
    Soft thresholds keep nothing: pods may use what lies beyond them for a while.
    """
    kube = {
        CPU: _reserved_cpu(vcpus),
        MEMORY: (11 * pods + 255) * MIB,
        EPHEMERAL_STORAGE: GIB,
        **kubelet.kube_reserved,
    }
    return Overhead(Resources(kube), kubelet.system_reserved, _eviction(dict(kubelet.eviction_hard), memory, storage))


def _eviction(hard: Mapping[str, str], memory: int, storage: int) -> Resources:
    defaults = {MEMORY: str(_EVICTION_MEMORY), EPHEMERAL_STORAGE: _EVICTION_STORAGE}
    capacity = {MEMORY: memory, EPHEMERAL_STORAGE: storage}
    return Resources(
        {
            resource: _threshold(signal, hard.get(signal, defaults[resource]), capacity[resource], resource)
            for resource, signal in _EVICTION_SIGNALS.items()
        }
    )


def _threshold(signal: str, text: str, capacity: int, resource: str) -> int:
    """Bytes that must stay free.

    >>> _threshold("memory.available", "5%", 1000, "memory"), _threshold("memory.available", "1Ki", 1000, "memory")
    (50, 1024)
    """
    try:
        if not text.endswith("%"):
            return parse_amount(resource, text)
        return 0 if text == _DISABLED else math.ceil(capacity / 100 * float(text[:-1]))
    except ValueError:
        raise InvalidObject(
            f"{text!r} is no threshold",
            path=f"spec.kubelet.evictionHard[{signal}]",
            accepted="a quantity, or a percentage such as 5%",
        ) from None


def _reserved_cpu(vcpus: int) -> int:
    """Milli-cores: a falling share of each band of cores, whole milli-cores per band."""
    left, reserved = vcpus * 1_000.0, 0
    for width, share in _CPU_BANDS:
        reserved += int(min(left, width) * share)
        left -= min(left, width)
    return reserved
