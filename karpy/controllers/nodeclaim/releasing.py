"""A claim that is being deleted: its nodes go first, then its machine, then the claim itself (core specification 4.12)."""

from __future__ import annotations

from karpy import labels
from karpy.cloud.provider import CloudProvider
from karpy.controllers.base import DONE, Result
from karpy.controllers.shared import Shared
from karpy.errors import KubeError, NodeClaimNotFound
from karpy.lifecycle.deadline import deadline_note
from karpy.metrics import (
    NODECLAIMS_INSTANCE_TERMINATION_DURATION,
    NODECLAIMS_TERMINATED,
    NODECLAIMS_TERMINATION_DURATION,
)
from karpy.objects.kinds import NODE, NODE_CLAIM
from karpy.objects.meta import Condition, ObjectMeta, decode
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
        """Nodes first (their finalizer drains them), then the instance, then the claim (core specification 4.12)."""
        if labels.TERMINATION_FINALIZER not in claim.metadata.finalizers:
            return DONE
        if self._note_deadline(claim):
            return DONE
        nodes = self._nodes(claim)
        if nodes:
            for node in nodes:
                self._delete_node(node)
            return DONE
        provider_id = claim.provider_id or self._forgotten_instance(claim, provider)
        if provider_id:
            is_gone = self._end_instance(claim, provider_id, provider)
            said = self._shared.state.claim(claim.name)
            if not is_gone or said is None:
                return Result(_DELETE_RETRY_S)
            claim = said
        self._let_go(claim, provider_id)
        return DONE

    def _note_deadline(self, claim: NodeClaim) -> bool:
        """Write down, once, when the last pod is ended at the latest. Whether that had to be written."""
        marks = deadline_note(claim)
        if not marks:
            return False
        # Tied to what was read: a deadline that somebody else sets meanwhile stays.
        metadata = {"resourceVersion": claim.metadata.resource_version, "annotations": marks}
        self._shared.kube.patch(NODE_CLAIM, claim.name, {"metadata": metadata})
        self._shared.log.info("annotated nodeclaim", provider_id=claim.provider_id, Node=claim.node_name, **marks)
        (deadline,) = marks.values()
        text = f"All pods will be deleted by {deadline}"
        self._shared.recorder.warning(NODE_CLAIM, claim.metadata, "TerminationGracePeriodExpiring", text)
        return True

    def _nodes(self, claim: NodeClaim) -> tuple[ObjectMeta, ...]:
        """The nodes that have to go first. One that never became ours carries no pods that have to be moved.

        What was heard may be a little old: before the machine is ended, the API server is asked for the node by its name. It also
        knows whether a node was opened that the claim does not know of, because karpy stopped in between.
        """
        nodes = tuple(node.metadata for node in self._shared.state.nodes_of(claim))
        if not claim.is_registered:
            asked = (self._its_own(claim, node.name) for node in nodes)
            return tuple(node for node in asked if node is not None and labels.REGISTERED in (node.labels or {}))
        if nodes or not claim.node_name or claim.is_true(INSTANCE_TERMINATING):
            return nodes
        found = self._its_own(claim, claim.node_name)
        return (found,) if found is not None else ()

    def _its_own(self, claim: NodeClaim, name: str) -> ObjectMeta | None:
        """The node of this name as the API server knows it, if it is the claim's."""
        try:
            raw = self._shared.kube.get(NODE, name)
        except KubeError as error:
            if not error.not_found:
                raise
            return None
        is_its_own = raw.get("spec", {}).get("providerID") == claim.provider_id
        return decode(raw["metadata"], ObjectMeta) if is_its_own else None

    def _delete_node(self, node: ObjectMeta) -> None:
        if node.is_deleting:
            return
        try:
            self._shared.kube.delete(NODE, node.name, uid=node.uid)
        except KubeError as error:
            if not error.not_found:
                raise

    def _end_instance(self, claim: NodeClaim, provider_id: str, provider: CloudProvider) -> bool:
        """Ask the cloud to end the machine; whether it is gone. The claim says that it is being ended, in any case."""
        is_gone = False
        try:
            provider.delete(provider_id)
        except NodeClaimNotFound:
            if self._is_fresh(claim):
                return False
            is_gone = True
        self._shared.set_condition(claim, Condition(INSTANCE_TERMINATING, "True", INSTANCE_TERMINATING, ""))
        return is_gone

    def _is_fresh(self, claim: NodeClaim) -> bool:
        """Whether its machine was launched so lately that the cloud may not show it yet: gone is believed only later. A time that
        is far ahead is of a clock that jumped back since."""
        launched = claim.condition(LAUNCHED)
        return launched is not None and launched.is_true and abs(self._shared.clock.now() - launched.since) < _SHOWN_S

    def _forgotten_instance(self, claim: NodeClaim, provider: CloudProvider) -> str:
        """An instance whose launch was never written down, because karpy stopped in between."""
        found = (instance.provider_id for instance in provider.list() if instance.claim == claim.name)
        return next(found, "")

    def _let_go(self, claim: NodeClaim, provider_id: str) -> None:
        shared = self._shared
        kept = [name for name in claim.metadata.finalizers if name != labels.TERMINATION_FINALIZER]
        patch = {"metadata": {"resourceVersion": claim.metadata.resource_version, "finalizers": kept}}
        shared.kube.patch(NODE_CLAIM, claim.name, patch)
        self._count(claim)
        known = {"provider_id": provider_id, "Node": claim.node_name}
        shared.log.info("deleted nodeclaim", **{key: value for key, value in known.items() if value})

    def _count(self, claim: NodeClaim) -> None:
        now, metrics = self._shared.clock.now(), self._shared.metrics
        capacity_type, zone = claim.labels.get(labels.CAPACITY_TYPE, ""), claim.labels.get(labels.ZONE, "")
        metrics.add(NODECLAIMS_TERMINATED, nodepool=claim.pool, capacity_type=capacity_type, zone=zone)
        if claim.metadata.deleted is not None:
            metrics.observe(
                NODECLAIMS_TERMINATION_DURATION, max(now - claim.metadata.deleted, 0.0), nodepool=claim.pool
            )
        ended = claim.condition(INSTANCE_TERMINATING)
        if ended is not None:
            metrics.observe(NODECLAIMS_INSTANCE_TERMINATION_DURATION, max(now - ended.since, 0.0), nodepool=claim.pool)
