"""NodeClaims are carried through their life: launched, registered, initialized, and at the end released."""

from __future__ import annotations

from collections.abc import Sequence

from karpy import labels
from karpy.cloud.provider import CloudProvider
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.nodeclaim.ending import end_claim
from karpy.controllers.nodeclaim.launching import Launching
from karpy.controllers.nodeclaim.registering import Registering
from karpy.controllers.nodeclaim.releasing import Releasing
from karpy.controllers.nodepool.health import PoolHealth
from karpy.controllers.shared import Shared
from karpy.lifecycle.nodeclaim import next_step
from karpy.lifecycle.step import AddFinalizer, GiveUp, Initialize, Launch, Register, Step, Wait
from karpy.objects.duration import format_duration
from karpy.objects.kinds import NODE, NODE_CLAIM
from karpy.objects.meta import Condition
from karpy.objects.node import Node
from karpy.objects.nodeclaim import INITIALIZED, NodeClaim
from karpy.objects.watchevent import WatchEvent
from karpy.resources import Resources

__all__ = ["NodeClaimLifecycle"]

_UNREADABLE_RETRY_S = 30.0


class NodeClaimLifecycle:
    """One claim at a time, one step at a time; the watch event of each step leads to the next."""

    name = "nodeclaim.lifecycle"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._health = PoolHealth(shared)
        self._launching = Launching(shared)
        self._registering = Registering(shared, self._health)
        self._releasing = Releasing(shared)

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE_CLAIM, by_name), Source(NODE, self._claim_of_node))

    def _claim_of_node(self, event: WatchEvent) -> tuple[Request, ...]:
        provider_id = event.object.get("spec", {}).get("providerID", "")
        return tuple(Request(claim.name) for claim in self._shared.state.claims_by_provider_id(provider_id))

    def reconcile(self, request: Request) -> Result:
        claim = self._shared.state.claim(request.name)
        if claim is None:
            return DONE
        provider = self._shared.clouds.serving(claim.node_class)
        if provider is None:
            return DONE  # another autoscaler's
        if claim.metadata.is_deleting:
            return self._releasing.release(claim, provider)
        return self._advance(claim, provider)

    def _advance(self, claim: NodeClaim, provider: CloudProvider) -> Result:
        shared = self._shared
        nodes, pool = shared.state.nodes_of(claim), shared.state.pool(claim.pool)
        step: Step | None = next_step(claim, nodes, pool, now=shared.clock.now(), settings=shared.settings)
        if isinstance(step, Register):
            step = self._registering.register(claim, step.node, provider)
        if isinstance(step, GiveUp) and pool is None and shared.state.invalid_pool(claim.pool) is not None:
            return Result(_UNREADABLE_RETRY_S)  # the pool may give it more time
        match step:
            case AddFinalizer():
                self._hold(claim)
            case Launch():
                self._launching.launch(claim, provider)
            case Initialize(node, node_patch):
                shared.kube.patch(NODE, node.name, node_patch)
                self._tell_initialized(claim, node)
            case Wait(condition, reason, message, retry, status):
                shared.set_condition(claim, Condition(condition, status, reason, message))
                return Result(retry)
            case GiveUp(reason, limit_s):
                keys = {"provider_id": claim.provider_id} if claim.provider_id else {}
                shared.log.debug("terminating due to timeout", timeout=format_duration(limit_s), reason=reason, **keys)
                self._health.gave_up(claim)
                end_claim(shared, claim, reason)
                self._health.settled(claim)
        return DONE

    def _tell_initialized(self, claim: NodeClaim, node: Node) -> None:
        """Written down, and learned from: the machine may have less than was promised."""
        shared = self._shared
        type_, found = claim.labels.get(labels.INSTANCE_TYPE, ""), Resources.parse(node.status.allocatable or {})
        shared.clouds.measured.note(claim.node_class, type_, claim.allocatable, found)
        shared.set_condition(claim, Condition(INITIALIZED, "True", INITIALIZED, ""))
        room = found.to_dict()
        shared.log.info("initialized nodeclaim", provider_id=claim.provider_id, Node=node.name, allocatable=room)

    def _hold(self, claim: NodeClaim) -> None:
        patch = {
            "metadata": {
                "resourceVersion": claim.metadata.resource_version,
                "finalizers": [*claim.metadata.finalizers, labels.TERMINATION_FINALIZER],
            }
        }
        self._shared.kube.patch(NODE_CLAIM, claim.name, patch)
