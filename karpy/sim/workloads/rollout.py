"""How a rolling update moves replicas from old to new, as arithmetic.

Source: the Deployment controller: never more than ``replicas + maxSurge`` pods, never fewer than ``replicas - maxUnavailable``
available ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from karpy.sim.portions import resolve

__all__ = ["Limits", "Share", "limits_of", "new_replicas", "proportional", "surplus_of_old"]


@attrs.frozen
class Limits:
    """How far the number of pods may stray from what is asked for."""

    surge: int
    unavailable: int


def limits_of(strategy: Mapping[str, Any], replicas: int) -> Limits:
    """Surge rounds up and unavailability down; when both come to nothing, one pod may be missing.

    Who recreates has neither: for it every missing pod is one too many.
    """
    if strategy.get("type") == "Recreate":
        return Limits(0, 0)
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


@attrs.frozen
class Share:
    """A set with pods: its size, how many pods there might be of all sets when it was sized, and when it was made."""

    size: int
    most: int
    created: str


def proportional(shares: Sequence[Share], wanted: int, surge: int) -> list[int]:
    """The sizes of the sets when the whole is to have another size in the middle of a rollout.

    Each grows or shrinks with the whole, larger ones first; of equals, newer ones grow and older ones shrink first. What rounding
    leaves goes to the first.

    >>> proportional([Share(5, 13, "1"), Share(8, 13, "2")], 15, 4)
    [7, 12]
    """
    allowed = wanted + surge if wanted else 0
    to_add = allowed - sum(share.size for share in shares)
    sizes = [share.size for share in shares]
    order = sorted(range(len(shares)), key=lambda i: shares[i].created, reverse=to_add > 0)
    order.sort(key=lambda i: -shares[i].size)
    added = 0
    for i in order:
        left = to_add - added
        part = _part(shares[i], wanted, wanted + surge)
        step = min(part, left) if to_add > 0 else max(part, left)
        sizes[i] += step if left else 0
        added += step if left else 0
    first = order[0]
    sizes[first] = max(sizes[first] + to_add - added, 0)
    return sizes


def _part(share: Share, wanted: int, most: int) -> int:
    """By how much a set would change if it kept its share of the whole."""
    if not wanted:
        return -share.size
    return _round(share.size * most / share.most) - share.size if share.most else 0


def _round(number: float) -> int:
    """To the nearest; halves go up."""
    return math.floor(number + 0.5)
