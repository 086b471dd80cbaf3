"""A claim gets its machine: the cloud is asked for one, and what it gave is written onto the claim (core specification 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

from karpy import labels
from karpy.cloud.instancetype import InstanceType, allocatable_groups
from karpy.cloud.provider import CloudProvider, Instance
from karpy.controllers.nodepool.health import PoolHealth
from karpy.controllers.shared import Shared
from karpy.errors import CreateFailed, InsufficientCapacity, KubeError, NodeClassNotReady, ProviderError
from karpy.lifecycle.launch import choices
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.meta import Condition
from karpy.objects.nodeclaim import LAUNCHED, NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.resources import NODES, total
from karpy.state.catalogs import current_types

__all__ = ["Launching"]

_MESSAGE_LENGTH = 300


class Launching:
    """Launches for one claim at a time; safe to be asked again after a crash, since clouds launch once for each name."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._health = PoolHealth(shared)

    def launch(self, claim: NodeClaim, provider: CloudProvider) -> None:
        shared = self._shared
        leaving = self._what_leaves(claim)
        if leaving:
            shared.log.info("nodeclaim is not launched any more", NodeClaim=claim.name, reason=leaving)
            shared.delete_claim(claim)
            return
        try:
            instance = self._create(claim, provider)
        except (InsufficientCapacity, NodeClassNotReady) as error:
            reason = "InsufficientCapacityError" if isinstance(error, InsufficientCapacity) else "NodeClassNotReady"
            message = f"NodeClaim {claim.name} event: {error}"
            shared.recorder.warning(NODE_CLAIM, claim.metadata, reason, message)
            shared.log.error("failed launching nodeclaim", NodeClaim=claim.name, error=str(error))
            if isinstance(error, InsufficientCapacity):
                self._health.lacks_capacity(claim.pool, str(error))
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
        self._health.launched(claim)
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

    def _what_leaves(self, claim: NodeClaim) -> str:
        """Nothing is launched from what is being deleted, nor for a pool that is gone. Somebody wants that, so it is no failure."""
        pool, node_class = self._shared.state.pool(claim.pool), self._shared.state.node_class(claim.node_class)
        if claim.pool and (pool is None or pool.metadata.is_deleting):
            return f"nodepool {claim.pool} is {'gone' if pool is None else 'being deleted'}"
        if node_class is not None and node_class["metadata"].get("deletionTimestamp"):
            return f"node class {claim.node_class.kind}/{claim.node_class.name} is being deleted"
        return ""

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


def _fits(machine: InstanceType, left: Mapping[str, int]) -> bool:
    wanted = machine.capacity + {NODES: 1}
    return all(wanted.get(name, 0) <= most for name, most in left.items())


def _shortened(message: str) -> str:
    return message if len(message) <= _MESSAGE_LENGTH else message[:_MESSAGE_LENGTH] + "..."
