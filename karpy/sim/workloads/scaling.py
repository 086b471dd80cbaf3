"""How many replicas a HorizontalPodAutoscaler may ask for next: stabilization and rates, as arithmetic.

Source: the HorizontalPodAutoscaler controller of Kubernetes 1.31.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

__all__ = ["Advice", "Change", "Limited", "limited", "stabilized", "within_tolerance"]

TOLERANCE = 0.1
DOWN_WINDOW_S = 300.0
_LEAST_STEP = 4
_UP_POLICIES: Sequence[Mapping[str, Any]] = (
    {"type": "Pods", "value": 4, "periodSeconds": 15},
    {"type": "Percent", "value": 100, "periodSeconds": 15},
)
_DOWN_POLICIES: Sequence[Mapping[str, Any]] = ({"type": "Percent", "value": 100, "periodSeconds": 15},)


@attrs.frozen
class Advice:
    """What was recommended at some time."""

    at: float
    replicas: int


@attrs.frozen
class Change:
    """By how many replicas a target was changed at some time; negative when it shrank."""

    at: float
    by: int


@attrs.frozen
class Limited:
    """A number of replicas and why it is that one: status, reason and message of a condition."""

    replicas: int
    reason: str
    message: str
    is_limited: bool = True


_WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_TOO_FAST_UP = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_TOO_FAST_DOWN = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")
_STABLE_UP = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
_STABLE_DOWN = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_READY = ("ReadyForNewScale", "recommended size matches current size")


def within_tolerance(ratio: float) -> bool:
    """Whether a ratio of use to target is so near to 1 that nothing is done.

    >>> within_tolerance(1.1), within_tolerance(0.89)
    (True, False)
    """
    return abs(1.0 - ratio) <= TOLERANCE + 1e-12


def window_s(behavior: Mapping[str, Any] | None, direction: str) -> float:
    """For how long earlier recommendations count."""
    given = ((behavior or {}).get(direction) or {}).get("stabilizationWindowSeconds")
    if given is not None:
        return float(given)
    return DOWN_WINDOW_S if direction == "scaleDown" else 0.0


def stabilized(
    desired: int, current: int, history: Sequence[Advice], behavior: Mapping[str, Any] | None, now: float
) -> Limited:
    """The desired number, held against what was recommended a moment ago: the least change that would have done throughout."""
    up_since, down_since = (now - window_s(behavior, direction) for direction in ("scaleUp", "scaleDown"))
    lowest = min([desired, *(each.replicas for each in history if each.at > up_since)])
    highest = max([desired, *(each.replicas for each in history if each.at > down_since)])
    replicas = min(max(current, lowest), highest) if behavior is not None else highest
    if replicas == desired:
        return Limited(replicas, *_READY, is_limited=False)
    return Limited(replicas, *(_STABLE_UP if desired >= current and behavior is not None else _STABLE_DOWN))


def limited(
    desired: int,
    current: int,
    least: int,
    most: int,
    behavior: Mapping[str, Any] | None,
    changes: Sequence[Change],
    now: float,
) -> Limited:
    """The desired number within the bounds and no faster than allowed."""
    if behavior is None:
        fastest = max(2 * current, _LEAST_STEP)
        ceiling, why = (fastest, _TOO_FAST_UP) if most > fastest else (most, _TOO_MANY)
        if desired < least:
            return Limited(least, *_TOO_FEW)
        return Limited(ceiling, *why) if desired > ceiling else Limited(desired, *_WITHIN, is_limited=False)
    if desired > current:
        fastest = max(_up_limit(behavior.get("scaleUp") or {}, current, changes, now), current)
        ceiling, why = (fastest, _TOO_FAST_UP) if most > fastest else (most, _TOO_MANY)
        return Limited(ceiling, *why) if desired > ceiling else Limited(desired, *_WITHIN, is_limited=False)
    if desired < current:
        fastest = min(_down_limit(behavior.get("scaleDown") or {}, current, changes, now), current)
        floor, why = (fastest, _TOO_FAST_DOWN) if least < fastest else (least, _TOO_FEW)
        return Limited(floor, *why) if desired < floor else Limited(desired, *_WITHIN, is_limited=False)
    return Limited(desired, *_WITHIN, is_limited=False)


def _up_limit(rules: Mapping[str, Any], current: int, changes: Sequence[Change], now: float) -> int:
    choice = rules.get("selectPolicy") or "Max"
    if choice == "Disabled":
        return current
    found = []
    for policy in rules.get("policies") or _UP_POLICIES:
        start = _at_start(policy, current, changes, now)
        value = int(policy["value"])
        found.append(start + value if policy["type"] == "Pods" else math.ceil(start * (1 + value / 100)))
    return min(found) if choice == "Min" else max(found)


def _down_limit(rules: Mapping[str, Any], current: int, changes: Sequence[Change], now: float) -> int:
    choice = rules.get("selectPolicy") or "Max"
    if choice == "Disabled":
        return current
    found = []
    for policy in rules.get("policies") or _DOWN_POLICIES:
        start = _at_start(policy, current, changes, now)
        value = int(policy["value"])
        found.append(start - value if policy["type"] == "Pods" else int(start * (1 - value / 100)))
    return max(found) if choice == "Min" else min(found)


def _at_start(policy: Mapping[str, Any], current: int, changes: Sequence[Change], now: float) -> int:
    """How many replicas there were when the policy's period began."""
    since = now - float(policy["periodSeconds"])
    return current - sum(each.by for each in changes if each.at > since)
