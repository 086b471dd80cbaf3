"""A cloud as a process sees it through its gate: calls that reach the cloud may meet faults, what a provider caches does not."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.cloud.instancetype import InstanceType, InstanceTypes
from karpy.cloud.notices import GivingNotice, Notice
from karpy.cloud.provider import (
    CloudProvider,
    Defaulting,
    Instance,
    NodeClassStatus,
    RawNodeClass,
    RegistrationHook,
    Repairing,
    RepairPolicy,
    WithRegistrationHooks,
)
from karpy.labels import LabelSpec
from karpy.objects.kinds import Kind
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements
from karpy.sim.processes.gate import Gate

__all__ = ["GatedCloud"]


class GatedCloud:
    """``provider`` through ``gate``."""

    def __init__(self, provider: CloudProvider, gate: Gate) -> None:
        self._provider = provider
        self._gate = gate

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def labels(self) -> LabelSpec:
        return self._provider.labels

    @property
    def node_classes(self) -> Sequence[Kind]:
        return self._provider.node_classes

    @property
    def repair_policies(self) -> Sequence[RepairPolicy]:
        """See `karpy.cloud.provider.Repairing`: none, unless the provider has some."""
        provider: object = self._provider
        return provider.repair_policies if isinstance(provider, Repairing) else ()

    def instance_types(self, pool: NodePool, node_class: RawNodeClass) -> InstanceTypes:
        return self._provider.instance_types(pool, node_class)

    def create(self, claim: NodeClaim, node_class: RawNodeClass, choices: Sequence[InstanceType]) -> Instance:
        return self._gate.call(
            lambda: self._provider.create(claim, node_class, choices), "create", None, claim.name, body=claim
        )

    def delete(self, provider_id: str) -> None:
        self._gate.call(lambda: self._provider.delete(provider_id), "delete", None, provider_id)

    def get(self, provider_id: str) -> Instance:
        return self._gate.call(lambda: self._provider.get(provider_id), "get", None, provider_id)

    def list(self) -> Sequence[Instance]:
        return self._gate.call(self._provider.list, "list", None, "")

    def drift_reason(self, claim: NodeClaim, pool: NodePool, node_class: RawNodeClass) -> str | None:
        return self._provider.drift_reason(claim, pool, node_class)

    def resolve(self, node_class: RawNodeClass) -> NodeClassStatus:
        name = node_class["metadata"]["name"]
        return self._gate.call(lambda: self._provider.resolve(node_class), "resolve", None, name)

    def messages(self, most: int = 10) -> Sequence[Notice]:
        """See `karpy.cloud.notices.GivingNotice`. To find nothing is no call: as with watches, the caller merely waits."""
        provider: object = self._provider
        found = provider.messages(most) if isinstance(provider, GivingNotice) else ()
        return self._gate.call(lambda: found, "receive", None, "messages") if found else ()

    def acknowledge(self, notice: Notice) -> None:
        provider: object = self._provider
        if isinstance(provider, GivingNotice):
            giving = provider
            self._gate.call(lambda: giving.acknowledge(notice), "acknowledge", None, notice.id)

    def default_requirements(self, pool: NodePool) -> Requirements:
        """See `karpy.cloud.provider.Defaulting`: nothing, unless the provider adds something."""
        provider: object = self._provider
        return provider.default_requirements(pool) if isinstance(provider, Defaulting) else Requirements()

    @property
    def registration_hooks(self) -> Sequence[RegistrationHook]:
        """See `karpy.cloud.provider.WithRegistrationHooks`: what they call is not the cloud's gate."""
        provider: object = self._provider
        return provider.registration_hooks if isinstance(provider, WithRegistrationHooks) else ()
