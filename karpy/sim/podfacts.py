"""What state a pod, or another object that has conditions, is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.clock import parse_time
from karpy.kube.client import RawObject

__all__ = ["available_since", "condition_of", "is_active", "is_deleting", "is_finished", "is_ready"]

_FINISHED = ("Succeeded", "Failed")


def is_deleting(obj: RawObject) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def is_finished(pod: RawObject) -> bool:
    status = pod.get("status")
    return status is not None and status.get("phase") in _FINISHED


def is_active(pod: RawObject) -> bool:
    """Neither finished nor on its way out."""
    return "deletionTimestamp" not in pod["metadata"] and not is_finished(pod)


def condition_of(obj: RawObject, type_: str) -> Mapping[str, Any] | None:
    status = obj.get("status")
    for condition in (status.get("conditions") if status else None) or ():
        if condition["type"] == type_:
            found: Mapping[str, Any] = condition
            return found
    return None


def is_ready(pod: RawObject) -> bool:
    condition = condition_of(pod, "Ready")
    return condition is not None and condition["status"] == "True"


def available_since(pod: RawObject, min_ready_s: float) -> float | None:
    """From when on the pod counts as available; None while it is not ready."""
    condition = condition_of(pod, "Ready")
    if condition is None or condition["status"] != "True":
        return None
    return parse_time(condition["lastTransitionTime"]) + min_ready_s if min_ready_s else 0.0
