"""`Launcher`: launches one machine for one claim, with all that EC2 has to be asked and told on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from karpy.clock import Clock
from karpy.cloud.instancetype import InstanceType
from karpy.cloud.provider import Instance
from karpy.objects.nodeclaim import NodeClaim
from karpy_aws.api import EC2API
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.descriptions import TypeDescription
from karpy_aws.fleeterrors import FleetError
from karpy_aws.instances import Instances
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.reservations import ReservationCounts
from karpy_aws.settings import AWSSettings
from karpy_aws.subnets import SubnetAddresses
from karpy_aws.templatecache import LaunchTemplateCache
from karpy_aws.unavailable import UnavailableOfferings

__all__ = ["LaunchNotes", "Launcher"]


@attrs.frozen(kw_only=True)
class LaunchNotes:
    """What a launch tells beside its outcome, for metrics, events and logs. Every member may be left out."""

    failed: Callable[[str, FleetError], object] = lambda _capacity_type, _error: None
    """One pool had no machine: the capacity type that was asked for, and what EC2 said."""
    warned: Callable[[NodeClaim, str], object] = lambda _claim, _text: None
    user_data_bytes: Callable[[NodeClass, int], object] = lambda _node_class, _size: None


class Launcher:
    """``ec2`` sends equal launches together (`karpy_aws.batching.BatchedEC2`)."""

    def __init__(
        self,
        ec2: EC2API,
        *,
        settings: AWSSettings,
        region: str,
        clock: Clock,
        templates: LaunchTemplateCache,
        instances: Instances,
        addresses: SubnetAddresses,
        unavailable: UnavailableOfferings,
        reservations: ReservationCounts,
        sells_reserved: bool = True,
        strict_min_values: bool = True,
        notes: LaunchNotes | None = None,
    ) -> None: ...

    def create(
        self,
        claim: NodeClaim,
        node_class: NodeClass,
        types: Sequence[InstanceType],
        *,
        facts: ClusterFacts,
        described: Mapping[str, TypeDescription],
    ) -> Instance:
        """Launch one of ``types`` for ``claim``, or find the machine that was launched for it already.

        ``described`` are EC2's descriptions by type: expressions of the kubelet block are worked out from them.

        Raises:
            InsufficientCapacity, NodeClassNotReady, CreateFailed, Throttled, or another ProviderError that is retried.
        """
        ...
