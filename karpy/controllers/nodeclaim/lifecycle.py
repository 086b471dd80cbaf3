"""NodeClaims are carried through their life: launched, registered, initialized, and at the end released."""

from __future__ import annotations

from collections.abc import Sequence

from karpy import labels
from karpy.cloud.provider import CloudProvider
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.nodeclaim.launching import Launching
from karpy.controllers.nodeclaim.releasing import Releasing
from karpy.controllers.shared import Shared
from karpy.lifecycle.nodeclaim import next_step
from karpy.lifecycle.step import AddFinalizer, GiveUp, Initialize, Launch, Register, Settled, Wait
from karpy.objects.kinds import NODE, NODE_CLAIM
from karpy.objects.meta import Condition, find_condition
from karpy.objects.node import Node
from karpy.objects.nodeclaim import CONSOLIDATABLE, INITIALIZED, REGISTERED, NodeClaim
from karpy.objects.watchevent import WatchEvent
from karpy.resources import Resources

__all__ = ["NodeClaimLifecycle"]


class NodeClaimLifecycle:
    """One claim at a time, one step at a time; the watch event of each step leads to the next."""

    name = "nodeclaim.lifecycle"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._launching = Launching(shared)
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
        node = shared.state.node_of(claim)
        step = next_step(claim, node, shared.state.pool(claim.pool), now=shared.clock.now(), settings=shared.settings)
        match step:
            case AddFinalizer():
                self._hold(claim)
            case Launch():
                self._launching.launch(claim, provider)
            case Register(node_patch) if node is not None:
                shared.kube.patch(NODE, node.name, node_patch)
                self._shared.set_condition(claim, Condition(REGISTERED, "True", REGISTERED, ""), nodeName=node.name)
                shared.log.info("registered nodeclaim", NodeClaim=claim.name, Node=node.name)
            case Initialize(node_patch) if node is not None:
                self._measure(claim, node)
                shared.kube.patch(NODE, node.name, node_patch)
                self._shared.set_condition(claim, Condition(INITIALIZED, "True", INITIALIZED, ""))
                shared.log.info("initialized nodeclaim", NodeClaim=claim.name, Node=node.name)
            case Wait(condition, reason, message, retry):
                self._shared.set_condition(claim, Condition(condition, "Unknown", reason, message))
                return Result(retry)
            case GiveUp(reason, message):
                shared.log.error(message, NodeClaim=claim.name, reason=reason)
                self._shared.delete_claim(claim)
            case Settled(consolidatable, retry):
                self._settle(claim, consolidatable=consolidatable)
                return Result(retry)
        return DONE

    def _measure(self, claim: NodeClaim, node: Node) -> None:
        """Learn from a machine that has less than was promised."""
        type_, found = claim.labels.get(labels.INSTANCE_TYPE, ""), Resources.parse(node.status.allocatable or {})
        self._shared.clouds.measured.note(claim.node_class, type_, claim.allocatable, found)

    def _settle(self, claim: NodeClaim, *, consolidatable: bool) -> None:
        """Consolidatable is there while it is true, and away otherwise."""
        if consolidatable:
            self._shared.set_condition(claim, Condition(CONSOLIDATABLE, "True", CONSOLIDATABLE, ""))
        elif find_condition(claim.conditions, CONSOLIDATABLE) is not None:
            kept = tuple(condition for condition in claim.conditions if condition.type != CONSOLIDATABLE)
            self._shared.patch_claim_status(claim, kept)

    def _hold(self, claim: NodeClaim) -> None:
        patch = {
            "metadata": {
                "resourceVersion": claim.metadata.resource_version,
                "finalizers": [*claim.metadata.finalizers, labels.TERMINATION_FINALIZER],
            }
        }
        self._shared.kube.patch(NODE_CLAIM, claim.name, patch)
