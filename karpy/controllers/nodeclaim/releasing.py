"""A claim that is being deleted: its node goes first, then its machine, then the claim itself (core specification 4.12)."""

from __future__ import annotations

from collections.abc import Mapping

from karpy import labels
from karpy.cloud.provider import CloudProvider
from karpy.controllers.base import DONE, Result
from karpy.controllers.shared import Shared
from karpy.errors import NodeClaimNotFound
from karpy.lifecycle.deadline import deadline_note
from karpy.objects.kinds import NODE, NODE_CLAIM
from karpy.objects.meta import Condition
from karpy.objects.nodeclaim import INSTANCE_TERMINATING, LAUNCHED, NodeClaim

__all__ = ["Releasing"]

_DELETE_RETRY_S = 5.0
_SHOWN_S = 20.0
"""Clouds show what they launched by then; before, they may deny that there is such a machine."""


class Releasing:
    """Takes one step towards the claim's end at a time; the watch event of each leads to the next."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def release(self, claim: NodeClaim, provider: CloudProvider) -> Result:
        """Node first (its finalizer drains it), then the instance, then the claim (core specification 4.12)."""
        if labels.TERMINATION_FINALIZER not in claim.metadata.finalizers:
            return DONE
        shared = self._shared
        note = deadline_note(claim)
        if note:
            return self._note_deadline(claim, note)
        node = shared.state.node_of(claim)
        if node is not None and claim.is_registered:
            if not node.metadata.is_deleting:
                shared.kube.delete(NODE, node.name, uid=node.metadata.uid)
            return DONE
        provider_id = claim.provider_id or self._forgotten_instance(claim, provider)
        if provider_id:
            try:
                provider.delete(provider_id)
            except NodeClaimNotFound:
                if self._is_fresh(claim):
                    return Result(_DELETE_RETRY_S)
            else:
                self._shared.set_condition(claim, Condition(INSTANCE_TERMINATING, "True", INSTANCE_TERMINATING, ""))
                return Result(_DELETE_RETRY_S)
        kept = [name for name in claim.metadata.finalizers if name != labels.TERMINATION_FINALIZER]
        patch = {"metadata": {"resourceVersion": claim.metadata.resource_version, "finalizers": kept}}
        shared.kube.patch(NODE_CLAIM, claim.name, patch)
        shared.log.info("deleted nodeclaim", NodeClaim=claim.name, provider_id=provider_id)
        return DONE

    def _note_deadline(self, claim: NodeClaim, note: Mapping[str, str]) -> Result:
        """For everybody to see, and not to be moved when the claim's grace period would be reckoned anew."""
        patch = {"metadata": {"resourceVersion": claim.metadata.resource_version, "annotations": note}}
        self._shared.kube.patch(NODE_CLAIM, claim.name, patch)
        self._shared.log.info("annotated nodeclaim", NodeClaim=claim.name, **{"provider-id": claim.provider_id, **note})
        (deadline,) = note.values()
        text = f"All pods will be deleted by {deadline}"
        self._shared.recorder.warning(NODE_CLAIM, claim.metadata, "TerminationGracePeriodExpiring", text)
        return DONE

    def _is_fresh(self, claim: NodeClaim) -> bool:
        """Whether its machine was launched so lately that the cloud may not show it yet: gone is believed only later."""
        launched = claim.condition(LAUNCHED)
        return launched is not None and launched.is_true and self._shared.clock.now() < launched.since + _SHOWN_S

    def _forgotten_instance(self, claim: NodeClaim, provider: CloudProvider) -> str:
        """An instance whose launch was never written down, because karpy stopped in between."""
        found = (instance.provider_id for instance in provider.list() if instance.claim == claim.name)
        return next(found, "")
