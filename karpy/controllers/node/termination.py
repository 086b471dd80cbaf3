"""Nodes that are being deleted: keep new pods away, drain, end the instance, let the node go (core specification 4.12)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

import attrs

from karpy import labels
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.shared import Shared
from karpy.errors import InvalidObject, KubeError, NodeClaimNotFound
from karpy.lifecycle.step import Drain
from karpy.lifecycle.termination import drain, termination_patch
from karpy.objects.kinds import NODE, POD
from karpy.objects.meta import Condition, decode
from karpy.objects.node import Node
from karpy.objects.nodeclaim import DISRUPTION_REASON, DRAINED, INSTANCE_TERMINATING, NodeClaim
from karpy.objects.pod import Pod
from karpy.objects.watchevent import WatchEvent

__all__ = ["NodeTermination"]

_BLOCKED_RETRY_S = (2.0, 10.0)
"""How soon a pod that may not be evicted is asked for again, the first time, and at the most: twice as long each time."""
_DRAIN_RETRY_S = 10.0
_DELETE_RETRY_S = 5.0


@attrs.frozen
class _Refusal:
    """A pod may not be evicted for now."""

    at: float
    rest_s: float

    def left_s(self, now: float) -> float:
        """Until it is asked for again. A clock that jumped back makes nobody wait for longer."""
        passed_s = now - self.at
        return self.rest_s - passed_s if 0 <= passed_s < self.rest_s else 0.0

    def again(self, now: float) -> _Refusal:
        return _Refusal(now, min(self.rest_s * 2, _BLOCKED_RETRY_S[1]))


class NodeTermination:
    """Acts on nodes with karpy's finalizer and a deletion time; leaves all others alone."""

    name = "node.termination"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._refused: dict[str, dict[str, _Refusal]] = {}
        """The pods that may not be evicted yet, by node and uid."""

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE, by_name), Source(POD, self._node_of_pod))

    def _node_of_pod(self, event: WatchEvent) -> tuple[Request, ...]:
        """A pod that ends on a node which is waiting for that."""
        node = self._shared.state.node(event.object.get("spec", {}).get("nodeName", ""))
        return (Request(node.name),) if node is not None and node.metadata.is_deleting else ()

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        node = shared.state.node(request.name)
        if node is None or not node.metadata.is_deleting:
            self._refused.pop(request.name, None)
            return DONE
        if labels.TERMINATION_FINALIZER not in node.metadata.finalizers:
            return DONE
        claim = shared.state.claim_of(node)
        if claim is not None and not shared.serves(claim):
            return DONE
        if claim is not None and not claim.metadata.is_deleting:
            shared.delete_claim(claim)
        if self._is_orphan(node, claim):
            return self._let_go(node, claim)
        patch = termination_patch(node)
        if patch is not None:
            shared.kube.patch(NODE, node.name, patch)
            return DONE  # the watch brings the node back, tainted
        state = drain(shared.state.pods_on(node.name), now=shared.clock.now())
        if state.is_done:
            # What was heard may be a little old: a pod that was bound just before the taint came would end with its machine.
            state = drain(self._pods_now_on(node), now=shared.clock.now())
        if not state.is_done:
            return self._drain(node, claim, state)
        return self._end_instance(node, claim)

    def _pods_now_on(self, node: Node) -> Iterable[Pod]:
        """As the API server has them at this moment. What cannot be read keeps no node, as in the state."""
        for raw in self._shared.kube.list(POD, field_selector=f"spec.nodeName={node.name}").items:
            with contextlib.suppress(InvalidObject):
                yield decode(raw, Pod)

    def _is_orphan(self, node: Node, claim: NodeClaim | None) -> bool:
        """A node that is not ready and whose instance is gone: nobody would answer a drain."""
        if node.is_ready or claim is None:
            return False
        provider = self._shared.clouds.serving(claim.node_class)
        if provider is None or not claim.provider_id:
            return False
        try:
            provider.get(claim.provider_id)
        except NodeClaimNotFound:
            return True
        return False

    def _drain(self, node: Node, claim: NodeClaim | None, state: Drain) -> Result:
        self._set(claim, Condition(DRAINED, "Unknown", "Draining", "Draining"))
        blocked = self._evict_all(node.name, state.evict, claim)
        if not blocked:
            return Result(_DRAIN_RETRY_S)
        waiting = len(blocked) + len(state.waiting)
        self._shared.recorder.warning(
            NODE, node.metadata, "FailedDraining", f"Failed to drain node, {waiting} pods are waiting to be evicted"
        )
        now = self._shared.clock.now()
        return Result(min(refusal.left_s(now) for refusal in blocked.values()))

    def _evict_all(self, node: str, pods: Sequence[Pod], claim: NodeClaim | None) -> dict[str, _Refusal]:
        """Evict those that were not refused a moment ago; returns the refusals that hold."""
        now = self._shared.clock.now()
        before = self._refused.get(node, {})
        blocked = {}
        for pod in pods:
            uid = pod.metadata.uid
            known = before.get(uid)
            if known is not None and known.left_s(now) > 0:
                blocked[uid] = known
            elif not self._evict(pod, claim):
                blocked[uid] = known.again(now) if known is not None else _Refusal(now, _BLOCKED_RETRY_S[0])
        self._refused[node] = blocked
        return blocked

    def _evict(self, pod: Pod, claim: NodeClaim | None) -> bool:
        """Ask the API server; False when it refuses for now, be it for a PodDisruptionBudget or for two (a 500)."""
        try:
            self._shared.kube.evict(pod.metadata.name, pod.metadata.namespace, uid=pod.metadata.uid)
        except KubeError as error:
            # Gone already, or another pod of that name by now: nothing is left to evict.
            return error.not_found or error.code == 409
        why = claim.condition(DISRUPTION_REASON) if claim is not None else None
        reason = (why.reason if why is not None else None) or "Forceful Termination"
        self._shared.recorder.normal(POD, pod.metadata, "Evicted", f"Evicted pod: {reason}")
        return True

    def _end_instance(self, node: Node, claim: NodeClaim | None) -> Result:
        if claim is not None and claim.provider_id:
            provider = self._shared.clouds.serving(claim.node_class)
            if provider is not None:
                self._set(claim, Condition(DRAINED, "True", DRAINED, ""))
                try:
                    provider.delete(claim.provider_id)
                except NodeClaimNotFound:
                    return self._let_go(node, claim)
                fresh = self._shared.state.claim(claim.name)
                self._set(fresh, Condition(INSTANCE_TERMINATING, "True", INSTANCE_TERMINATING, ""))
                return Result(_DELETE_RETRY_S)
        return self._let_go(node, claim)

    def _let_go(self, node: Node, claim: NodeClaim | None) -> Result:
        kept = [name for name in node.metadata.finalizers if name != labels.TERMINATION_FINALIZER]
        patch = {"metadata": {"resourceVersion": node.metadata.resource_version, "finalizers": kept}}
        self._shared.kube.patch(NODE, node.name, patch)
        self._shared.log.info("deleted node", Node=node.name, NodeClaim=claim.name if claim is not None else "")
        return DONE

    def _set(self, claim: NodeClaim | None, condition: Condition) -> None:
        if claim is not None:
            self._shared.set_condition(claim, condition)
