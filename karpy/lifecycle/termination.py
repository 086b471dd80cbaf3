"""Keeping others away from a node that goes (core specification 4.12)."""

from __future__ import annotations

from typing import Any

from karpy import labels
from karpy.objects.meta import to_wire
from karpy.objects.node import Node
from karpy.taints import DISRUPTED

__all__ = ["termination_patch"]


def termination_patch(node: Node) -> dict[str, Any] | None:
    """The merge patch that keeps new pods and load balancers away, or None when it is there already."""
    exclude = {labels.EXCLUDE_FROM_LOAD_BALANCERS: "karpenter"}
    tainted = any(taint.matches(DISRUPTED) for taint in node.spec.taints)
    if tainted and exclude.items() <= node.labels.items():
        return None
    taints = [taint for taint in node.spec.taints if taint.key != DISRUPTED.key]
    return {
        "metadata": {"resourceVersion": node.metadata.resource_version, "labels": exclude},
        "spec": {"taints": to_wire([*taints, DISRUPTED])},
    }
