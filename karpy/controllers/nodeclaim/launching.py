"""A claim gets its machine: the cloud is asked for one, and what it gave is written onto the claim (core specification 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

from karpy import labels
from karpy.cloud.instancetype import InstanceTypes
from karpy.cloud.provider import CloudProvider, Instance, RawNodeClass
from karpy.controllers.nodeclaim.ending import end_claim
from karpy.controllers.nodeclaim.limiting import Limiting
from karpy.controllers.nodepool.health import PoolHealth
from karpy.controllers.shared import Shared
from karpy.errors import CreateFailed, InsufficientCapacity, KubeError, NodeClassNotReady
from karpy.lifecycle.launch import choices
from karpy.lifecycle.nodeclaim import NODE_NOT_FOUND
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.meta import Condition
from karpy.objects.nodeclaim import LAUNCHED, REGISTERED, NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.state.catalogs import current_types, types_of

__all__ = ["Launching"]

_MESSAGE_LENGTH = 300


class Launching:
    """Launches for one claim at a time; safe to be asked again after a crash, since clouds launch once for each name."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._health = PoolHealth(shared)
        self._limiting = Limiting(shared)

    def launch(self, claim: NodeClaim, provider: CloudProvider) -> None:
        """Launch, and write down what was given; or what went wrong, until the claim's time is over.

        Raises:
            Exception: what the provider raised, if the same call may succeed later.
        """
        leaving = self._what_leaves(claim)
        if leaving:
            self._shared.log.info("nodeclaim is not launched any more", reason=leaving)
            self._shared.delete_claim(claim)
            return
        try:
            instance = self._create(claim, provider)
        except (InsufficientCapacity, NodeClassNotReady) as error:
            self._give_up(claim, error)
            return
        except Exception as error:  # also what no provider should raise: the claim says so, and its time runs
            reason = error.reason if isinstance(error, CreateFailed) else "LaunchFailed"
            self._shared.set_condition(
                claim, _failed(claim, reason, str(error)), Condition(REGISTERED, "Unknown", *NODE_NOT_FOUND)
            )
            raise
        # Labels first: a claim that is launched is known by them from then on.
        merged = {**instance.labels, **claim.labels}
        fresh = self._patch(claim, provider, instance, merged)
        self._health.launched(claim)
        self._shared.set_condition(
            fresh,
            Condition(LAUNCHED, "True", LAUNCHED, ""),
            Condition(REGISTERED, "Unknown", *NODE_NOT_FOUND),
            providerID=instance.provider_id,
            imageID=instance.image_id or None,
            capacity=instance.capacity.to_dict(),
            allocatable=instance.allocatable.to_dict(),
        )
        self._shared.log.info(
            "launched nodeclaim",
            provider_id=instance.provider_id,
            instance_type=merged.get(labels.INSTANCE_TYPE, ""),
            zone=merged.get(labels.ZONE, ""),
            capacity_type=merged.get(labels.CAPACITY_TYPE, ""),
            allocatable=instance.allocatable.to_dict(),
        )

    def _patch(
        self, claim: NodeClaim, provider: CloudProvider, instance: Instance, merged: Mapping[str, str]
    ) -> NodeClaim:
        """Labels and annotations of the machine, on this claim and no other that was made under its name since."""
        metadata = {"uid": claim.metadata.uid, "labels": merged, "annotations": dict(instance.annotations)}
        try:
            return NodeClaim.from_dict(self._shared.kube.patch(NODE_CLAIM, claim.name, {"metadata": metadata}))
        except KubeError as error:
            if error.not_found:  # the claim went meanwhile, and nothing else would ever end its instance
                provider.delete(instance.provider_id)
            raise

    def _give_up(self, claim: NodeClaim, error: InsufficientCapacity | NodeClassNotReady) -> None:
        """The claim goes at once, and its pods are looked at anew: others may serve them."""
        event, counted, prefix = "NodeClassNotReady", "nodeclass_not_ready", "NodeClassRef not ready"
        if isinstance(error, InsufficientCapacity):
            event, counted, prefix = "InsufficientCapacityError", "insufficient_capacity", "insufficient capacity"
        told = f"{prefix}, {error}"
        message = f"NodeClaim {claim.name} event: {_shortened(told)}"
        self._shared.recorder.warning(NODE_CLAIM, claim.metadata, event, message)
        self._shared.log.error("failed launching nodeclaim", error=told)
        if isinstance(error, InsufficientCapacity):
            self._health.lacks_capacity(claim.pool, str(error))
        end_claim(self._shared, claim, counted)

    def _what_leaves(self, claim: NodeClaim) -> str:
        """What made the claim and is on its way out, if anything is. Somebody wants that, so it is no failure."""
        pool, node_class = self._shared.state.pool(claim.pool), self._shared.state.node_class(claim.node_class)
        if not claim.pool:
            return ""
        if pool is None and self._shared.state.invalid_pool(claim.pool) is not None:
            return ""  # it is there, and may be mended
        if pool is None or pool.metadata.is_deleting:
            return f"nodepool {claim.pool} is {'gone' if pool is None else 'being deleted'}"
        if node_class is not None and node_class["metadata"].get("deletionTimestamp"):
            return f"node class {claim.node_class.kind}/{claim.node_class.name} is being deleted"
        return ""

    def _create(self, claim: NodeClaim, provider: CloudProvider) -> Instance:
        node_class = self._node_class(claim)
        pool = self._shared.state.pool(claim.pool)
        unreadable = self._shared.state.invalid_pool(claim.pool) if pool is None else None
        if unreadable is not None:
            raise CreateFailed(f"nodepool {claim.pool} cannot be read: {unreadable.error}", "NodePoolUnreadable")
        found = choices(claim, self._types(claim, node_class, pool))
        if not found:
            raise InsufficientCapacity("all requested instance types were unavailable during launch")
        allowed = found if pool is None else self._limiting.within(claim, pool, found)
        with self._limiting.launching(claim):
            return provider.create(claim, node_class, allowed)

    def _node_class(self, claim: NodeClaim) -> RawNodeClass:
        """The claim's node class. One that is on its way out counts as gone."""
        ref = claim.node_class
        raw = self._shared.state.node_class(ref)
        named = f'resolving node class from nodeclaim, {ref.kind}.{ref.group} "{ref.name}"'
        if raw is None:
            raise InsufficientCapacity(f"{named} not found")
        if raw["metadata"].get("deletionTimestamp"):
            raise InsufficientCapacity(f"{named} is terminating, treating as not found")
        return raw

    def _types(self, claim: NodeClaim, node_class: RawNodeClass, pool: NodePool | None) -> InstanceTypes:
        """What can be bought for the claim. One that was made by hand is served as if a pool like it had made it.

        Raises:
            CreateFailed: it was made by hand, and asks for what is not sold here at all. Nobody would make another in its place,
                so it stays for a while, and says why.
        """
        shared = self._shared
        if pool is not None:
            return current_types(shared.state, pool, shared.clouds, shared.settings)
        like_it = NodePool(name="", node_class=claim.node_class, requirements=claim.requirements)
        types = types_of(like_it, node_class, shared.clouds)
        if types and not any(each.requirements.intersects(claim.requirements) is None for each in types):
            raise CreateFailed("no instance type that is sold here meets the requirements of the claim")
        return types


def _failed(claim: NodeClaim, reason: str, message: str) -> Condition:
    """What the claim says of a launch that may go better next time. The first message stays as long as the reason does: clouds put
    a request's number into theirs, and a claim that says something new is looked at again at once."""
    known = claim.condition(LAUNCHED)
    if known is not None and (known.status, known.reason) == ("Unknown", reason):
        return known
    return Condition(LAUNCHED, "Unknown", reason, _shortened(message))


def _shortened(message: str) -> str:
    return message if len(message) <= _MESSAGE_LENGTH else message[:_MESSAGE_LENGTH] + "..."
