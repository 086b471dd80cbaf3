"""Nodes that are being deleted: keep new pods away, drain, detach, end the instance, let the node go (core specification 4.12).

One step at a time, by what stands on the objects; the watch event of each leads to the next.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from karpy import labels
from karpy.clock import format_time
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.node.blocking import Blocking
from karpy.controllers.node.eviction import TOLD_AGAIN_S, Evictions
from karpy.controllers.node.replacing import Replacing
from karpy.controllers.shared import Shared
from karpy.errors import InvalidObject, NodeClaimNotFound
from karpy.lifecycle.deadline import termination_deadline
from karpy.lifecycle.detaching import awaited_attachments
from karpy.lifecycle.draining import Drain, drain, keeps_its_turn
from karpy.lifecycle.termination import termination_patch
from karpy.metrics import NODES_DRAINED, NODES_LIFETIME_DURATION, NODES_TERMINATED, NODES_TERMINATION_DURATION
from karpy.objects.kinds import NODE, NODE_CLAIM, POD, POD_DISRUPTION_BUDGET, VOLUME_ATTACHMENT
from karpy.objects.meta import Condition, decode
from karpy.objects.node import Node
from karpy.objects.nodeclaim import DRAINED, INSTANCE_TERMINATING, VOLUMES_DETACHED, NodeClaim
from karpy.objects.pod import Pod
from karpy.objects.volumes import VolumeAttachment
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.taints import DISRUPTED

__all__ = ["NodeTermination"]

_LOOK_AGAIN_S = 10.0
"""While pods or volumes are waited for: everything that matters wakes us, so this is for what was not heard."""
_DELETE_RETRY_S = 5.0
_SHOWN_ATTACHMENTS = 5


class NodeTermination:
    """Acts on nodes with karpy's finalizer and a deletion time; leaves all others alone."""

    name = "node.termination"
    looks_at = NODE

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._evictions = Evictions(shared)
        self._blocking = Blocking(shared)
        self._replacing = Replacing(shared)
        self._deadlines: dict[str, str] = {}
        """What was last heard of each claim's, so that all else that happens to claims wakes nobody."""

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(NODE, _when_deleting),
            Source(POD, self._node_of_pod),
            Source(NODE_CLAIM, self._node_of_claim),
            Source(POD_DISRUPTION_BUDGET, self._nodes_of_budget),
            Source(VOLUME_ATTACHMENT, self._node_of_attachment),
        )

    def _node_of_pod(self, event: WatchEvent) -> tuple[Request, ...]:
        """A pod that came to an end, or came, on a node which waits for the end of all; one that is ending, or about to, is no
        news, unless somebody gave it more time than there is. Nor is the end of one that was evicted, while it is still the turn
        of others like it."""
        node = self._shared.state.node(event.object.get("spec", {}).get("nodeName", ""))
        if node is None or not node.metadata.is_deleting:
            return ()
        metadata, status = event.object["metadata"], event.object.get("status") or {}
        claim, is_evicted = self._shared.state.claim_of(node), _is_evicted(status)
        if event.type is EventType.DELETED or status.get("phase") in ("Succeeded", "Failed"):
            is_expected = is_evicted and self._goes_on_without(node, claim, metadata.get("uid", ""))
        else:
            is_going = is_evicted or "deletionTimestamp" in metadata
            is_expected = is_going and (claim is None or termination_deadline(claim) is None)
        return () if is_expected else (Request(node.name),)

    def _goes_on_without(self, node: Node, claim: NodeClaim | None, uid: str) -> bool:
        """Whether the drain of a node takes no notice of the end of this pod, which it asked for."""
        if _awaits_replacement(claim) or self._evictions.is_refused(node.name, uid):
            return False
        others = (pod for pod in self._shared.state.pods_on(node.name) if pod.metadata.uid != uid)
        return keeps_its_turn(others, self._shared.clock.now())

    def _node_of_claim(self, event: WatchEvent) -> tuple[Request, ...]:
        """A claim that is to be gone by another time than was known."""
        metadata = event.object["metadata"]
        name, deadline = metadata["name"], (metadata.get("annotations") or {}).get(labels.TERMINATION_TIMESTAMP)
        if deadline == self._deadlines.get(name):
            return ()
        if event.type is EventType.DELETED or deadline is None:
            self._deadlines.pop(name, None)
            return ()
        self._deadlines[name] = deadline
        return self._when_leaving((event.object.get("status") or {}).get("nodeName", ""))

    def _nodes_of_budget(self, event: WatchEvent) -> tuple[Request, ...]:
        """A budget that allows more than it did."""
        return tuple(Request(node) for node in self._evictions.released_by(event))

    def _node_of_attachment(self, event: WatchEvent) -> tuple[Request, ...]:
        """A volume that is off a node."""
        if event.type is not EventType.DELETED:
            return ()
        return self._when_leaving((event.object.get("spec") or {}).get("nodeName", ""))

    def _when_leaving(self, name: str) -> tuple[Request, ...]:
        node = self._shared.state.node(name)
        return (Request(name),) if node is not None and node.metadata.is_deleting else ()

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        node = shared.state.node(request.name)
        if (
            node is None
            or not node.metadata.is_deleting
            or labels.TERMINATION_FINALIZER not in node.metadata.finalizers
        ):
            self._evictions.forget(request.name)
            return DONE
        claims = shared.state.claims_of(node)
        if not self._is_ours(node, claims):
            return DONE
        for each in claims:
            if not each.metadata.is_deleting:
                shared.delete_claim(each)
        claim = claims[0] if claims else None
        if self._is_orphan(node, claim):
            return self._let_go(node, claim)
        patch = termination_patch(node)
        if patch is not None:
            shared.kube.patch(NODE, node.name, patch)
            taint = {"taint.Key": DISRUPTED.key, "taint.Value": "", "taint.Effect": DISRUPTED.effect}
            shared.log.info("tainted node", Node=node.name, NodeClaim=claim.name if claim is not None else "", **taint)
            return DONE  # the watch brings the node back, tainted
        return self._empty(node, claim)

    def _is_ours(self, node: Node, claims: Sequence[NodeClaim]) -> bool:
        """Whether one of our clouds launched the node: its claims say so, or where it has none, its labels do."""
        shared = self._shared
        if claims:
            return all(shared.serves(claim) for claim in claims)
        return any(labels.node_class_label(kind.group, kind.kind) in node.labels for kind in shared.clouds.kinds)

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

    # Emptying it

    def _empty(self, node: Node, claim: NodeClaim | None) -> Result:
        """Pods first, then volumes; then the machine may end."""
        shared, now = self._shared, self._shared.clock.now()
        deadline = termination_deadline(claim) if claim is not None else None
        step = drain(shared.state.pods_on(node.name), now=now, deadline=deadline)
        if step.is_done:
            # What was heard may be a little old: a pod that was bound just before the taint came would end with its machine.
            step = drain(self._pods_now_on(node), now=now, deadline=deadline)
        if not step.is_done:
            return self._drain(node, claim, step, deadline)
        self._evictions.forget(node.name)
        self._tell_stuck(node, step)
        pods, attachments = shared.state.pods_on(node.name), shared.state.attachments_on(node.name)
        awaited = awaited_attachments(attachments, pods, shared.state.volume_claims(), now=now) if attachments else ()
        if awaited and (deadline is None or now < deadline):
            return self._await_detachment(node, claim, awaited, deadline)
        return self._end_instance(node, claim, were_detached=not awaited)

    def _pods_now_on(self, node: Node) -> Iterable[Pod]:
        """As the API server has them at this moment. What cannot be read keeps no node, as in the state."""
        for raw in self._shared.kube.list(POD, field_selector=f"spec.nodeName={node.name}").items:
            with contextlib.suppress(InvalidObject):
                yield decode(raw, Pod)

    def _drain(self, node: Node, claim: NodeClaim | None, step: Drain, deadline: float | None) -> Result:
        shared, now = self._shared, self._shared.clock.now()
        is_first = claim is None or claim.condition(DRAINED) is None
        if is_first and deadline is not None:
            text = f"All pods will be deleted by {format_time(deadline)}"
            shared.recorder.warning(NODE, node.metadata, "TerminationGracePeriodExpiring", text)
        waiting = len(step.remaining)
        text = f"Failed to drain node, {waiting} pods are waiting to be evicted"
        shared.recorder.warning(NODE, node.metadata, "FailedDraining", text, topic="waiting", repeat_s=TOLD_AGAIN_S)
        self._tell_protected(step, now)
        replaced_in_s = self._replacing.waits_s(node, claim, deadline) if _awaits_replacement(claim) else None
        if replaced_in_s is not None:
            message = "Waiting until its pods have a place on other nodes"
            self._set(claim, Condition(DRAINED, "Unknown", AWAITING_REPLACEMENT, message))
            self._evictions.carry_out(node, claim, Drain(force=step.force), deadline)
            return Result(min(replaced_in_s, max(step.next_at - now, 0.0)))
        asked_in_s = self._evictions.carry_out(node, claim, step, deadline)
        self._set(claim, self._blocking.drained(node, claim, step, self._evictions.refused(node.name), deadline))
        return Result(min(asked_in_s, max(step.next_at - now, 0.0), _LOOK_AGAIN_S))

    def _tell_protected(self, step: Drain, now: float) -> None:
        """What became of the wishes of pods not to be disturbed."""
        recorder = self._shared.recorder
        for pod in step.remaining:
            if pod.misread_protection:
                found = f'"{labels.DO_NOT_DISRUPT}: {pod.misread_protection}"'
                text = f'{found} is ignored (accepted: "true", or a duration such as "30m")'
                recorder.warning(POD, pod.metadata, "InvalidDoNotDisruptAnnotation", text)
            elif pod.protected_s is not None and math.isfinite(pod.protected_until):
                until = format_time(pod.protected_until)
                if pod.is_protected(now):
                    recorder.normal(POD, pod.metadata, "DoNotDisruptUntil", f"Pod is not disrupted until {until}")
                else:
                    text = f"Pod may be disrupted since {until}"
                    recorder.normal(POD, pod.metadata, "DoNotDisruptGracePeriodElapsed", text)

    def _tell_stuck(self, node: Node, step: Drain) -> None:
        """Pods that are not waited for any longer, and what holds them."""
        for pod in step.stuck:
            held = f", held by the finalizer(s) {', '.join(pod.metadata.finalizers)}" if pod.metadata.finalizers else ""
            text = f"Not waiting any longer for pod {pod.key}, which should have ended long ago{held}"
            self._shared.recorder.warning(NODE, node.metadata, "FailedDraining", text)

    def _await_detachment(
        self, node: Node, claim: NodeClaim | None, awaited: Sequence[VolumeAttachment], deadline: float | None
    ) -> Result:
        names = [each.metadata.name for each in awaited]
        shown, others = ", ".join(names[:_SHOWN_ATTACHMENTS]), len(names) - _SHOWN_ATTACHMENTS
        text = (
            f"Awaiting deletion of bound volumeattachments ({shown}{f' and {others} other(s)' if others > 0 else ''})"
        )
        reason = "AwaitingVolumeDetachment"
        self._shared.recorder.normal(NODE, node.metadata, reason, text, topic=reason)
        self._set_drained(claim, Condition(VOLUMES_DETACHED, "Unknown", reason, reason))
        left_s = math.inf if deadline is None else deadline - self._shared.clock.now()
        return Result(min(left_s, _LOOK_AGAIN_S))

    # Ending it

    def _end_instance(self, node: Node, claim: NodeClaim | None, *, were_detached: bool) -> Result:
        provider = self._shared.clouds.serving(claim.node_class) if claim is not None else None
        if claim is None or provider is None or not claim.provider_id:
            return self._let_go(node, claim)
        detached = Condition(VOLUMES_DETACHED, "True", VOLUMES_DETACHED, "")
        given_up = Condition(
            VOLUMES_DETACHED, "False", "TerminationGracePeriodElapsed", "TerminationGracePeriodElapsed"
        )
        ending = Condition(INSTANCE_TERMINATING, "True", INSTANCE_TERMINATING, "")
        self._set_drained(claim, detached if were_detached else given_up, ending)
        try:
            provider.delete(claim.provider_id)
        except NodeClaimNotFound:
            return self._let_go(node, claim)
        return Result(_DELETE_RETRY_S)

    def _set_drained(self, claim: NodeClaim | None, *others: Condition) -> None:
        """Its pods are gone. That is counted once, when it is written."""
        if claim is None:
            return
        self._set(claim, Condition(DRAINED, "True", DRAINED, ""), *others)
        if not claim.is_true(DRAINED):
            self._shared.metrics.add(NODES_DRAINED, nodepool=claim.pool)

    def _let_go(self, node: Node, claim: NodeClaim | None) -> Result:
        shared = self._shared
        kept = [name for name in node.metadata.finalizers if name != labels.TERMINATION_FINALIZER]
        patch = {"metadata": {"resourceVersion": node.metadata.resource_version, "finalizers": kept}}
        shared.kube.patch(NODE, node.name, patch)
        self._evictions.forget(node.name)
        now, pool = shared.clock.now(), node.labels.get(labels.NODEPOOL, "")
        shared.metrics.add(NODES_TERMINATED, nodepool=pool, zone=node.labels.get(labels.ZONE, ""))
        asked = node.metadata.deleted
        shared.metrics.observe(NODES_TERMINATION_DURATION, max(now - asked, 0.0) if asked else 0.0, nodepool=pool)
        shared.metrics.observe(NODES_LIFETIME_DURATION, max(now - node.metadata.created, 0.0), nodepool=pool)
        shared.log.info("deleted node", Node=node.name, NodeClaim=claim.name if claim is not None else "")
        return DONE

    def _set(self, claim: NodeClaim | None, *conditions: Condition) -> None:
        if claim is not None:
            self._shared.set_condition(claim, *conditions)


AWAITING_REPLACEMENT = "AwaitingReplacement"


def _awaits_replacement(claim: NodeClaim | None) -> bool:
    """Whether the drain has not begun: once it has, it is not held up any more."""
    known = claim.condition(DRAINED) if claim is not None else None
    return known is None or known.reason == AWAITING_REPLACEMENT


def _is_evicted(status: Mapping[str, Any]) -> bool:
    """Whether the API server has let the pod go, and is about to mark it as deleted."""
    return any(each.get("type") == "DisruptionTarget" for each in status.get("conditions") or ())


def _when_deleting(event: WatchEvent) -> tuple[Request, ...]:
    metadata = event.object["metadata"]
    return (Request(metadata["name"]),) if "deletionTimestamp" in metadata or event.type is EventType.DELETED else ()
