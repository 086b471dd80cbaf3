"""Nodes that are broken for too long are replaced, with nobody waiting for their pods: there is no kubelet to end them (core
specification 4.11). Budgets and wishes not to be disturbed do not count; but when many break at once, nothing is done."""

from __future__ import annotations

from collections.abc import Sequence

from karpy import labels
from karpy.clock import format_time, parse_time
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.nodeclaim.ending import end_claim
from karpy.controllers.shared import Shared
from karpy.errors import InvalidObject, KubeError
from karpy.lifecycle.repair import Companion, Fault, fault_of, is_suspect, may_replace
from karpy.metrics import NODECLAIMS_UNHEALTHY_DISRUPTED, spelled
from karpy.objects.kinds import NODE, NODE_CLAIM
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["NodeRepair"]

_BLOCKED_RETRY_S = 300.0
_TOLD_AGAIN_S = 900.0
_LONGEST_WAIT_S = 3600.0
"""A clock that jumped is noticed by then."""


class NodeRepair:
    """Behind the feature gate NodeRepair. Wakes only for nodes in a condition that their cloud has a policy for."""

    name = "node.health"
    looks_at = NODE

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE, self._suspect),)

    def _suspect(self, event: WatchEvent) -> tuple[Request, ...]:
        if event.type is EventType.DELETED:
            return ()
        conditions = (event.object.get("status") or {}).get("conditions") or ()
        statuses = ((each.get("type"), each.get("status")) for each in conditions)
        return by_name(event) if is_suspect(statuses, self._shared.clouds.repair_policies) else ()

    def reconcile(self, request: Request) -> Result:
        shared, now = self._shared, self._shared.clock.now()
        node = shared.state.node(request.name)
        claim = shared.state.claim_of(node) if node is not None else None
        if node is None or claim is None:
            return DONE
        policies = shared.clouds.repair_policies_of(claim.node_class)
        fault = fault_of(node, policies)
        if fault is None or (claim.metadata.is_deleting and _is_past_deadline(claim, now)):
            return DONE  # it is well, or no more can be done for its pods
        if now < fault.due:
            return Result(min(fault.due - now, _LONGEST_WAIT_S))
        if not may_replace(fault, self._companions(claim), policies):
            self._tell_blocked(node, claim)
            return Result(_BLOCKED_RETRY_S)
        self._replace(claim, fault, now)
        return DONE

    def _companions(self, claim: NodeClaim) -> Sequence[Companion]:
        """The nodes of its pool; of a claim that has none, all nodes. That it is leaving itself does not stand in its own way: who
        was interrupted between the two writes of a replacement goes on."""
        views = self._shared.state.snapshot().nodes
        found = ((view.node, view) for view in views if not claim.pool or view.pool == claim.pool)
        return [
            Companion(node, view.is_leaving and node.name != claim.node_name)
            for node, view in found
            if node is not None
        ]

    def _replace(self, claim: NodeClaim, fault: Fault, now: float) -> None:
        """First the end, then the deadline, which is now: whoever drains the node then waits for nobody.

        In this order, since a node whose end was refused may recover: a deadline in the past must not stay with it.
        """
        shared, about = self._shared, {"NodeClaim": {"name": claim.name}}
        if not claim.metadata.is_deleting:
            shared.log.info("deleting unhealthy node", **about)
            end_claim(shared, claim, "unhealthy")
            shared.state.mark_for_deletion((claim.name,))  # known at once, so that the next one counts it
            shared.metrics.add(
                NODECLAIMS_UNHEALTHY_DISRUPTED,
                condition=spelled(fault.condition),
                nodepool=claim.pool,
                capacity_type=claim.labels.get(labels.CAPACITY_TYPE, ""),
                image_id=claim.image_id,
            )
        if not _is_past_deadline(claim, now):
            self._set_deadline(claim, format_time(now))

    def _set_deadline(self, claim: NodeClaim, deadline: str) -> None:
        """Nobody is waited for on a claim that went at once."""
        shared, marks = self._shared, {labels.TERMINATION_TIMESTAMP: deadline}
        try:
            shared.kube.patch(NODE_CLAIM, claim.name, {"metadata": {"uid": claim.metadata.uid, "annotations": marks}})
        except KubeError as error:
            if not error.not_found:
                raise
            return
        shared.log.info("annotated nodeclaim", NodeClaim={"name": claim.name}, **marks)

    def _tell_blocked(self, node: Node, claim: NodeClaim) -> None:
        """On all that it is about."""
        pool, where = self._shared.state.pool(claim.pool), "nodepool" if claim.pool else "cluster"
        told = [(NODE, node.metadata), (NODE_CLAIM, claim.metadata)]
        told += [(pool.origin, pool.metadata)] if pool is not None else []
        message = f"more than 20% nodes are unhealthy in the {where}"
        for kind, meta in told:
            self._shared.recorder.warning(kind, meta, "NodeRepairBlocked", message, repeat_s=_TOLD_AGAIN_S)


def _is_past_deadline(claim: NodeClaim, now: float) -> bool:
    """Whether its pods should have gone by now; a deadline that cannot be read is none."""
    deadline = (claim.metadata.annotations or {}).get(labels.TERMINATION_TIMESTAMP, "")
    try:
        return parse_time(deadline) <= now
    except InvalidObject:
        return False
