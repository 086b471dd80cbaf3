"""EC2's lists of what there is to launch, and where: types, offerings, prices, networks, images, reservations, groups."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from karpy_aws.testing.filters import Members, matching, tags_of
from karpy_aws.testing.paging import page
from karpy_aws.testing.refusals import Refused
from karpy_aws.testing.world import ACCOUNT, World, time_of

__all__ = ["HANDLERS"]

Request = Mapping[str, Any]
Answer = dict[str, Any]
Handler = Callable[[World, Request, float], Answer]

_TYPE_FILTERS: Final[Members] = {
    "instance-type": "InstanceType",
    "bare-metal": "BareMetal",
    "current-generation": "CurrentGeneration",
    "processor-info.supported-architecture": "ProcessorInfo.SupportedArchitectures",
    "supported-virtualization-type": "SupportedVirtualizationTypes",
    "supported-usage-class": "SupportedUsageClasses",
}
_OFFERING_FILTERS: Final[Members] = {"instance-type": "InstanceType", "location": "Location"}
_SPOT_FILTERS: Final[Members] = {
    "availability-zone": "AvailabilityZone",
    "instance-type": "InstanceType",
    "product-description": "ProductDescription",
}
_SUBNET_FILTERS: Final[Members] = {
    "subnet-id": "SubnetId",
    "availability-zone": "AvailabilityZone",
    "availability-zone-id": "AvailabilityZoneId",
    "vpc-id": "VpcId",
    "state": "State",
}
_GROUP_FILTERS: Final[Members] = {"group-id": "GroupId", "group-name": "GroupName", "vpc-id": "VpcId"}
_IMAGE_FILTERS: Final[Members] = {
    "image-id": "ImageId",
    "name": "Name",
    "state": "State",
    "architecture": "Architecture",
    "owner-id": "OwnerId",
    "owner-alias": "ImageOwnerAlias",
}
_RESERVATION_FILTERS: Final[Members] = {
    "state": "State",
    "instance-type": "InstanceType",
    "owner-id": "OwnerId",
    "availability-zone": "AvailabilityZone",
    "instance-match-criteria": "InstanceMatchCriteria",
}
_PLACEMENT_FILTERS: Final[Members] = {
    "group-name": "GroupName",
    "group-id": "GroupId",
    "state": "State",
    "strategy": "Strategy",
}


def _instance_types(world: World, request: Request, now: float) -> Answer:
    del now
    wanted = request.get("InstanceTypes") or ()
    for name in wanted:
        if name not in world.instance_types:
            raise Refused("InvalidInstanceType", f"The following supplied instance types do not exist: [{name}]")
    types = [world.instance_types[name] for name in sorted(wanted or world.instance_types)]
    return page(matching(types, request, _TYPE_FILTERS), request, "InstanceTypes", most=100, size=world.page_size)


def _offerings(world: World, request: Request, now: float) -> Answer:
    del now
    kind = request.get("LocationType", "region")
    if kind == "region":
        places = {name: [world.region] for name, zones in world.offerings.items() if zones}
    elif kind == "availability-zone":
        places = dict(world.offerings)
    else:
        places = {name: [world.zones[zone] for zone in zones] for name, zones in world.offerings.items()}
    found = [
        {"InstanceType": name, "LocationType": kind, "Location": place}
        for name in sorted(places)
        for place in sorted(places[name])
    ]
    found = matching(found, request, _OFFERING_FILTERS)
    return page(found, request, "InstanceTypeOfferings", most=1_000, size=world.page_size)


_PRODUCT: Final = "Linux/UNIX (Amazon VPC)"


def _spot_prices(world: World, request: Request, now: float) -> Answer:
    """The prices of a time, the newest first: those that began in it, and the one that held when it began."""
    begin = _seconds(request.get("StartTime"), 0.0)
    end = _seconds(request.get("EndTime"), now)
    found = []
    for (name, zone), history in sorted(world.spot_prices.items()):
        known = [(since, price) for since, price in history if since <= end]
        held = [entry for entry in known if entry[0] <= begin][-1:]
        for since, price in reversed(held + [entry for entry in known if entry[0] > begin]):
            found.append(
                {
                    "InstanceType": name,
                    "AvailabilityZone": zone,
                    "AvailabilityZoneId": world.zones.get(zone, ""),
                    "SpotPrice": f"{price:.6f}",
                    "Timestamp": time_of(since),
                    "ProductDescription": _PRODUCT,
                }
            )
    types, products = request.get("InstanceTypes"), request.get("ProductDescriptions")
    found = [
        record
        for record in matching(found, request, _SPOT_FILTERS)
        if (not types or record["InstanceType"] in types) and (not products or _PRODUCT in products)
    ]
    answer = page(found, request, "SpotPriceHistory", most=2_000, size=world.page_size)
    return {"NextToken": "", **answer}  # this call ends its pages with an empty token


def _seconds(value: object, default: float) -> float:
    if isinstance(value, dt.datetime):
        return value.timestamp()
    return dt.datetime.fromisoformat(value).timestamp() if isinstance(value, str) else default


def _subnets(world: World, request: Request, now: float) -> Answer:
    del now
    records = _named(world.subnets, request.get("SubnetIds"), "InvalidSubnetID.NotFound", "subnet ID")
    found = matching(({"State": "available", **record} for record in records), request, _SUBNET_FILTERS)
    return page(found, request, "Subnets", most=1_000, size=world.page_size)


def _security_groups(world: World, request: Request, now: float) -> Answer:
    del now
    records = _named(world.security_groups, request.get("GroupIds"), "InvalidGroup.NotFound", "security group")
    return page(matching(records, request, _GROUP_FILTERS), request, "SecurityGroups", most=1_000, size=world.page_size)


def _named(table: Mapping[str, Answer], ids: Iterable[str] | None, code: str, kind: str) -> list[Answer]:
    """The records with these ids, or all; an id that nothing has fails the whole call."""
    for id_ in ids or ():
        if id_ not in table:
            raise Refused(code, f"The {kind} '{id_}' does not exist")
    return [table[id_] for id_ in sorted(ids or table)]


def _images(world: World, request: Request, now: float) -> Answer:
    del now
    records = _named(world.images, request.get("ImageIds"), "InvalidAMIID.NotFound", "image id")
    if not request.get("IncludeDeprecated"):
        records = [record for record in records if not record.get("DeprecationTime")]
    owners = request.get("Owners") or ()
    if owners:
        records = [record for record in records if _is_owned(record, owners)]
    return page(matching(records, request, _IMAGE_FILTERS), request, "Images", most=1_000, size=world.page_size)


def _is_owned(record: Answer, owners: Iterable[str]) -> bool:
    mine = ("self",) if record.get("OwnerId") == ACCOUNT else ()
    return any(owner in (record.get("OwnerId"), record.get("ImageOwnerAlias"), *mine) for owner in owners)


def _reservations(world: World, request: Request, now: float) -> Answer:
    """One that ended says so; those that wait for their start are not active yet."""
    ids = request.get("CapacityReservationIds")
    if ids and "MaxResults" in request:
        raise Refused(
            "InvalidParameterCombination", "The parameter maxResults cannot be used with capacityReservationIds"
        )
    records = _named(world.reservations, ids, "InvalidCapacityReservationId.NotFound", "capacity reservation")
    current = [
        {**record, "State": "expired"} if (end := record.get("EndDate")) and _seconds(end, now) <= now else record
        for record in records
    ]
    found = matching(current, request, _RESERVATION_FILTERS)
    return page(found, request, "CapacityReservations", most=1_000, size=world.page_size)


def _placement_groups(world: World, request: Request, now: float) -> Answer:
    del now
    by_name = {record["GroupName"]: record for record in world.placement_groups.values()}
    records = _named(by_name, request.get("GroupNames"), "InvalidPlacementGroup.Unknown", "placement group")
    ids = request.get("GroupIds")
    if ids:
        records = [record for record in records if record["GroupId"] in ids]
        if len(records) < len(set(ids)):
            raise Refused("InvalidPlacementGroupId.NotFound", f"The placement groups {', '.join(ids)} do not all exist")
    return {"PlacementGroups": matching(records, request, _PLACEMENT_FILTERS)}


def _launch_templates(world: World, request: Request, now: float) -> Answer:
    names, ids = request.get("LaunchTemplateNames"), request.get("LaunchTemplateIds")
    known = {
        name: record
        for name, record in sorted(world.launch_templates.items())
        if world.is_found(record["LaunchTemplateId"], now)
    }
    for name in names or ():
        if name not in known:
            raise Refused(
                "InvalidLaunchTemplateName.NotFoundException",
                f"At least one of the launch templates specified in the request does not exist: {name}",
            )
    if ids:
        by_id = {record["LaunchTemplateId"]: name for name, record in known.items()}
        for id_ in ids:
            if id_ not in by_id:
                raise Refused("InvalidLaunchTemplateId.NotFound", f"The launch template '{id_}' does not exist")
        names = [by_id[id_] for id_ in ids]
    described = [described_template(known[name]) for name in names or known]
    filters = {"launch-template-name": "LaunchTemplateName", "create-time": "CreateTime"}
    return page(matching(described, request, filters), request, "LaunchTemplates", most=200, size=world.page_size)


def described_template(record: Mapping[str, Any]) -> Answer:
    """A launch template as lists of them have it, without its data."""
    tags = [{"Key": key, "Value": value} for key, value in tags_of(record).items()]
    return {
        "LaunchTemplateId": record["LaunchTemplateId"],
        "LaunchTemplateName": record["LaunchTemplateName"],
        "CreateTime": record["CreateTime"],
        "CreatedBy": f"arn:aws:iam::{ACCOUNT}:root",
        "DefaultVersionNumber": 1,
        "LatestVersionNumber": 1,
        "Tags": tags,
    }


HANDLERS: Final[Mapping[str, Handler]] = {
    "DescribeInstanceTypes": _instance_types,
    "DescribeInstanceTypeOfferings": _offerings,
    "DescribeSpotPriceHistory": _spot_prices,
    "DescribeSubnets": _subnets,
    "DescribeSecurityGroups": _security_groups,
    "DescribeImages": _images,
    "DescribeCapacityReservations": _reservations,
    "DescribePlacementGroups": _placement_groups,
    "DescribeLaunchTemplates": _launch_templates,
}
