"""A node that joined becomes ours: labels, annotations, taints and finalizer are put on it (core specification 4.2)."""

from __future__ import annotations

from typing import Any

from karpy import labels
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.meta import OwnerReference, to_wire
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.taints import UNREGISTERED, merge_taints

__all__ = ["registration_patch"]


def registration_patch(claim: NodeClaim, node: Node) -> dict[str, Any]:
    """The merge patch that registers ``node`` for ``claim``. What the claim says wins over what the kubelet set.

    Taints are given once: a start-up taint that was taken off since does not come back when the patch is made again.
    """
    taints = [taint for taint in node.spec.taints if not taint.matches(UNREGISTERED)]
    if node.labels.get(labels.DO_NOT_SYNC_TAINTS) != "true" and not node.is_registered:
        taints = list(merge_taints(merge_taints(taints, claim.taints), claim.startup_taints))
    owner = OwnerReference(
        NODE_CLAIM.kind, claim.name, claim.metadata.uid, NODE_CLAIM.api_version, block_owner_deletion=True
    )
    return {
        "metadata": {
            "resourceVersion": node.metadata.resource_version,
            "labels": {**claim.labels, labels.REGISTERED: "true"},
            "annotations": dict(claim.metadata.annotations or {}),
            "finalizers": sorted({*node.metadata.finalizers, labels.TERMINATION_FINALIZER}),
            "ownerReferences": to_wire((owner,)),
        },
        "spec": {"taints": to_wire(taints)},
    }
