"""What stands on a node that is to go, and taking it off again where no command is about the node any more."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.objects.kinds import NODE
from karpy.objects.meta import Condition, to_wire
from karpy.objects.node import Node
from karpy.objects.nodeclaim import DISRUPTION_REASON, NodeClaim
from karpy.state.snapshot import NodeView
from karpy.taints import DISRUPTED

__all__ = ["is_marked", "mark", "undo_leftovers", "unmark"]


def mark(shared: Shared, claim: NodeClaim, node: Node, reason: str) -> None:
    """New pods keep off the node, and its claim says why it goes.

    Raises:
        KubeError: one of both was refused.
    """
    if not any(taint.matches(DISRUPTED) for taint in node.spec.taints):
        _patch_taints(shared, node, [*node.spec.taints, DISRUPTED])
    shared.set_condition(claim, Condition(DISRUPTION_REASON, "True", reason, reason))


def unmark(shared: Shared, view: NodeView) -> None:
    """The node is for pods again.

    Raises:
        KubeError: it could not be written.
    """
    claim, node = view.claim, view.node
    if claim is None or node is None or not shared.serves(claim):
        return
    taints = [taint for taint in node.spec.taints if not taint.matches(DISRUPTED)]
    if len(taints) < len(node.spec.taints):
        _patch_taints(shared, node, taints)
    kept = tuple(condition for condition in claim.conditions if condition.type != DISRUPTION_REASON)
    if len(kept) < len(claim.conditions):
        shared.patch_claim_status(claim, kept)


def is_marked(view: NodeView) -> bool:
    """Whether it stays and still bears what a command puts on those that go."""
    return view.derived(_is_marked)


def undo_leftovers(shared: Shared, busy: AbstractSet[str]) -> None:
    """Unmark the nodes that no command is about; ``busy`` are the claims that one is about. What is refused is tried again the next
    time."""
    for view in shared.state.snapshot().nodes:
        if is_marked(view) and view.claim is not None and view.claim.name not in busy:
            with contextlib.suppress(KubeError):
                unmark(shared, view)


def _is_marked(view: NodeView) -> bool:
    if view.claim is None or view.node is None or view.is_leaving:
        return False
    has_reason = any(condition.type == DISRUPTION_REASON for condition in view.claim.conditions)
    return has_reason or any(taint.matches(DISRUPTED) for taint in view.node.spec.taints)


def _patch_taints(shared: Shared, node: Node, taints: Sequence[object]) -> None:
    patch = {
        "metadata": {"resourceVersion": node.metadata.resource_version},
        "spec": {"taints": to_wire(taints)},
    }
    shared.kube.patch(NODE, node.name, patch)
