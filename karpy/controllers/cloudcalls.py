"""Calls of clouds are measured: how long they take, and how they fail (core specification 7, decorators)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Self, TypeVar

from karpy.clock import Clock
from karpy.cloud.instancetype import InstanceType, InstanceTypes
from karpy.cloud.notices import GivingNotice
from karpy.cloud.provider import (
    CloudProvider,
    Defaulting,
    Instance,
    NodeClassStatus,
    RawNodeClass,
    RefusingVolumes,
    Repairing,
    WithRegistrationHooks,
)
from karpy.controllers.turns import acting
from karpy.errors import InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady, ProviderError
from karpy.labels import LabelSpec
from karpy.metrics import CLOUDPROVIDER_DURATION, CLOUDPROVIDER_ERRORS, Metrics
from karpy.objects.kinds import Kind
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool

__all__ = ["OPTIONAL", "CountedCloud"]

T = TypeVar("T")


OPTIONAL = (Defaulting, GivingNotice, RefusingVolumes, Repairing, WithRegistrationHooks)
"""What a provider may offer beside the contract. It is passed on as it is at the time."""


class CountedCloud:
    """``provider``, whose calls are counted and timed under Karpenter's names of them."""

    def __new__(cls, provider: CloudProvider, _metrics: Metrics, _clock: Clock) -> Self:
        """One whose class has what this provider offers beside the contract, and nothing that it does not."""
        passed_on = {name: property(attrgetter(f"_provider.{name}")) for name in _offered(provider)}
        return object.__new__(type(cls.__name__, (cls,), passed_on))

    def __init__(self, provider: CloudProvider, metrics: Metrics, clock: Clock) -> None:
        self._provider = provider
        self._metrics = metrics
        self._clock = clock

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def labels(self) -> LabelSpec:
        return self._provider.labels

    @property
    def node_classes(self) -> Sequence[Kind]:
        return self._provider.node_classes

    def instance_types(self, pool: NodePool, node_class: RawNodeClass) -> InstanceTypes:
        return self._call("GetInstanceTypes", lambda: self._provider.instance_types(pool, node_class))

    def create(self, claim: NodeClaim, node_class: RawNodeClass, choices: Sequence[InstanceType]) -> Instance:
        return self._call("Create", lambda: self._provider.create(claim, node_class, choices))

    def delete(self, provider_id: str) -> None:
        self._call("Delete", lambda: self._provider.delete(provider_id))

    def get(self, provider_id: str) -> Instance:
        return self._call("Get", lambda: self._provider.get(provider_id))

    def list(self) -> Sequence[Instance]:
        return self._call("List", self._provider.list)

    def drift_reason(self, claim: NodeClaim, pool: NodePool, node_class: RawNodeClass) -> str | None:
        return self._call("IsDrifted", lambda: self._provider.drift_reason(claim, pool, node_class))

    def resolve(self, node_class: RawNodeClass) -> NodeClassStatus:
        return self._provider.resolve(node_class)

    def _call(self, method: str, call: Callable[[], T]) -> T:
        labels = {"controller": acting(), "method": method, "provider": self._provider.name}
        start = self._clock.now()
        try:
            return call()
        except ProviderError as error:
            self._metrics.add(CLOUDPROVIDER_ERRORS, error=_label(error), **labels)
            raise
        finally:
            self._metrics.observe(CLOUDPROVIDER_DURATION, max(self._clock.now() - start, 0.0), **labels)


def _offered(provider: object) -> Iterator[str]:
    """The names of what it offers beside the contract."""
    for protocol in OPTIONAL:
        if isinstance(provider, protocol):
            yield from (name for name in vars(protocol) if not name.startswith("_"))


def _label(error: ProviderError) -> str:
    """Only errors that mean something to the life of a claim have a name of their own."""
    for class_ in (NodeClaimNotFound, InsufficientCapacity, NodeClassNotReady):
        if isinstance(error, class_):
            return f"{class_.__name__}Error"
    return ""
