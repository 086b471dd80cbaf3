"""What becomes of nodes that no longer are as their pool wants them, where the pool says so itself.

Karpenter replaces them one after the other, as budgets allow. karpy does so too, unless the pool's annotation `DRIFT_MODE` says
that drift is only to be told of, or that a few are replaced first and must do well for a while.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import attrs

from karpy.errors import InvalidObject, shown
from karpy.objects.duration import parse_duration

__all__ = ["DriftMode", "DriftRule", "drift_problems", "drift_rule"]

DRIFT_MODE: Final = "karpy.dev/drift-mode"
DRIFT_CANARIES: Final = "karpy.dev/drift-canaries"
DRIFT_BAKE: Final = "karpy.dev/drift-bake"


class DriftMode(enum.Enum):
    REPLACE = "Replace"
    REPORT = "Report"
    CANARY = "Canary"


@attrs.frozen
class DriftRule:
    """In mode Canary ``canaries`` nodes are replaced first, and must be well for ``bake_s`` before the others follow."""

    mode: DriftMode = DriftMode.REPLACE
    canaries: int = 1
    bake_s: float = 3600.0


_MODES: Final = {mode.value: mode for mode in DriftMode}


def drift_rule(annotations: Mapping[str, str]) -> DriftRule:
    """The rule of a pool with these annotations.

    Where one of them cannot be read, nodes that have drifted stay: that can be made up for, and `drift_problems` tells of it.

    >>> drift_rule({DRIFT_MODE: "Canary", DRIFT_CANARIES: "2"})
    DriftRule(mode=<DriftMode.CANARY: 'Canary'>, canaries=2, bake_s=3600.0)
    """
    try:
        return _read(annotations)
    except InvalidObject:
        return DriftRule(DriftMode.REPORT)


def drift_problems(annotations: Mapping[str, str]) -> None:
    """Nothing, where all of them can be read.

    Raises:
        InvalidObject: the first that cannot, with what stands there and what is accepted.
    """
    _read(annotations)


def _read(annotations: Mapping[str, str]) -> DriftRule:
    default = DriftRule()
    mode, canaries, bake = (annotations.get(key) for key in (DRIFT_MODE, DRIFT_CANARIES, DRIFT_BAKE))
    if mode is not None and mode not in _MODES:
        raise _refused(DRIFT_MODE, mode, ", ".join(_MODES))
    return DriftRule(
        default.mode if mode is None else _MODES[mode],
        default.canaries if canaries is None else _count(canaries),
        default.bake_s if bake is None else _seconds(bake),
    )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**6):
        raise _refused(DRIFT_CANARIES, text, "a whole number above zero")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except InvalidObject:
        seconds = -1.0
    if seconds < 0:
        raise _refused(DRIFT_BAKE, text, 'a duration, such as "1h"')
    return seconds


def _refused(key: str, text: str, accepted: str) -> InvalidObject:
    return InvalidObject(f"found {shown(text)}", path=f"metadata.annotations[{key}]", accepted=accepted)
