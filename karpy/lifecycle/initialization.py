"""When is a registered node really up? Every check in order, the first that fails is the reason (core specification 4.3)."""

from __future__ import annotations

from typing import Any

from karpy import labels
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.resources import PODS, Resources
from karpy.taints import is_ephemeral

__all__ = ["initialization_patch", "not_initialized"]


def not_initialized(claim: NodeClaim, node: Node) -> tuple[str, str] | None:
    """Reason and message of what is still missing, or None when the node is up."""
    if not node.is_ready:
        return "NodeNotReady", "Node status is NotReady"
    for taint in node.spec.taints:
        if any(taint.matches(startup) for startup in claim.startup_taints):
            return "StartupTaintsExist", f'StartupTaint "{taint}" still exists'
    for taint in node.spec.taints:
        if is_ephemeral(taint):
            return "KnownEphemeralTaintsExist", f'KnownEphemeralTaint "{taint}" still exists'
    reported = Resources.parse(node.status.allocatable or {})
    for name, amount in sorted(claim.requests.items()):
        if amount and name != PODS and not reported.get(name):
            return "ResourceNotRegistered", f'Resource "{name}" was requested but not registered'
    return None


def initialization_patch(node: Node) -> dict[str, Any]:
    """The merge patch that says so on the node."""
    return {"metadata": {"resourceVersion": node.metadata.resource_version, "labels": {labels.INITIALIZED: "true"}}}
