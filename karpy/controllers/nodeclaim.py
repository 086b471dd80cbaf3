"""NodeClaims are carried through their life: launched, registered, initialized, and at the end released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karpy import labels
from karpy.cloud.instancetype import InstanceType, allocatable_groups
from karpy.cloud.provider import CloudProvider, Instance
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.shared import Shared
from karpy.errors import (
    CreateFailed,
    InsufficientCapacity,
    KubeError,
    NodeClaimNotFound,
    NodeClassNotReady,
    ProviderError,
)
from karpy.lifecycle.launch import choices
from karpy.lifecycle.nodeclaim import next_step
from karpy.lifecycle.step import AddFinalizer, GiveUp, Initialize, Launch, Register, Settled, Wait
from karpy.objects.kinds import NODE, NODE_CLAIM
from karpy.objects.meta import Condition, find_condition
from karpy.objects.node import Node
from karpy.objects.nodeclaim import (
    CONSOLIDATABLE,
    INITIALIZED,
    INSTANCE_TERMINATING,
    LAUNCHED,
    REGISTERED,
    NodeClaim,
)
from karpy.objects.nodepool import NodePool
from karpy.objects.watchevent import WatchEvent
from karpy.resources import NODES, Resources, total
from karpy.state.catalogs import current_types

__all__ = ["NodeClaimLifecycle"]

_DELETE_RETRY_S = 5.0
_MESSAGE_LENGTH = 300
_SHOWN_S = 20.0
"""Clouds show what they launched by then; before, they may deny that there is such a machine."""


class NodeClaimLifecycle:
    """One claim at a time, one step at a time; the watch event of each step leads to the next."""

    name = "nodeclaim.lifecycle"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE_CLAIM, by_name), Source(NODE, self._claim_of_node))

    def _claim_of_node(self, event: WatchEvent) -> tuple[Request, ...]:
        provider_id = event.object.get("spec", {}).get("providerID", "")
        claim = self._shared.state.claim_by_provider_id(provider_id)
        return (Request(claim.name),) if claim is not None else ()

    def reconcile(self, request: Request) -> Result:
        claim = self._shared.state.claim(request.name)
        if claim is None:
            return DONE
        provider = self._shared.clouds.serving(claim.node_class)
        if provider is None:
            return DONE  # another autoscaler's
        if claim.metadata.is_deleting:
            return self._release(claim, provider)
        return self._advance(claim, provider)

    def _advance(self, claim: NodeClaim, provider: CloudProvider) -> Result:
        shared = self._shared
        node = shared.state.node_of(claim)
        step = next_step(claim, node, shared.state.pool(claim.pool), now=shared.clock.now(), settings=shared.settings)
        match step:
            case AddFinalizer():
                self._hold(claim)
            case Launch():
                self._launch(claim, provider)
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

    # Launch

    def _launch(self, claim: NodeClaim, provider: CloudProvider) -> None:
        shared = self._shared
        try:
            instance = self._create(claim, provider)
        except (InsufficientCapacity, NodeClassNotReady) as error:
            reason = "InsufficientCapacityError" if isinstance(error, InsufficientCapacity) else "NodeClassNotReady"
            message = f"NodeClaim {claim.name} event: {error}"
            shared.recorder.warning(NODE_CLAIM, claim.metadata, reason, message)
            shared.log.error("failed launching nodeclaim", NodeClaim=claim.name, error=str(error))
            self._shared.delete_claim(claim)
            return
        except ProviderError as error:
            reason = error.reason if isinstance(error, CreateFailed) else "LaunchFailed"
            self._shared.set_condition(claim, Condition(LAUNCHED, "Unknown", reason, _shortened(str(error))))
            raise
        # Labels first: a claim that is launched is known by them from then on.
        merged = {**instance.labels, **claim.labels}
        patch = {"metadata": {"labels": merged, "annotations": dict(instance.annotations)}}
        try:
            raw = shared.kube.patch(NODE_CLAIM, claim.name, patch)
        except KubeError as error:
            if error.not_found:  # the claim went meanwhile, and nothing else would ever end its instance
                provider.delete(instance.provider_id)
            raise
        fresh = NodeClaim.from_dict(raw)
        self._shared.set_condition(
            fresh,
            Condition(LAUNCHED, "True", LAUNCHED, ""),
            providerID=instance.provider_id,
            imageID=instance.image_id or None,
            capacity=instance.capacity.to_dict(),
            allocatable=instance.allocatable.to_dict(),
        )
        shared.log.info(
            "launched nodeclaim",
            NodeClaim=claim.name,
            provider_id=instance.provider_id,
            instance_type=merged.get(labels.INSTANCE_TYPE),
            zone=merged.get(labels.ZONE),
            capacity_type=merged.get(labels.CAPACITY_TYPE),
            allocatable=instance.allocatable.to_dict(),
        )

    def _create(self, claim: NodeClaim, provider: CloudProvider) -> Instance:
        shared = self._shared
        pool = shared.state.pool(claim.pool)
        node_class = shared.state.node_class(claim.node_class)
        if node_class is None:
            raise NodeClassNotReady(f"node class {claim.node_class.kind}/{claim.node_class.name} was not found")
        if pool is None:
            raise NodeClassNotReady(f"nodepool {claim.pool!r} was not found")
        found = choices(claim, current_types(shared.state, pool, shared.clouds, shared.settings))
        if not found:
            raise InsufficientCapacity("all requested instance types were unavailable during launch")
        allowed = self._within_limits(claim, pool, found)
        if not allowed:
            raise InsufficientCapacity(f"the limits of nodepool {pool.name} leave no room for it")
        return provider.create(claim, node_class, allowed)

    def _within_limits(
        self, claim: NodeClaim, pool: NodePool, found: tuple[InstanceType, ...]
    ) -> tuple[InstanceType, ...]:
        """The types that the pool's limits leave room for now. The plan saw to that, but a node that the machine was to replace
        may be there to stay, since karpy started anew in between."""
        if pool.limits is None:
            return found
        views = self._shared.state.snapshot().nodes
        others = [view for view in views if view.pool == pool.name and not view.is_leaving and view.capacity]
        used = total(view.capacity for view in others if view.claim is None or view.claim.name != claim.name)
        left = {name: most - used.get(name, 0) for name, most in pool.limits.items()}
        return tuple(type_ for type_ in found if all(_fits(machine, left) for machine in allocatable_groups(type_)))

    # The end

    def _release(self, claim: NodeClaim, provider: CloudProvider) -> Result:
        """Node first (its finalizer drains it), then the instance, then the claim (core specification 4.12)."""
        if labels.TERMINATION_FINALIZER not in claim.metadata.finalizers:
            return DONE
        shared = self._shared
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

    def _is_fresh(self, claim: NodeClaim) -> bool:
        """Whether its machine was launched so lately that the cloud may not show it yet: gone is believed only later."""
        launched = claim.condition(LAUNCHED)
        return launched is not None and launched.is_true and self._shared.clock.now() < launched.since + _SHOWN_S

    def _forgotten_instance(self, claim: NodeClaim, provider: CloudProvider) -> str:
        """An instance whose launch was never written down, because karpy stopped in between."""
        found = (instance.provider_id for instance in provider.list() if instance.claim == claim.name)
        return next(found, "")


def _fits(machine: InstanceType, left: Mapping[str, int]) -> bool:
    wanted = machine.capacity + {NODES: 1}
    return all(wanted.get(name, 0) <= most for name, most in left.items())


def _shortened(message: str) -> str:
    return message if len(message) <= _MESSAGE_LENGTH else message[:_MESSAGE_LENGTH] + "..."
