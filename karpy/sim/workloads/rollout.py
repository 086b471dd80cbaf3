"""How a rolling update moves replicas from old to new, as arithmetic.

Source: the Deployment controller: never more than ``replicas + maxSurge`` pods, never fewer than ``replicas - maxUnavailable``
available ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["Limits", "new_replicas", "resolve", "surplus_of_old"]


@attrs.frozen
class Limits:
    """How far the number of pods may stray from what is asked for."""

    surge: int
    unavailable: int


def resolve(value: int | str, total: int, *, up: bool) -> int:
    """A count, or a percentage of ``total`` rounded up or down.

    >>> resolve("25%", 10, up=True), resolve("25%", 10, up=False), resolve(3, 10, up=True)
    (3, 2, 3)
    """
    if isinstance(value, str) and value.endswith("%"):
        share = int(value[:-1]) * total / 100
        return math.ceil(share) if up else math.floor(share)
    return int(value)


def limits_of(strategy: Mapping[str, Any], replicas: int) -> Limits:
    """Surge rounds up and unavailability down; when both come to nothing, one pod may be missing."""
    rolling = strategy.get("rollingUpdate") or {}
    surge = resolve(rolling.get("maxSurge", "25%"), replicas, up=True)
    unavailable = resolve(rolling.get("maxUnavailable", "25%"), replicas, up=False)
    return Limits(surge, 1 if surge == 0 and unavailable == 0 else unavailable)


def new_replicas(wanted: int, current_new: int, current_all: int, limits: Limits) -> int:
    """How many replicas the new set should have now."""
    if current_new >= wanted:
        return wanted
    room = wanted + limits.surge - current_all
    return current_new + max(min(room, wanted - current_new), 0)


def surplus_of_old(wanted: int, current_all: int, new: int, new_available: int, limits: Limits) -> int:
    """How many pods of old sets may go now, not counting on new pods that are not available yet."""
    least = wanted - limits.unavailable
    return max(current_all - least - (new - new_available), 0)
