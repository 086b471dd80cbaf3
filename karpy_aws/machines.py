"""What EC2 says of one machine, read into a value; whose it is, what it is called, and which tags it lacks. All pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from karpy import labels as core
from karpy.cloud.provider import Instance
from karpy.errors import InvalidObject, shown
from karpy_aws import labels

__all__ = [
    "ALIVE",
    "CLUSTER_NAME_TAG",
    "NAME_TAG",
    "NODE_CLAIM_TAG",
    "TERMINATING",
    "Machine",
    "instance_id",
    "is_owned",
    "missing_tags",
    "provider_id",
    "read_machine",
    "zone_of",
]

NAME_TAG: Final = "Name"
NODE_CLAIM_TAG: Final = "karpenter.sh/nodeclaim"
CLUSTER_NAME_TAG: Final = "eks:eks-cluster-name"

ALIVE: Final = ("pending", "running", "stopping", "stopped", "shutting-down")
TERMINATING: Final = "shutting-down"
_PROVIDER_ID: Final = re.compile(r"aws:///(?P<zone>[^/]*)/(?P<id>i-[0-9a-z]+)")
_ARCHITECTURES: Final = {"x86_64": "amd64", "x86_64_mac": "amd64", "arm64": "arm64", "arm64_mac": "arm64"}


def provider_id(zone: str, id_: str) -> str:
    """What the machine is called in the cluster.

    >>> provider_id("us-west-2a", "i-0123456789abcdef0")
    'aws:///us-west-2a/i-0123456789abcdef0'
    """
    return f"aws:///{zone}/{id_}"


def instance_id(provider: str) -> str:
    """EC2's id in a provider id.

    Raises:
        InvalidObject: it is not EC2's.
    """
    return _parts(provider)["id"]


def zone_of(provider: str) -> str:
    """The zone in a provider id.

    Raises:
        InvalidObject: it is not EC2's.
    """
    return _parts(provider)["zone"]


def _parts(provider: str) -> re.Match[str]:
    found = _PROVIDER_ID.fullmatch(provider)
    if found is None:
        raise InvalidObject(
            f"found {shown(provider)}", path="providerID", accepted="aws:///us-west-2a/i-0123456789abcdef0 and the like"
        )
    return found


@attrs.frozen(kw_only=True)
class Machine:
    """What EC2 says of an instance, as far as anything depends on it. ``launched`` is in seconds since the epoch."""

    id: str
    state: str
    zone: str
    zone_id: str = ""
    instance_type: str
    image_id: str = ""
    architecture: str = ""
    capacity_type: str = core.ON_DEMAND
    tenancy: str = labels.DEFAULT_TENANCY
    reservation_id: str = ""
    """Only where the machine was launched to use it."""
    reservation_type: str = ""
    placement_group_id: str = ""
    partition: int | None = None
    subnet_id: str = ""
    security_group_ids: frozenset[str] = frozenset()
    instance_profile: str = ""
    """Its name."""
    private_dns_name: str = ""
    launched: float = 0.0
    tags: Mapping[str, str] = attrs.field(factory=dict)
    launched_for: str = ""
    """The claim, where karpy has just launched the machine: EC2 may not have been told."""

    @property
    def claim(self) -> str:
        """The claim that it was launched for; empty when nothing says so."""
        return self.tags.get(NODE_CLAIM_TAG) or self.launched_for

    @property
    def provider_id(self) -> str:
        return provider_id(self.zone, self.id)

    @property
    def is_terminating(self) -> bool:
        return self.state == TERMINATING

    def instance(self) -> Instance:
        """As the core has it. What the machine holds for pods is not told by EC2, but by its type."""
        decided = {
            core.INSTANCE_TYPE: self.instance_type,
            core.ZONE: self.zone,
            core.CAPACITY_TYPE: self.capacity_type,
            core.ARCH: _ARCHITECTURES.get(self.architecture, ""),
            labels.ZONE_ID: self.zone_id,
            labels.CAPACITY_RESERVATION_ID: self.reservation_id,
            labels.CAPACITY_RESERVATION_TYPE: self.reservation_type,
            labels.PLACEMENT_GROUP_ID: self.placement_group_id,
            labels.PLACEMENT_GROUP_PARTITION: "" if self.partition is None else str(self.partition),
            labels.INSTANCE_TENANCY: self.tenancy,
            core.NODEPOOL: self.tags.get(core.NODEPOOL, ""),
            labels.NODE_CLASS: self.tags.get(labels.NODE_CLASS, ""),
        }
        return Instance(
            provider_id=self.provider_id,
            claim=self.claim,
            is_unmarked=not self.claim and {core.NODEPOOL, labels.NODE_CLASS} <= self.tags.keys(),
            labels={key: value for key, value in decided.items() if value},
            image_id=self.image_id,
            is_terminating=self.is_terminating,
            created=self.launched,
        )


def read_machine(instance: Mapping[str, Any], *, reserved_capacity: bool = True) -> Machine:
    """One entry of DescribeInstances; ``reserved_capacity`` is the feature gate."""
    placement = instance.get("Placement") or {}
    reservation = instance.get("CapacityReservationId") or ""
    is_reserved = reserved_capacity and bool(reservation) and _asked_for_reservation(instance)
    launched = instance.get("LaunchTime")
    return Machine(
        id=instance["InstanceId"],
        state=(instance.get("State") or {}).get("Name", ""),
        zone=placement.get("AvailabilityZone", ""),
        zone_id=placement.get("AvailabilityZoneId", ""),
        instance_type=instance.get("InstanceType", ""),
        image_id=instance.get("ImageId", ""),
        architecture=instance.get("Architecture", ""),
        capacity_type=_capacity_type(instance, is_reserved=is_reserved),
        tenancy=placement.get("Tenancy") or labels.DEFAULT_TENANCY,
        reservation_id=reservation if is_reserved else "",
        reservation_type=_reservation_type(instance) if is_reserved else "",
        placement_group_id=placement.get("GroupId", ""),
        partition=placement.get("PartitionNumber"),
        subnet_id=instance.get("SubnetId", ""),
        security_group_ids=frozenset(group["GroupId"] for group in instance.get("SecurityGroups") or ()),
        instance_profile=(instance.get("IamInstanceProfile") or {}).get("Arn", "").rpartition("/")[2],
        private_dns_name=instance.get("PrivateDnsName", ""),
        launched=0.0 if launched is None else launched.timestamp(),
        tags={tag["Key"]: tag.get("Value", "") for tag in instance.get("Tags") or ()},
    )


def _capacity_type(instance: Mapping[str, Any], *, is_reserved: bool) -> str:
    """Either mark of spot will do: some stand-ins for EC2 know only one of them."""
    if instance.get("SpotInstanceRequestId") or instance.get("InstanceLifecycle") == "spot":
        return core.SPOT
    return core.RESERVED if is_reserved else core.ON_DEMAND


def _asked_for_reservation(instance: Mapping[str, Any]) -> bool:
    """A machine may use an open reservation without having asked for it; then it is none of ours."""
    asked = instance.get("CapacityReservationSpecification") or {}
    return asked.get("CapacityReservationPreference") == "capacity-reservations-only"


def _reservation_type(instance: Mapping[str, Any]) -> str:
    return "capacity-block" if instance.get("InstanceLifecycle") == "capacity-block" else "default"


def is_owned(machine: Machine, cluster: str, *, legacy: bool = False) -> bool:
    """Whether a machine is the cluster's and not gone, by its tags; ``legacy``: by those of Karpenter up to 0.31."""
    if legacy:
        wanted = core.PROVISIONER_NAME in machine.tags and f"kubernetes.io/cluster/{cluster}" in machine.tags
    else:
        wanted = {core.NODEPOOL, labels.NODE_CLASS} <= machine.tags.keys()
        wanted = wanted and machine.tags.get(CLUSTER_NAME_TAG) == cluster
    return wanted and machine.state in ALIVE


def missing_tags(machine: Machine, *, cluster: str, claim: str, node: str) -> dict[str, str]:
    """What a machine is tagged with once its node has joined. Tags that are there stay: users may have names of their own."""
    wanted = {NAME_TAG: node, NODE_CLAIM_TAG: claim, CLUSTER_NAME_TAG: cluster}
    return {key: value for key, value in wanted.items() if value and key not in machine.tags}
