"""What a cloud must say and do: the `CloudProvider` protocol.

A provider takes values and returns values. It never speaks Kubernetes: the core watches, patches and writes events.
The verbs are Karpenter's, so that its documentation still applies (core specification, section 7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import attrs

from karpy.clock import Clock, SystemClock
from karpy.cloud.instancetype import InstanceType, InstanceTypes
from karpy.cloud.volumes import UnsupportedVolumes
from karpy.labels import LabelSpec
from karpy.objects.kinds import Kind
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements
from karpy.resources import Resources

__all__ = [
    "CloudProvider",
    "Defaulting",
    "HookAnswer",
    "Instance",
    "NodeClassStatus",
    "ProviderContext",
    "RawNodeClass",
    "RefusingVolumes",
    "RegistrationHook",
    "RepairPolicy",
    "Repairing",
    "WithRegistrationHooks",
]

RawNodeClass = Mapping[str, Any]
"""The node class object as JSON: only its provider knows what it means. It must not be changed."""


@attrs.frozen(kw_only=True)
class Instance:
    """A machine that the cloud runs for us.

    ``labels`` are those that the cloud decided: instance type, zone, capacity type, architecture and its own.
    """

    provider_id: str
    claim: str
    """Name of the NodeClaim that it was launched for; empty when it carries no mark of one."""
    is_unmarked: bool = False
    """It was launched for a claim, but does not say yet for which: several were launched together."""
    labels: Mapping[str, str] = attrs.field(factory=dict)
    annotations: Mapping[str, str] = attrs.field(factory=dict)
    capacity: Resources = Resources()
    allocatable: Resources = Resources()
    image_id: str = ""
    is_terminating: bool = False
    created: float = 0.0


@attrs.frozen
class NodeClassStatus:
    """What the provider found out about a node class: whether it can be launched from, and its status fields."""

    ready: bool
    reason: str = ""
    message: str = ""
    status: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class ProviderContext:
    """What a provider is created with: its settings by name, facts of the cluster, and the time."""

    cluster_name: str = ""
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    clock: Clock = attrs.field(factory=SystemClock)


@runtime_checkable
class CloudProvider(Protocol):
    """One cloud. Every method may be called from several threads."""

    @property
    def name(self) -> str:
        """As in the entry point, in metrics and in ``--provider``."""
        ...

    @property
    def labels(self) -> LabelSpec:
        """The label keys that this cloud defines beside the core's. Read once."""
        ...

    @property
    def node_classes(self) -> Sequence[Kind]:
        """The kinds of node class that it serves; the first is the default. They decide which pools are its own. Read once."""
        ...

    def instance_types(self, pool: NodePool, node_class: RawNodeClass) -> InstanceTypes:
        """Everything it could launch for this pool; sold-out offerings are there, marked unavailable.

        Called for every solve: must be cached, and return the same object while nothing changed.
        """
        ...

    def create(self, claim: NodeClaim, node_class: RawNodeClass, choices: Sequence[InstanceType]) -> Instance:
        """Launch one machine for ``claim``: one of ``choices`` (cheapest first), in an offering that its requirements allow.

        ``choices`` come with those offerings alone that hold what the claim asks for; `as_bought` says what machine one gives.
        Called once for each launch and again after a crash: idempotent by the claim's name. Need not wait for the node.

        Raises:
            InsufficientCapacity, NodeClassNotReady, CreateFailed, Throttled, or another ProviderError that is retried.
        """
        ...

    def delete(self, provider_id: str) -> None:
        """Ask for the machine's end. Called every few seconds until it raises.

        Raises:
            NodeClaimNotFound: it is gone.
        """
        ...

    def get(self, provider_id: str) -> Instance:
        """Raises: NodeClaimNotFound."""
        ...

    def list(self) -> Sequence[Instance]:
        """All machines of this cluster, those being terminated too. Called every two minutes."""
        ...

    def drift_reason(self, claim: NodeClaim, pool: NodePool, node_class: RawNodeClass) -> str | None:
        """Why the machine no longer matches its node class, or None. Called per claim every five minutes; changes nothing."""
        ...

    def resolve(self, node_class: RawNodeClass) -> NodeClassStatus:
        """Look up what the node class refers to. Called on change and on a timer."""
        ...


@attrs.frozen
class RepairPolicy:
    """A node whose ``condition`` has this ``status`` for longer than ``toleration_s`` is broken, and will not mend."""

    condition: str
    status: str
    toleration_s: float


@runtime_checkable
class Defaulting(Protocol):
    """A provider that adds requirements to pools which leave something open, as its older API generations did."""

    def default_requirements(self, pool: NodePool) -> Requirements:
        """Requirements for keys that the pool does not name. Called for every snapshot: must be cheap."""
        ...


@runtime_checkable
class RefusingVolumes(Protocol):
    """A provider on whose machines some volumes cannot be used."""

    @property
    def unsupported_volumes(self) -> UnsupportedVolumes:
        """Read once. With several clouds at once what one of them cannot use is refused, since a pod may get a machine of any."""
        ...


@runtime_checkable
class Repairing(Protocol):
    """A provider that says when a node is broken, so that it is replaced (feature gate NodeRepair)."""

    @property
    def repair_policies(self) -> Sequence[RepairPolicy]:
        """Asked for with every change of a node: must be cheap."""
        ...


@attrs.frozen(kw_only=True)
class HookAnswer:
    """What a registration hook says of a node.

    ``labels`` are put on the node and its claim once all hooks are done; what the claim says already stays as it is.
    """

    is_done: bool = True
    retry_after_s: float | None = None
    """Ask again after so long, if it is not done; None: when something changes."""
    labels: Mapping[str, str] = attrs.field(factory=dict)


class RegistrationHook(Protocol):
    """Something that has to be done for a machine before pods may come to it."""

    @property
    def name(self) -> str:
        """As in the message of the claim's condition while it is not done."""
        ...

    def registered(self, claim: NodeClaim, node: Node) -> HookAnswer:
        """The node of ``claim`` has joined. Asked again until it is done, and once more after a crash: idempotent, and never slow.

        Raises:
            ProviderError: it failed; asked again with back-off.
        """
        ...


@runtime_checkable
class WithRegistrationHooks(Protocol):
    """A provider whose nodes stay closed, by the taint ``karpenter.sh/unregistered``, until its hooks let them pass."""

    @property
    def registration_hooks(self) -> Sequence[RegistrationHook]:
        """Every one of them is asked each time, also when another is not done. Read once."""
        ...
