"""moto as a backend: a cluster's account is set up there over HTTP, and what fleets launched is found out again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from karpy.sim.region.troubles import TroubleKind
from karpy_aws.api import RegionalTransport, Request, Response, pages
from karpy_aws.testing.backends import Record
from karpy_aws.testing.cloud import Call, FakeAWS
from karpy_aws.testing.regions import CLUSTER, DISCOVERY, KUBERNETES, PROFILE, QUEUE, ROLE

__all__ = ["MotoBackend"]

_NOTHING: Final[Mapping[TroubleKind, float]] = {}
_LACKING: Final = frozenset(
    {
        "DescribeCapacityReservations",
        "DescribePlacementGroups",
        "DescribeSpotPriceHistory",
        "GetManagedResource",
        "GetProducts",
    }
)
"""moto has nothing of these, or of spot prices one for everything."""
_TRUST: Final = '{"Version": "2012-10-17", "Statement": []}'


class MotoBackend:
    """``transport`` leads to moto, and ``beside`` answers what moto cannot. Each call is noted before it is made."""

    def __init__(self, transport: RegionalTransport, beside: FakeAWS) -> None:
        self.region = transport.region
        self.calls: list[Call] = []
        self._transport = transport
        self._beside = beside
        self._templates: dict[str, tuple[str, str]] = {}
        """Id and version of each instance's launch template."""
        self._queue = ""

    def set_up(self) -> None:
        """Make what a cluster on EKS has before karpy comes: network, role, queue, control plane."""
        found = [
            *self._ids("DescribeSubnets", "Subnets", "SubnetId"),
            *self._ids("DescribeSecurityGroups", "SecurityGroups", "GroupId"),
        ]
        ask = self._transport.call
        ask("ec2", "CreateTags", {"Resources": found, "Tags": [*DISCOVERY]})
        ask("iam", "CreateRole", {"RoleName": ROLE, "AssumeRolePolicyDocument": _TRUST})
        ask("iam", "CreateInstanceProfile", {"InstanceProfileName": PROFILE})
        ask("iam", "AddRoleToInstanceProfile", {"InstanceProfileName": PROFILE, "RoleName": ROLE})
        self._queue = ask("sqs", "CreateQueue", {"QueueName": QUEUE})["QueueUrl"]
        ask(
            "eks",
            "CreateCluster",
            {
                "name": CLUSTER,
                "version": KUBERNETES,
                "roleArn": f"arn:aws:iam::123456789012:role/{ROLE}",
                "resourcesVpcConfig": {"subnetIds": [id_ for id_ in found if id_.startswith("subnet-")]},
            },
        )

    def _ids(self, operation: str, member: str, id_: str) -> list[str]:
        return [cast("str", record[id_]) for record in self._transport.call("ec2", operation, {})[member]]

    def call(self, service: str, operation: str, request: Request) -> Response:
        self.calls.append(Call(service, operation, request, 0.0))
        if operation == "ReceiveMessage":
            request = {**request, "WaitTimeSeconds": 0}  # the world's time stands still meanwhile
        answering = self._beside if operation in _LACKING else self._transport
        answer = answering.call(service, operation, request)
        if operation == "CreateFleet":
            for entry in answer.get("Instances") or ():
                named = entry["LaunchTemplateAndOverrides"]["LaunchTemplateSpecification"]
                for id_ in entry["InstanceIds"]:
                    self._templates[id_] = named["LaunchTemplateId"], str(named["Version"])
        return answer

    def instances(self) -> Iterable[Record]:
        def ask(request: Request) -> Response:
            return self._transport.call("ec2", "DescribeInstances", request)

        return [
            instance for page in pages(ask, {}) for found in page["Reservations"] for instance in found["Instances"]
        ]

    def user_data(self, instance: Record) -> str:
        """What is in its launch template: moto's instances do not tell."""
        named = self._templates.get(instance["InstanceId"])
        if named is None:
            return ""
        asked: dict[str, Any] = {"LaunchTemplateId": named[0], "Versions": [named[1]]}
        found = self._transport.call("ec2", "DescribeLaunchTemplateVersions", asked)["LaunchTemplateVersions"]
        return cast("str", found[0]["LaunchTemplateData"].get("UserData", ""))

    def troubles(self, instance: Record) -> Mapping[TroubleKind, float]:
        del instance
        return _NOTHING

    def terminate(self, id_: str) -> None:
        self._transport.call("ec2", "TerminateInstances", {"InstanceIds": [id_]})

    def stop(self, id_: str) -> None:
        self._transport.call("ec2", "StopInstances", {"InstanceIds": [id_]})

    def send(self, body: str) -> None:
        self._transport.call("sqs", "SendMessage", {"QueueUrl": self._queue, "MessageBody": body})
