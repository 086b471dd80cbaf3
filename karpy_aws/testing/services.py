"""The services beside EC2: parameters, instance profiles, queues, prices, the cluster, and zonal shift."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from karpy_aws.testing.describing import Answer, Handler, Request
from karpy_aws.testing.paging import page
from karpy_aws.testing.refusals import Refused
from karpy_aws.testing.world import ACCOUNT, World, time_of

__all__ = ["HANDLERS"]

_VISIBILITY_S: Final = 30
_MOST_MESSAGES: Final = 10


def _parameter(world: World, request: Request, now: float) -> Answer:
    del now
    name = request["Name"]
    if name not in world.parameters:
        raise Refused("ParameterNotFound")
    return {"Parameter": {"Name": name, "Type": "String", "Value": world.parameters[name], "Version": 1}}


def _no_entity(kind: str, name: str) -> Refused:
    return Refused("NoSuchEntity", f"{kind} {name} cannot be found.", 404)


def _profile(world: World, request: Request) -> dict[str, Any]:
    name = request["InstanceProfileName"]
    if name not in world.profiles:
        raise _no_entity("Instance Profile", name)
    return world.profiles[name]


def _get_profile(world: World, request: Request, now: float) -> Answer:
    del now
    return {"InstanceProfile": _profile(world, request)}


def _list_profiles(world: World, request: Request, now: float) -> Answer:
    """Without tags, which IAM leaves out of lists."""
    del now
    found = [
        {member: value for member, value in profile.items() if member != "Tags"}
        for _, profile in sorted(world.profiles.items())
        if profile["Path"].startswith(request.get("PathPrefix", "/"))
    ]
    start = int(request.get("Marker") or 0)
    end = start + min(request.get("MaxItems", 100), world.page_size or 100)
    answer: Answer = {"InstanceProfiles": found[start:end], "IsTruncated": end < len(found)}
    return {**answer, "Marker": str(end)} if end < len(found) else answer


def _create_profile(world: World, request: Request, now: float) -> Answer:
    name, path = request["InstanceProfileName"], request.get("Path", "/")
    if name in world.profiles:
        raise Refused("EntityAlreadyExists", f"Instance Profile {name} already exists.", 409)
    world.profiles[name] = {
        "InstanceProfileName": name,
        "InstanceProfileId": world.new_id("AIPA").replace("-", "").upper(),
        "Arn": f"arn:aws:iam::{ACCOUNT}:instance-profile{path}{name}",
        "Path": path,
        "CreateDate": time_of(now),
        "Roles": [],
        "Tags": list(request.get("Tags") or ()),
    }
    return {"InstanceProfile": world.profiles[name]}


def _delete_profile(world: World, request: Request, now: float) -> Answer:
    del now
    if _profile(world, request)["Roles"]:
        raise Refused("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.", 409)
    del world.profiles[request["InstanceProfileName"]]
    return {}


def _tag_profile(world: World, request: Request, now: float) -> Answer:
    del now
    profile = _profile(world, request)
    new = {tag["Key"]: tag for tag in request["Tags"]}
    profile["Tags"] = [*(tag for tag in profile["Tags"] if tag["Key"] not in new), *new.values()]
    return {}


def _add_role(world: World, request: Request, now: float) -> Answer:
    profile, role = _profile(world, request), request["RoleName"]
    if world.roles is not None and role not in world.roles:
        raise _no_entity("The role with name", role)
    if profile["Roles"]:
        raise Refused("LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1", 409)
    profile["Roles"] = [
        {
            "RoleName": role,
            "RoleId": world.new_id("AROA").replace("-", "").upper(),
            "Arn": f"arn:aws:iam::{ACCOUNT}:role/{role}",
            "Path": "/",
            "CreateDate": time_of(now),
        }
    ]
    return {}


def _remove_role(world: World, request: Request, now: float) -> Answer:
    del now
    profile, role = _profile(world, request), request["RoleName"]
    if all(found["RoleName"] != role for found in profile["Roles"]):
        raise _no_entity("The role with name", role)
    profile["Roles"] = []
    return {}


def _queue_url(world: World, request: Request, now: float) -> Answer:
    del now
    name = request["QueueName"]
    if name not in world.queues:
        raise Refused("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
    return {"QueueUrl": f"https://sqs.{world.region}.amazonaws.com/{ACCOUNT}/{name}"}


def _queue(world: World, request: Request) -> list[dict[str, Any]]:
    name = request["QueueUrl"].rpartition("/")[2]
    _queue_url(world, {"QueueName": name}, 0)
    return world.queues[name]


def _receive(world: World, request: Request, now: float) -> Answer:
    """What is there at once: nobody waits in a world whose time stands still meanwhile."""
    most = request.get("MaxNumberOfMessages", 1)
    if not 1 <= most <= _MOST_MESSAGES:
        raise Refused("InvalidParameterValue", f"MaxNumberOfMessages must be from 1 to {_MOST_MESSAGES}, not {most}")
    found = [message for message in _queue(world, request) if message["visible"] <= now][:most]
    asked = {*(request.get("AttributeNames") or ()), *(request.get("MessageSystemAttributeNames") or ())}
    messages = []
    for message in found:
        message["visible"] = now + request.get("VisibilityTimeout", _VISIBILITY_S)
        message["receipts"] = [*message.get("receipts", ()), world.new_id("receipt")]
        told = {"MessageId": message["MessageId"], "ReceiptHandle": message["receipts"][-1]}
        if message.get("Body") is not None:
            told["Body"] = message["Body"]
        if asked & {"SentTimestamp", "All"}:
            told["Attributes"] = {"SentTimestamp": str(int(message["sent"] * 1_000))}
        messages.append(told)
    return {"Messages": messages} if messages else {}


def _delete_message(world: World, request: Request, now: float) -> Answer:
    del now
    queue = _queue(world, request)
    left = [message for message in queue if request["ReceiptHandle"] not in message.get("receipts", ())]
    queue[:] = left
    return {}


def _products(world: World, request: Request, now: float) -> Answer:
    """Metal is sold as dedicated machines of a product family of its own."""
    del now
    wanted = {item["Field"]: item["Value"] for item in request.get("Filters") or ()}
    found = [
        json.dumps(product, sort_keys=True)
        for product in _all_products(world)
        if wanted.items()
        <= (product["product"]["attributes"] | {"productFamily": product["product"]["productFamily"]}).items()
    ]
    answer = page(found, {"MaxResults": 100, **request}, "PriceList", most=100, size=world.page_size)
    return {"FormatVersion": "aws_v1", **answer}


def _all_products(world: World) -> Iterator[dict[str, Any]]:
    currency = "CNY" if world.region.startswith("cn-") else "USD"
    for name, price in sorted(world.on_demand_prices.items()):
        is_metal = world.instance_types.get(name, {}).get("BareMetal", False)
        for system, factor in (("Linux", 1.0), ("Windows", 2.0)):
            for tenancy in ("Dedicated",) if is_metal else ("Shared", "Dedicated"):
                yield {
                    "product": {
                        "productFamily": "Compute Instance (bare metal)" if is_metal else "Compute Instance",
                        "attributes": {
                            "instanceType": name,
                            "regionCode": world.region,
                            "servicecode": "AmazonEC2",
                            "serviceCode": "AmazonEC2",
                            "preInstalledSw": "NA",
                            "operatingSystem": system,
                            "capacitystatus": "Used",
                            "marketoption": "OnDemand",
                            "tenancy": tenancy,
                        },
                    },
                    "terms": {
                        "OnDemand": {
                            "T": {"priceDimensions": {"D": {"pricePerUnit": {currency: f"{price * factor:.10f}"}}}}
                        }
                    },
                }


def _cluster(world: World, request: Request, now: float) -> Answer:
    del now
    name = request["name"]
    if name not in world.clusters:
        raise Refused("ResourceNotFoundException", f"No cluster found for name: {name}.", 404)
    return {"cluster": {"name": name, "status": "ACTIVE", **world.clusters[name]}}


def _managed_resource(world: World, request: Request, now: float) -> Answer:
    del now
    arn = request["resourceIdentifier"]
    if arn not in world.managed_resources:
        raise Refused("ResourceNotFoundException", f"The resource {arn} is not managed by ARC", 404)
    return {"appliedWeights": {}, "zonalShifts": [], "autoshifts": [], "arn": arn, **world.managed_resources[arn]}


HANDLERS: Final[Mapping[str, Mapping[str, Handler]]] = {
    "ssm": {"GetParameter": _parameter},
    "iam": {
        "GetInstanceProfile": _get_profile,
        "ListInstanceProfiles": _list_profiles,
        "CreateInstanceProfile": _create_profile,
        "DeleteInstanceProfile": _delete_profile,
        "TagInstanceProfile": _tag_profile,
        "AddRoleToInstanceProfile": _add_role,
        "RemoveRoleFromInstanceProfile": _remove_role,
    },
    "sqs": {"GetQueueUrl": _queue_url, "ReceiveMessage": _receive, "DeleteMessage": _delete_message},
    "pricing": {"GetProducts": _products},
    "eks": {"DescribeCluster": _cluster},
    "arc-zonal-shift": {"GetManagedResource": _managed_resource},
}
