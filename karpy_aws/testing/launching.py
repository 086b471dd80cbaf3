"""One machine: what its pool, account, network and template have against it, and what it is like once launched."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy_aws.testing.refusals import Refused
from karpy_aws.testing.world import ACCOUNT, Pool, World, time_of

__all__ = ["ENDED", "Launch", "launch", "refusal_of", "request_refusal_of"]

ENDED: Final = frozenset({"shutting-down", "terminated"})
_SPREAD_LIMIT: Final = 7
_USER_DATA_LIMIT: Final = 16_384


@attrs.frozen(kw_only=True)
class Launch:
    """What shall be launched, and where."""

    capacity_type: str
    instance_type: str
    zone: str
    subnet: str
    image: str
    template_id: str
    fleet_id: str
    data: Mapping[str, Any]
    """The launch template's data."""
    tags: Sequence[Mapping[str, str]]

    @property
    def pool(self) -> Pool:
        return (self.capacity_type, self.instance_type, self.zone)

    @property
    def security_groups(self) -> list[str]:
        cards = self.data.get("NetworkInterfaces") or ()
        return [
            *(self.data.get("SecurityGroupIds") or ()),
            *(group for card in cards for group in card.get("Groups") or ()),
        ]

    @property
    def reservation(self) -> str:
        target = (self.data.get("CapacityReservationSpecification") or {}).get("CapacityReservationTarget") or {}
        return str(target.get("CapacityReservationId", ""))

    @property
    def reservation_preference(self) -> str:
        return str(
            (self.data.get("CapacityReservationSpecification") or {}).get("CapacityReservationPreference", "open")
        )


def refusal_of(world: World, wanted: Launch) -> Refused | None:
    """Why one machine of this kind cannot be launched now, or None. What the account or the request has against it comes before
    what the pool has."""
    checks = (_account, request_refusal_of, _quota, _type_and_image, _network, _placement, _reserved, _pool)
    return next((refused for check in checks if (refused := check(world, wanted)) is not None), None)


def _account(world: World, wanted: Launch) -> Refused | None:
    if wanted.capacity_type == "spot" and not world.has_spot_role:
        return Refused(
            "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
            "The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.",
        )
    return None


