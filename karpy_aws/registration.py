"""What is done for a machine when its node joins: it gets the tags that need the node's name, and tells what only it knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from karpy import labels as core
from karpy.cloud.provider import HookAnswer
from karpy.errors import InvalidObject, ProviderError, Throttled
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.resources import MEMORY, Resources
from karpy_aws import labels
from karpy_aws.instances import Instances
from karpy_aws.machines import missing_tags

__all__ = ["MemoryHook", "PartitionHook", "TaggingHook"]

_RETRY_S: Final = 1.0


class PartitionHook:
    """A node in a placement group with partitions stays closed until EC2 shows which one it is in.

    Pods are spread over partitions by the node's label, and EC2 often chooses the partition only when it launches.
    """

    name = "PlacementGroupRegistrationHook"

    def __init__(self, instances: Instances, has_partitions: Callable[[str], bool]) -> None:
        """``has_partitions`` says it of a placement group by its id."""
        self._instances = instances
        self._has_partitions = has_partitions

    def registered(self, claim: NodeClaim, node: Node) -> HookAnswer:
        """
        Raises:
            ProviderError: EC2 does not tell of the machine or the group.
        """
        del node
        group = claim.labels.get(labels.PLACEMENT_GROUP_ID, "")
        if not group or claim.labels.get(labels.PLACEMENT_GROUP_PARTITION):
            return HookAnswer()
        partition = self._instances.get(claim.provider_id, fresh=True).partition
        if partition is not None:
            return HookAnswer(labels={labels.PLACEMENT_GROUP_PARTITION: str(partition)})
        return HookAnswer(is_done=False, retry_after_s=_RETRY_S) if self._has_partitions(group) else HookAnswer()


class TaggingHook:
    """The machine is named after its node. A node is not kept waiting for that: what EC2 refuses is told to ``failed``."""

    name = "NodeClaimTagging"

    def __init__(self, instances: Instances, cluster: str, failed: Callable[[NodeClaim, Exception], object]) -> None:
        self._instances = instances
        self._cluster = cluster
        self._failed = failed

    def registered(self, claim: NodeClaim, node: Node) -> HookAnswer:
        try:
            machine = self._instances.get(claim.provider_id)
            missing = missing_tags(machine, cluster=self._cluster, claim=claim.name, node=node.name)
            if missing:
                self._instances.tag(claim.provider_id, missing)
        except Throttled:  # this passes, and untagged machines are hard to find again
            return HookAnswer(is_done=False, retry_after_s=_RETRY_S)
        except (ProviderError, InvalidObject) as error:
            self._failed(claim, error)
        return HookAnswer()


class MemoryHook:
    """The memory that the node reports is noted: machines of the type with the same images will have as much."""

    name = "DiscoveredCapacity"

    def __init__(self, note: Callable[[NodeClaim, str, int], object]) -> None:
        self._note = note

    def registered(self, claim: NodeClaim, node: Node) -> HookAnswer:
        instance_type = claim.labels.get(core.INSTANCE_TYPE, "")
        memory = Resources.parse(node.status.capacity or {}).get(MEMORY, 0)
        if instance_type and memory:
            self._note(claim, instance_type, memory)
        return HookAnswer()
