"""What a kubelet block may say: in itself, and given the image family that has to apply it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from karpy.errors import InvalidObject
from karpy.quantity import Quantity
from karpy_aws.kubeletfields import CONFIGURATION, go_duration
from karpy_aws.objects.kubelet import MANAGED_FIELDS, Kubelet
from karpy_aws.objects.schemacheck import Violation, ViolationKind, unknown_fields, violations

__all__ = [
    "EVICTION_SIGNALS",
    "RESERVABLE",
    "expressions_in",
    "is_expression",
    "kubelet_violations",
    "unmanaged_fields",
    "unsupported_fields",
]

EVICTION_SIGNALS: Final = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
)
RESERVABLE: Final = ("cpu", "memory", "ephemeral-storage", "pid")
_RESERVED_MAPS: Final = ("systemReserved", "kubeReserved")
_PERCENTAGE: Final = re.compile(r"[0-9]+(\.[0-9]*)?%|\.[0-9]+%")
_PATH: Final = "spec.kubelet"
_TAKES_ANY_FIELD: Final = ("AL2023", "Custom")
_BEFORE_V1BETA1: Final = frozenset({"containerRuntime"})
"""Karpenter's own field of Provisioners; no kubelet knows it."""


def kubelet_violations(block: Mapping[str, Any], path: str = _PATH) -> tuple[Violation, ...]:
    """Everything that is wrong with a kubelet block, whatever the image family. Expressions are not looked into."""
    known = {name: value for name, value in block.items() if name not in _BEFORE_V1BETA1 and value is not None}
    structure = violations(known, CONFIGURATION, path)
    strange = (
        Violation(ViolationKind.INVALID, where, "no kubelet knows this field", "the fields of KubeletConfiguration")
        for where in unknown_fields(known, CONFIGURATION, path)
    )
    readable = {
        name: value
        for name, value in known.items()
        if not any(each.path.startswith(f"{path}.{name}") and each.kind is ViolationKind.TYPE for each in structure)
    }
    return (*structure, *strange, *_semantics(readable, path))


