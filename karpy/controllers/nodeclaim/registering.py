"""A node that joined becomes ours, once every registration hook of its cloud lets it pass (core specification 4.2)."""

from __future__ import annotations

from karpy import labels
from karpy.cloud.provider import CloudProvider, WithRegistrationHooks
from karpy.controllers.nodepool.health import PoolHealth
from karpy.controllers.shared import Shared
from karpy.errors import ProviderError
from karpy.lifecycle.consistency import consistency
from karpy.lifecycle.liveness import time_limits
from karpy.lifecycle.registration import PendingHook, awaiting_hooks, is_unprotected, registration_patch, sync_patch
from karpy.lifecycle.step import GiveUp, Wait
from karpy.metrics import NODES_CREATED
from karpy.objects.kinds import NODE, NODE_CLAIM
from karpy.objects.meta import Condition
from karpy.objects.node import Node
from karpy.objects.nodeclaim import REGISTERED, NodeClaim

__all__ = ["Registering"]


class Registering:
    """Registers one node for its claim. Safe to be done again after a crash at any point."""

    def __init__(self, shared: Shared, health: PoolHealth) -> None:
        self._shared = shared
        self._health = health

    def register(self, claim: NodeClaim, node: Node, provider: CloudProvider) -> Wait | GiveUp | None:
        """Register the node, and return None; or say what it waits for.

        Raises:
            ProviderError: a hook failed; that it did not let the node pass is written down.
        """
        if is_unprotected(claim, node):
            self._tell_unprotected(claim)
        pending, found, failed = self._ask_hooks(claim, node, provider)
        if pending:
            return self._keep_closed(claim, node, pending, failed)
        claim = self._take_over(claim, found)
        self._shared.kube.patch(NODE, node.name, registration_patch(claim, node))
        self._health.joined(claim)
        self._shared.set_condition(
            claim, Condition(REGISTERED, "True", REGISTERED, ""), consistency(()), nodeName=node.name
        )
        self._health.settled(claim)
        zone = claim.labels.get(labels.ZONE, "")
        self._shared.metrics.add(NODES_CREATED, nodepool=claim.pool, zone=zone)
        self._shared.log.info("registered nodeclaim", provider_id=claim.provider_id, Node=node.name)
        return None

    def _ask_hooks(
        self, claim: NodeClaim, node: Node, provider: object
    ) -> tuple[list[PendingHook], dict[str, str], ProviderError | None]:
        """Those that do not let the node pass, the labels that the others found, and the first error."""
        pending: list[PendingHook] = []
        found: dict[str, str] = {}
        failed: ProviderError | None = None
        for hook in provider.registration_hooks if isinstance(provider, WithRegistrationHooks) else ():
            try:
                answer = hook.registered(claim, node)
            except ProviderError as error:
                pending.append(PendingHook(hook.name))
                failed = failed or error
                continue
            found |= answer.labels
            if not answer.is_done:
                pending.append(PendingHook(hook.name, answer.retry_after_s))
        return pending, found, failed

    def _keep_closed(
        self, claim: NodeClaim, node: Node, pending: list[PendingHook], failed: ProviderError | None
    ) -> Wait | GiveUp:
        shared = self._shared
        patch = sync_patch(claim, node)
        if patch is not None:
            shared.kube.patch(NODE, node.name, patch)
        limits = time_limits(shared.state.pool(claim.pool), shared.settings)
        step = awaiting_hooks(claim, pending, limits, now=shared.clock.now())
        if failed is not None and isinstance(step, Wait):
            shared.set_condition(claim, Condition(step.condition, step.status, step.reason, step.message))
            raise failed
        return step

    def _take_over(self, claim: NodeClaim, found: dict[str, str]) -> NodeClaim:
        """The claim with the labels that hooks found: what is on the node is on its claim."""
        missing = {key: value for key, value in found.items() if key not in claim.labels}
        if not missing:
            return claim
        patch = {"metadata": {"uid": claim.metadata.uid, "labels": missing}}
        return NodeClaim.from_dict(self._shared.kube.patch(NODE_CLAIM, claim.name, patch))

    def _tell_unprotected(self, claim: NodeClaim) -> None:
        shared = self._shared
        shared.recorder.warning(
            NODE_CLAIM,
            claim.metadata,
            "UnregisteredTaintMissing",
            f"Missing {labels.UNREGISTERED_TAINT} taint which prevents registration related race conditions on "
            "Karpenter-managed nodes",
        )
        error = "missing taint prevents registration-related race conditions on Karpenter-managed nodes"
        shared.log.error("node claim registration error", taint=labels.UNREGISTERED_TAINT, error=error)
