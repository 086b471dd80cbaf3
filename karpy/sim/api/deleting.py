"""What a request to delete means for one object: whether it goes at once, after which grace, and what may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.sim.api import status
from karpy.sim.api.options import DeleteOptions
from karpy.sim.api.resources import Resource
from karpy.sim.api.status import Cause

__all__ = ["FOREGROUND", "ORPHAN", "PODS", "check_propagation", "grace_of", "is_finished"]


FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
PODS = ("", "pods")


def is_finished(obj: Mapping[str, Any]) -> bool:
    """Whether nothing holds a deleted object any more: no finalizer, no grace, no namespace content."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    return not (obj.get("kind") == "Namespace" and (obj.get("spec") or {}).get("finalizers"))


def check_propagation(options: DeleteOptions) -> None:
    """Raises:
    KubeError: 422, the propagation policy is unknown.
    """
    if options.propagation not in ("", "Foreground", "Background", "Orphan"):
        supported = ("Foreground", "Background", "Orphan", "nil")
        cause = Cause.unsupported("propagationPolicy", f'"{options.propagation}"', supported)
        raise status.invalid_options("DeleteOptions", cause)


def grace_of(resource: Resource, obj: Mapping[str, Any], options: DeleteOptions) -> int:
    """Seconds between the mark and the end; only pods that run somewhere have any."""
    if resource.key != PODS:
        return 0
    spec = obj.get("spec") or {}
    if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    if options.grace_period_s is not None:
        return options.grace_period_s if options.grace_period_s >= 0 else 1
    return int(spec.get("terminationGracePeriodSeconds", 30))
