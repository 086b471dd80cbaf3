"""A claim gets its machine: the cloud is asked for one, and what it gave is written onto the claim (core specification 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, allocatable_groups
from karpy.cloud.provider import CloudProvider, Instance, RawNodeClass
from karpy.controllers.nodeclaim.ending import end_claim
from karpy.controllers.shared import Shared
from karpy.errors import CreateFailed, InsufficientCapacity, KubeError, NodeClassNotReady
from karpy.lifecycle.launch import choices
from karpy.lifecycle.nodeclaim import NODE_NOT_FOUND
from karpy.objects.kinds import NODE_CLAIM, NODE_POOL
from karpy.objects.meta import Condition
from karpy.objects.nodeclaim import CONSISTENT_STATE_FOUND, LAUNCHED, REGISTERED, NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.resources import NODES
from karpy.state.catalogs import current_types, types_of

__all__ = ["Launching"]

_MESSAGE_LENGTH = 300


class Launching:
    """Launches for one claim at a time; safe to be asked again after a crash, since clouds launch once for each name."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def launch(self, claim: NodeClaim, provider: CloudProvider) -> None:
        """Launch, and write down what was given; or what went wrong, until the claim's time is over.

        Raises:
            Exception: what the provider raised, if the same call may succeed later.
        """
        try:
            instance = self._create(claim, provider)
        except (InsufficientCapacity, NodeClassNotReady) as error:
            self._give_up(claim, error)
            return
        except Exception as error:  # also what no provider should raise: the claim says so, and its time runs
            reason = error.reason if isinstance(error, CreateFailed) else "LaunchFailed"
            self._shared.set_condition(claim, Condition(LAUNCHED, "Unknown", reason, _shortened(str(error))))
            raise
        # Labels first: a claim that is launched is known by them from then on.
        merged = {**instance.labels, **claim.labels}
        fresh = self._patch(claim, provider, instance, merged)
        self._shared.set_condition(
            fresh,
            Condition(LAUNCHED, "True", LAUNCHED, ""),
            Condition(REGISTERED, "Unknown", *NODE_NOT_FOUND),
            Condition(CONSISTENT_STATE_FOUND, "True", CONSISTENT_STATE_FOUND, ""),
            providerID=instance.provider_id,
            imageID=instance.image_id or None,
            capacity=instance.capacity.to_dict(),
            allocatable=instance.allocatable.to_dict(),
        )
        keys = {
            "provider-id": instance.provider_id,
            "instance-type": merged.get(labels.INSTANCE_TYPE, ""),
            "zone": merged.get(labels.ZONE, ""),
            "capacity-type": merged.get(labels.CAPACITY_TYPE, ""),
            "allocatable": instance.allocatable.to_dict(),
        }
        self._shared.log.info("launched nodeclaim", **keys)

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
        end_claim(self._shared, claim, counted)

    def _create(self, claim: NodeClaim, provider: CloudProvider) -> Instance:
        node_class = self._node_class(claim)
        pool = self._shared.state.pool(claim.pool)
        if pool is None and claim.pool:
            raise InsufficientCapacity(
                f'resolving nodepool from nodeclaim, NodePool.{NODE_POOL.group} "{claim.pool}" not found'
            )
        found = choices(claim, self._types(claim, node_class, pool))
        if not found:
            raise InsufficientCapacity("all requested instance types were unavailable during launch")
        allowed = found if pool is None else self._within_limits(claim, pool, found)
        if not allowed:
            raise InsufficientCapacity(f"the limits of nodepool {claim.pool} leave no room for it")
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

    def _within_limits(
        self, claim: NodeClaim, pool: NodePool, found: tuple[InstanceType, ...]
    ) -> tuple[InstanceType, ...]:
        """The types that the pool's limits leave room for now. The plan saw to that, but a node that the machine was to replace
        may be there to stay, since karpy started anew in between."""
        if pool.limits is None:
            return found
        used, own = self._shared.state.held_by(pool.name), self._shared.state.machine(claim.name)
        if own is not None and own.pool == pool.name and not own.is_leaving:
            used -= own.capacity
        left = {name: most - used.get(name, 0) for name, most in pool.limits.items()}
        return tuple(type_ for type_ in found if all(_fits(machine, left) for machine in allocatable_groups(type_)))


def _fits(machine: InstanceType, left: Mapping[str, int]) -> bool:
    wanted = machine.capacity + {NODES: 1}
    return all(wanted.get(name, 0) <= most for name, most in left.items())


def _shortened(message: str) -> str:
    return message if len(message) <= _MESSAGE_LENGTH else message[:_MESSAGE_LENGTH] + "..."
