"""The kubelet block as command-line flags, for images whose start scripts take flags."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Final

from karpy.objects.duration import parse_duration
from karpy_aws.bootstrap.node import NodeBootstrap

__all__ = ["go_duration", "kubelet_flags", "labels_flag"]

_Flags = tuple[tuple[str, str, str], ...]
_FLAGS: Final[_Flags] = (  # field of the block, flag, and for maps what stands between a key and its value
    ("maxPods", "--max-pods", ""),
    ("podsPerCore", "--pods-per-core", ""),
    ("systemReserved", "--system-reserved", "="),
    ("kubeReserved", "--kube-reserved", "="),
    ("evictionHard", "--eviction-hard", "<"),
    ("evictionSoft", "--eviction-soft", "<"),
    ("evictionSoftGracePeriod", "--eviction-soft-grace-period", "="),
    ("evictionMaxPodGracePeriod", "--eviction-max-pod-grace-period", ""),
    ("imageGCHighThresholdPercent", "--image-gc-high-threshold", ""),
    ("imageGCLowThresholdPercent", "--image-gc-low-threshold", ""),
    ("cpuCFSQuota", "--cpu-cfs-quota", ""),
)
_DURATIONS: Final = "evictionSoftGracePeriod"


def kubelet_flags(node: NodeBootstrap, *, quoted: bool = True) -> str:
    """All flags on one line. Maps are sorted: templates are named by their content, which must not change by itself."""
    flags = []
    if node.labels:
        flags.append(labels_flag(node.labels, quoted=quoted))
    if node.taints:
        flags.append(f"--register-with-taints={_list(map(str, node.taints), quoted=quoted)}")
    for field, flag, joint in _FLAGS:
        value = (
            _durations(node.kubelet[field])
            if field == _DURATIONS and field in node.kubelet
            else node.kubelet.get(field)
        )
        if isinstance(value, Mapping):
            if value:
                pairs = (f"{key}{joint}{value[key]}" for key in sorted(value))
                flags.append(f"{flag}={_list(pairs, quoted=quoted)}")
        elif value is not None:
            flags.append(f"{flag}={_scalar(value)}")
    return " ".join(flags)


def labels_flag(labels: Mapping[str, str], *, quoted: bool = True) -> str:
    return f"--node-labels={_list((f'{key}={labels[key]}' for key in sorted(labels)), quoted=quoted)}"


def _list(items: Iterable[str], *, quoted: bool) -> str:
    text = ",".join(items)
    return f'"{text}"' if quoted else text


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _durations(values: Mapping[str, str] | None) -> dict[str, str]:
    return {key: go_duration(parse_duration(value)) for key, value in (values or {}).items()}


@functools.lru_cache(maxsize=256)
def go_duration(seconds: float) -> str:
    """A duration as the kubelet prints it: every smaller unit stands there too.

    >>> go_duration(90), go_duration(3720), go_duration(0), go_duration(1.5), go_duration(0.25)
    ('1m30s', '1h2m0s', '0s', '1.5s', '250ms')
    """
    if seconds < 0:
        return f"-{go_duration(-seconds)}"
    for unit, size in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if 0 < seconds < size * 1_000:
            return f"{seconds / size:.6g}{unit}"
    whole, fraction = divmod(round(seconds * 10**9), 10**9)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    text = f"{rest}{f'{fraction / 10**9:.9f}'[1:].rstrip('0').rstrip('.')}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
