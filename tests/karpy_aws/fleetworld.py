"""A recorded launch played against the cloud in memory, and what is compared of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from karpy.cloud.provider import Instance
from karpy.errors import KarpyError
from karpy.objects.meta import Condition
from karpy.objects.nodeclaim import NodeClaim
from karpy.testing.clock import FakeClock
from karpy_aws import labels
from karpy_aws.fleeterrors import FleetError
from karpy_aws.instances import Instances
from karpy_aws.launching import Launcher, LaunchNotes, Machinery
from karpy_aws.machines import NODE_CLAIM_TAG
from karpy_aws.objects import NodeClass
from karpy_aws.offerings import Conditions
from karpy_aws.reservations import ReservationCounts
from karpy_aws.subnets import SubnetAddresses
from karpy_aws.templatecache import LaunchTemplateCache
from karpy_aws.testing import FakeAWS, World
from karpy_aws.unavailable import UnavailableOfferings
from tests.karpy_aws.launchworld import Launch, without_empty
from tests.karpy_aws.vectorworld import NOW, catalog, instance_types, shortages

ELSEWHERE = (labels.INSTANCE_NETWORK_BANDWIDTH, labels.INSTANCE_PODS, labels.NODE_CLASS)
"""Labels that come from a table of Karpenter's own, that only earlier releases put on nodes, and that the core puts on claims."""


@attrs.define
class Played:
    """A launch and what it left behind."""

    launch: Launch
    fake: FakeAWS
    unavailable: UnavailableOfferings
    reservations: ReservationCounts
    addresses: SubnetAddresses
    instance: Instance | None = None
    error: KarpyError | None = None
    failures: list[tuple[str, FleetError]] = attrs.field(factory=list)
    warnings: list[str] = attrs.field(factory=list)

    def offerings(self, now: Conditions | None = None) -> set[str]:
        """What can be had, as the vectors write it; ``now``: as it is after the launch."""
        launch = self.launch
        return {
            "/".join(
                (
                    each.name,
                    offering.zone,
                    offering.capacity_type,
                    *([offering.reservation_id] if offering.reservation_id else ()),
                    *([f"partition {partition.single()}"] if partition is not None else ()),
                )
            )
            for each in instance_types(launch.shared, launch.world, launch.setup, now)
            for offering in each.offerings
            for partition in [offering.requirements.get(labels.PLACEMENT_GROUP_PARTITION)]
            if offering.available
        }

    def became_unavailable(self) -> set[str]:
        shifted = frozenset(self.launch.world.get("shiftedZones") or ())
        now = Conditions(shortages=self.unavailable.at(NOW), shifted_zones=shifted, reserved=self.reservations.at(NOW))
        return self.offerings() - self.offerings(now)


def play(line: Mapping[str, Any], shared: Path) -> Played:
    """Have the launch of a vector happen."""
    launch = Launch.of(line, shared)
    clock = FakeClock(NOW)
    fake = FakeAWS(World.recorded(line["world"], catalog(shared), NOW), clock=clock, check_answers=True)
    ec2 = fake.apis.ec2
    counts = ReservationCounts()
    counts.synced(line["world"].get("reservationCounts") or {}, NOW)
    addresses = SubnetAddresses()
    addresses.synced({each["SubnetId"]: each["AvailableIpAddressCount"] for each in line["world"]["subnets"]})
    played = Played(launch, fake, shortages(line["world"]), counts, addresses)
    launcher = Launcher(
        Machinery(
            ec2=ec2,
            clock=clock,
            templates=LaunchTemplateCache(ec2, clock, cluster=launch.cluster.name),
            instances=Instances(ec2, launch.cluster.name, clock=clock),
            addresses=addresses,
            unavailable=played.unavailable,
            reservations=counts,
        ),
        region=launch.options.get("region", "us-west-2"),
        sells_reserved=launch.options.get("reservedCapacity", True),
        strict_min_values=launch.options.get("minValuesPolicy", "Strict") == "Strict",
        notes=LaunchNotes(
            failed=lambda kind, error: played.failures.append((kind, error)),
            warned=lambda _claim, text: played.warnings.append(text),
        ),
    )
    node_class = with_readiness(launch.node_class, line.get("ready", ""))
    try:
        played.instance = launcher.create(
            launch.claim, node_class, launch.types(), cluster=launch.cluster, kubelet_of=launch.kubelet_of
        )
    except KarpyError as error:
        played.error = error
    return played


def with_readiness(node_class: NodeClass, ready: str) -> NodeClass:
    """The class with the condition that a vector asks for."""
    if not ready:
        return node_class
    stale = ready == "StaleGeneration"
    condition = Condition("Ready", "True" if stale else ready, observed_generation=-1 if stale else None)
    return attrs.evolve(node_class, status=attrs.evolve(node_class.status, conditions=(condition,)))


def fleet(request: Mapping[str, Any]) -> Any:
    """A request of CreateFleet by its meaning: templates without their names, and all in order.

    Karpenter names one template several times where groups turn out to be the same.
    """
    by_name: dict[str, list[Any]] = {}
    for config in request["LaunchTemplateConfigs"]:
        specification = config["LaunchTemplateSpecification"]
        key = f"{specification['LaunchTemplateName']}@{specification['Version']}"
        by_name.setdefault(key, []).extend(config["Overrides"])
    templates = [
        [key.rpartition("@")[2], sorted(overrides, key=lambda each: (each["InstanceType"], each["AvailabilityZone"]))]
        for key, overrides in by_name.items()
    ]
    return without_empty(
        {**request, "LaunchTemplateConfigs": sorted(templates, key=lambda each: json.dumps(each, sort_keys=True))}
    )


def without_claim(request: Mapping[str, Any], claim: NodeClaim) -> dict[str, Any]:
    """The request without the tag that karpy adds, which must be there."""
    kept = []
    for specification in request["TagSpecifications"]:
        tags = {tag["Key"]: tag["Value"] for tag in specification["Tags"]}
        assert tags.pop(NODE_CLAIM_TAG, "") == (claim.name if specification["ResourceType"] == "instance" else "")
        kept.append({**specification, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]})
    return {**request, "TagSpecifications": kept}
