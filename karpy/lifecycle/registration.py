"""A node that joined becomes ours: labels, annotations, taints and finalizer are put on it (core specification 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from karpy import labels
from karpy.lifecycle.liveness import TimeLimits, registration_left_s, registration_overdue
from karpy.lifecycle.step import GiveUp, Wait
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.meta import OwnerReference, to_wire
from karpy.objects.node import Node
from karpy.objects.nodeclaim import REGISTERED, NodeClaim
from karpy.taints import UNREGISTERED, Taint, merge_taints

__all__ = ["PendingHook", "awaiting_hooks", "is_unprotected", "registration_patch", "sync_patch"]


@attrs.frozen
class PendingHook:
    """A registration hook that does not let the node pass yet; it wants to be asked again after ``retry_after_s``."""

    name: str
    retry_after_s: float | None = None


def is_unprotected(claim: NodeClaim, node: Node) -> bool:
    """Whether pods may have come to the node before it was ours, since it joined without the taint against that."""
    return not _is_synced(claim, node) and not any(taint.matches(UNREGISTERED) for taint in node.spec.taints)


def registration_patch(claim: NodeClaim, node: Node) -> dict[str, Any]:
    """The merge patch that registers ``node`` for ``claim``, and opens it. What the claim says wins over what the kubelet set."""
    taints = [taint for taint in _taints(claim, node) if not taint.matches(UNREGISTERED)]
    return _patch(claim, node, {**claim.labels, labels.REGISTERED: "true"}, taints)


def sync_patch(claim: NodeClaim, node: Node) -> dict[str, Any] | None:
    """The merge patch that puts on the node what its claim says, and keeps it closed; None when all of that is there."""
    if _is_synced(claim, node) and claim.labels.items() <= node.labels.items():
        return None
    return _patch(claim, node, claim.labels, _taints(claim, node))


def awaiting_hooks(
    claim: NodeClaim, pending: Sequence[PendingHook], limits: TimeLimits, *, now: float
) -> Wait | GiveUp:
    """The node waits for these hooks, as long as it may take to join."""
    overdue = registration_overdue(claim, limits, now)
    if overdue is not None:
        return overdue
    retries = [hook.retry_after_s for hook in pending if hook.retry_after_s]
    left = min([registration_left_s(claim, limits, now), *retries])
    return Wait(REGISTERED, "RegistrationHookPending", ", ".join(hook.name for hook in pending), left)


def _patch(claim: NodeClaim, node: Node, labels_: Mapping[str, str], taints: Iterable[Taint]) -> dict[str, Any]:
    """Lists are replaced as a whole, so the patch is tied to the version of the node that was read."""
    others = [owner for owner in node.metadata.owner_references if owner.uid != claim.metadata.uid]
    own = OwnerReference(
        NODE_CLAIM.kind, claim.name, claim.metadata.uid, NODE_CLAIM.api_version, block_owner_deletion=True
    )
    return {
        "metadata": {
            "resourceVersion": node.metadata.resource_version,
            "labels": dict(labels_),
            "annotations": dict(claim.metadata.annotations or {}),
            "finalizers": sorted({*node.metadata.finalizers, labels.TERMINATION_FINALIZER}),
            "ownerReferences": to_wire([*others, own]),
        },
        "spec": {"taints": to_wire(list(taints))},
    }


def _taints(claim: NodeClaim, node: Node) -> Sequence[Taint]:
    """The claim's taints are given once: a start-up taint that was taken off since does not come back."""
    if node.labels.get(labels.DO_NOT_SYNC_TAINTS) == "true" or _is_synced(claim, node):
        return node.spec.taints
    return merge_taints(merge_taints(node.spec.taints, claim.taints), claim.startup_taints)


def _is_synced(claim: NodeClaim, node: Node) -> bool:
    """Whether karpy was here before: the claim owns the node from the first patch on, and the label comes with the last."""
    return node.is_registered or any(owner.uid == claim.metadata.uid for owner in node.metadata.owner_references)