def request_refusal_of(world: World, wanted: Launch) -> Refused | None:
    """What a dry run finds: it looks at the request, and at no pool."""
    profile = (wanted.data.get("IamInstanceProfile") or {}).get("Name")
    if profile and profile not in world.profiles and not world.knows_every_profile:
        return Refused(
            "InvalidParameterValue",
            f"Value ({profile}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
        )
    try:
        length = len(base64.b64decode(wanted.data.get("UserData") or "", validate=True))
    except binascii.Error:
        return Refused("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
    if length > _USER_DATA_LIMIT:
        return Refused("InvalidUserData.Malformed", f"User data is limited to {_USER_DATA_LIMIT} bytes")
    return None


def _quota(world: World, wanted: Launch) -> Refused | None:
    limit = world.vcpu_limits.get(wanted.capacity_type)
    if limit is not None and _vcpus_in_use(world, wanted.capacity_type) + _vcpus(world, wanted.instance_type) > limit:
        if wanted.capacity_type == "spot":
            return Refused("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
        return Refused(
            "VcpuLimitExceeded",
            f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance "
            "bucket that the specified instance type belongs to.",
        )
    return None


def _vcpus(world: World, instance_type: str) -> int:
    return int(world.instance_types.get(instance_type, {}).get("VCpuInfo", {}).get("DefaultVCpus", 0))


def _vcpus_in_use(world: World, capacity_type: str) -> int:
    return sum(
        _vcpus(world, instance["InstanceType"])
        for instance in _alive(world)
        if (instance.get("InstanceLifecycle") == "spot") == (capacity_type == "spot")
    )


def _alive(world: World) -> Iterator[Mapping[str, Any]]:
    return (instance for instance in world.instances.values() if instance["State"]["Name"] not in ENDED)


def _type_and_image(world: World, wanted: Launch) -> Refused | None:
    described = world.instance_types.get(wanted.instance_type)
    if described is None:
        return Refused("InvalidParameterValue", f"Invalid value '{wanted.instance_type}' for InstanceType.")
    image = world.images.get(wanted.image)
    if image is None:
        return Refused("InvalidAMIID.NotFound", f"The image id '[{wanted.image}]' does not exist")
    architectures = described["ProcessorInfo"]["SupportedArchitectures"]
    if image["Architecture"] not in architectures:
        return Refused(
            "InvalidParameterValue",
            f"The architecture '{','.join(architectures)}' of the specified instance type does not match the "
            f"architecture '{image['Architecture']}' of the specified AMI.",
        )
    if wanted.zone not in world.offerings.get(wanted.instance_type, ()):
        return Refused(
            "Unsupported",
            f"Your requested instance type ({wanted.instance_type}) is not supported in your requested Availability Zone "
            f"({wanted.zone}).",
        )
    return None


def _network(world: World, wanted: Launch) -> Refused | None:
    subnet = world.subnets.get(wanted.subnet)
    if subnet is None:
        return Refused("MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
    for group in wanted.security_groups:
        if group not in world.security_groups:
            return Refused("InvalidGroup.NotFound", f"The security group '{group}' does not exist")
        if world.security_groups[group].get("VpcId") != subnet.get("VpcId"):
            return Refused(
                "InvalidParameter",
                f"Security group {group} and subnet {wanted.subnet} belong to different networks.",
            )
    if subnet["AvailableIpAddressCount"] < 1:
        return Refused(
            "InsufficientFreeAddressesInSubnet",
            f"There are not enough free addresses in subnet '{wanted.subnet}' to satisfy the requested number of instances.",
        )
    return None


def _placement(world: World, wanted: Launch) -> Refused | None:
    placement = wanted.data.get("Placement") or {}
    id_ = placement.get("GroupId")
    if not id_:
        return None
    group = world.placement_groups.get(id_)
    if group is None:
        return Refused("InvalidPlacementGroup.Unknown", f"The placement group '{id_}' is unknown")
    partition = placement.get("PartitionNumber")
    if partition and partition > group.get("PartitionCount", 0):
        return Refused("InvalidParameterValue", f"The placement group has no partition {partition}")
    there = sum(
        instance["Placement"].get("GroupId") == id_ and instance["Placement"]["AvailabilityZone"] == wanted.zone
        for instance in _alive(world)
    )
    if group["Strategy"] == "spread" and group.get("SpreadLevel", "rack") == "rack" and there >= _SPREAD_LIMIT:
        return Refused(
            "InsufficientInstanceCapacity",
            "You've reached the limit of instances in this spread placement group. A spread placement group can have up to "
            "seven instances per Availability Zone.",
        )
    return None


def _reserved(world: World, wanted: Launch) -> Refused | None:
    if not wanted.reservation:
        return None
    reservation = world.reservations.get(wanted.reservation)
    if reservation is None:
        return Refused(
            "InvalidCapacityReservationId.NotFound", f"The capacity reservation '{wanted.reservation}' does not exist"
        )
    matches = (reservation["InstanceType"], reservation["AvailabilityZone"]) == (wanted.instance_type, wanted.zone)
    if not matches or reservation["State"] != "active" or reservation["AvailableInstanceCount"] < 1:
        return Refused(
            "ReservationCapacityExceeded",
            "The requested reservation does not have sufficient compatible and available capacity for this request.",
        )
    return None


def _pool(world: World, wanted: Launch) -> Refused | None:
    if wanted.pool in world.pool_errors:
        return Refused(*world.pool_errors[wanted.pool])
    if world.stock.get(wanted.pool, 1) > 0 or wanted.reservation:
        return None
    return Refused(
        "InsufficientInstanceCapacity",
        f"We currently do not have sufficient {wanted.instance_type} capacity in the Availability Zone you requested "
        f"({wanted.zone}).",
    )


def launch(world: World, wanted: Launch, now: float) -> str:
    """Make a machine and take what it uses from the world."""
    id_ = world.new_id("i")
    reservation = wanted.reservation or _open_reservation(world, wanted)
    if wanted.pool in world.stock and not reservation:
        world.stock[wanted.pool] -= 1
    if reservation in world.reservations:  # recorded scenarios know what is left, and not of what
        world.reservations[reservation]["AvailableInstanceCount"] -= 1
    if wanted.subnet:
        world.subnets[wanted.subnet]["AvailableIpAddressCount"] -= 1
    world.instances[id_] = _machine(world, wanted, id_, reservation, now)
    world.user_data[id_] = wanted.data.get("UserData", "")
    world.found_at[id_] = now + world.lag_s
    return id_


def _open_reservation(world: World, wanted: Launch) -> str:
    """The reservation that a machine uses without having asked for it."""
    if wanted.reservation_preference != "open" or wanted.capacity_type != "on-demand":
        return ""
    return next(
        (
            id_
            for id_, found in sorted(world.reservations.items())
            if (found["InstanceType"], found["AvailabilityZone"]) == (wanted.instance_type, wanted.zone)
            and found["State"] == "active"
            and found.get("InstanceMatchCriteria") == "open"
            and found["AvailableInstanceCount"] > 0
        ),
        "",
    )


def _machine(world: World, wanted: Launch, id_: str, reservation: str, now: float) -> dict[str, Any]:
    subnet = world.subnets.get(wanted.subnet, {})
    second, third, last = world.serial >> 16 & 255, world.serial >> 8 & 255, world.serial & 255
    name = f"ip-10-{second}-{third}-{last}.{world.region}.compute.internal"
    groups = [
        {"GroupId": group, "GroupName": world.security_groups.get(group, {}).get("GroupName", "")}
        for group in dict.fromkeys(wanted.security_groups)
    ]
    found: dict[str, Any] = {
        "InstanceId": id_,
        "InstanceType": wanted.instance_type,
        "ImageId": wanted.image,
        "State": {"Code": 0, "Name": "pending"},
        "LaunchTime": time_of(now),
        "Placement": _placed(world, wanted),
        "SubnetId": wanted.subnet,
        "VpcId": subnet.get("VpcId", ""),
        "PrivateIpAddress": f"10.{second}.{third}.{last}",
        "PrivateDnsName": name,
        "Architecture": world.images.get(wanted.image, {}).get("Architecture", "x86_64"),
        "SecurityGroups": groups,
        "Tags": [
            *wanted.tags,
            {"Key": "aws:ec2launchtemplate:id", "Value": wanted.template_id},
            {"Key": "aws:ec2:fleet-id", "Value": wanted.fleet_id},
        ],
    }
    profile = (wanted.data.get("IamInstanceProfile") or {}).get("Name")
    if profile:
        found["IamInstanceProfile"] = {"Arn": f"arn:aws:iam::{ACCOUNT}:instance-profile/{profile}", "Id": "AIPA0"}
    if wanted.capacity_type == "spot":
        found |= {"InstanceLifecycle": "spot", "SpotInstanceRequestId": world.new_id("sir")}
    if reservation:
        found["CapacityReservationId"] = reservation
    found["CapacityReservationSpecification"] = {"CapacityReservationPreference": wanted.reservation_preference}
    return found


def _placed(world: World, wanted: Launch) -> dict[str, Any]:
    asked = wanted.data.get("Placement") or {}
    found = {
        "AvailabilityZone": wanted.zone,
        "AvailabilityZoneId": world.zones.get(wanted.zone, ""),
        "Tenancy": asked.get("Tenancy", "default"),
    }
    group = world.placement_groups.get(asked.get("GroupId", ""))
    if group is None:
        return found
    found |= {"GroupId": group["GroupId"], "GroupName": group["GroupName"]}
    if group["Strategy"] == "partition":
        found["PartitionNumber"] = asked.get("PartitionNumber") or world.serial % group["PartitionCount"] + 1
    return found