def unmanaged_fields(block: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields that only families that take a whole configuration can apply, by name."""
    return tuple(sorted(name for name in block if name not in MANAGED_FIELDS and name not in _BEFORE_V1BETA1))


def unsupported_fields(kubelet: Kubelet, family: str, path: str = _PATH) -> tuple[Violation, ...]:
    """What this image family cannot apply."""
    if family in _TAKES_ANY_FIELD:
        return ()
    found = [
        _invalid(f"{path}.{name}", f"family {family} cannot apply it", f"it with {' or '.join(_TAKES_ANY_FIELD)}")
        for name in unmanaged_fields(kubelet.raw)
    ]
    if family == "Bottlerocket" and kubelet.pods_per_core is not None:
        found.append(_invalid(f"{path}.podsPerCore", "family Bottlerocket cannot apply it", "maxPods"))
    if len(kubelet.cluster_dns) > 1:
        problem = f"there are {len(kubelet.cluster_dns)} addresses, and family {family} takes one"
        found.append(_invalid(f"{path}.clusterDNS", problem, "at most one address"))
    return tuple(found)


def is_expression(field: str, value: Any) -> bool:
    """Whether the value of ``maxPods``, or of an entry of a reserved map, is to be computed.

    >>> is_expression("maxPods", "vcpus * 8"), is_expression("kubeReserved", "100m")
    (True, False)
    """
    if not isinstance(value, str):
        return False
    return field == "maxPods" or _quantity(value) is None


def expressions_in(block: Mapping[str, Any], path: str = _PATH) -> dict[str, str]:
    """The expressions of a block, by field path."""
    found = {}
    if is_expression("maxPods", block.get("maxPods")):
        found[f"{path}.maxPods"] = block["maxPods"]
    for field in _RESERVED_MAPS:
        entries = block.get(field)
        if isinstance(entries, Mapping):
            given = {f"{path}.{field}[{name}]": value for name, value in entries.items()}
            found.update({where: value for where, value in given.items() if is_expression(field, value)})
    return found


def _semantics(block: Mapping[str, Any], path: str) -> Iterator[Violation]:
    for field in ("maxPods", "podsPerCore", "evictionMaxPodGracePeriod"):
        value = block.get(field)
        if isinstance(value, int) and value < 0:
            yield _invalid(f"{path}.{field}", f"{value} is negative", "an integer, 0 or more")
    for field in _RESERVED_MAPS:
        yield from _reserved(block.get(field) or {}, f"{path}.{field}")
    for field in ("evictionHard", "evictionSoft", "evictionMinimumReclaim"):
        yield from _thresholds(block.get(field) or {}, f"{path}.{field}")
    yield from _grace_periods(block, path)
    yield from _image_removal(block, path)
    if "registerWithTaints" in block:
        problem = "karpy sets it, so that nodes register unschedulable until they are ready"
        yield _invalid(f"{path}.registerWithTaints", problem, "taints of the NodePool")


def _reserved(entries: Mapping[str, str], path: str) -> Iterator[Violation]:
    for name, amount in entries.items():
        if name not in RESERVABLE:
            yield _invalid(f"{path}[{name}]", "nothing of it can be reserved", ", ".join(RESERVABLE))
        elif amount.startswith("-"):
            yield _invalid(f"{path}[{name}]", f"{amount!r} is negative", "a quantity or an expression, 0 or more")


def _thresholds(entries: Mapping[str, str], path: str) -> Iterator[Violation]:
    for name, threshold in entries.items():
        if name not in EVICTION_SIGNALS:
            yield _invalid(f"{path}[{name}]", "it is no eviction signal", ", ".join(EVICTION_SIGNALS))
        elif problem := _threshold_problem(threshold):
            yield _invalid(f"{path}[{name}]", problem, "0% to 100%, or a quantity, 0 or more")


def _threshold_problem(threshold: str) -> str:
    if threshold.endswith("%"):
        is_percentage = _PERCENTAGE.fullmatch(threshold) and float(threshold[:-1]) <= 100
        return "" if is_percentage else f"{threshold!r} is no percentage"
    amount = _quantity(threshold)
    if amount is None:
        return f"{threshold!r} is no percentage and no quantity"
    return f"{threshold!r} is negative" if amount.nanos < 0 else ""


def _grace_periods(block: Mapping[str, Any], path: str) -> Iterator[Violation]:
    soft, grace = block.get("evictionSoft") or {}, block.get("evictionSoftGracePeriod") or {}
    for name, written in grace.items():
        where = f"{path}.evictionSoftGracePeriod[{name}]"
        seconds = go_duration(written)
        if name not in EVICTION_SIGNALS:
            yield _invalid(where, "it is no eviction signal", ", ".join(EVICTION_SIGNALS))
        elif seconds is None or seconds < 0:
            problem = f"{written!r} is {'no duration' if seconds is None else 'negative'}"
            yield _invalid(where, problem, "a duration such as 90s or 1h2m, 0 or more")
        if name not in soft:
            yield _invalid(where, "there is no threshold for it", "the signals of evictionSoft")
    for name in soft:
        if name not in grace:
            where = f"{path}.evictionSoft[{name}]"
            yield _invalid(where, "there is no grace period for it", "an entry in evictionSoftGracePeriod too")


def _image_removal(block: Mapping[str, Any], path: str) -> Iterator[Violation]:
    names = ("imageGCHighThresholdPercent", "imageGCLowThresholdPercent")
    for name in names:
        value = block.get(name)
        if value is not None and not 0 <= value <= 100:
            yield _invalid(f"{path}.{name}", f"{value} is out of range", "an integer from 0 to 100")
    high, low = (block.get(name) for name in names)
    if high is not None and low is not None and high <= low:
        problem = f"it is {high}, and imageGCLowThresholdPercent is {low}"
        yield _invalid(f"{path}.{names[0]}", problem, "more than imageGCLowThresholdPercent")


def _quantity(written: str) -> Quantity | None:
    try:
        return Quantity.parse(written)
    except InvalidObject:
        return None


def _invalid(path: str, problem: str, accepted: str) -> Violation:
    return Violation(ViolationKind.INVALID, path, problem, accepted)
