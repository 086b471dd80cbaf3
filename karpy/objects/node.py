"""Nodes: machines that have joined the cluster."""

from __future__ import annotations

import msgspec

from karpy import labels
from karpy.objects.meta import Condition, ObjectMeta, Wire, find_condition
from karpy.taints import Taint

__all__ = ["Node", "NodeSpec", "NodeStatus"]


class NodeSpec(Wire, frozen=True):
    provider_id: str = msgspec.field(default="", name="providerID")
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeStatus(Wire, frozen=True):
    phase: str = ""
    capacity: dict[str, str | int | float] | None = None
    allocatable: dict[str, str | int | float] | None = None
    conditions: tuple[Condition, ...] = ()


class Node(Wire, frozen=True):
    """A node as its kubelet and the controllers describe it."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels or {}

    @property
    def is_ready(self) -> bool:
        ready = find_condition(self.status.conditions, "Ready")
        return ready is not None and ready.is_true

    @property
    def is_registered(self) -> bool:
        return self.labels.get(labels.REGISTERED) == "true"

    @property
    def is_initialized(self) -> bool:
        return self.labels.get(labels.INITIALIZED) == "true"
