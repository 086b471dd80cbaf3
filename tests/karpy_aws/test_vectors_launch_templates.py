"""The launch templates that Karpenter's own code asks EC2 for: how types are grouped, and all that the requests say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy_aws.launchtemplates import LaunchTemplate, launch_templates
from karpy_aws.testing.models import request_problems
from tests.karpy_aws.launchworld import Launch, capacity_type_of, content, decoded
from tests.karpy_aws.vectorworld import lines

DIFFERENCES = {
    "spec-metadata-empty": "EC2 refuses the hop limit 0, so that a member which is not set is not sent",
    "placement-partition-asked-name": "of partitions 3 and 10 the third is first; the text order of numbers means nothing",
    "placement-partition-asked-id": "the same",
}
Templates = Mapping[frozenset[str], Any]


def recorded(line: dict[str, Any], family: str) -> Templates:
    """What the fleet named: the types of each template, and what it says."""
    requests = {request["LaunchTemplateName"]: request for request in line["expect"]["launchTemplates"]}
    types: dict[str, set[str]] = defaultdict(set)
    for each in line["expect"]["fleets"][0]["LaunchTemplateConfigs"]:
        name = each["LaunchTemplateSpecification"]["LaunchTemplateName"]
        types[name].update(override["InstanceType"] for override in each["Overrides"])
    return {frozenset(of): content(family, requests[name]) for name, of in types.items()}


def made(
    launch: Launch, capacity_type: str, reserved: Mapping[str, str], names: frozenset[str]
) -> tuple[LaunchTemplate, ...]:
    """The templates for the types that the fleet named; of their reservations those that Karpenter chose."""
    types = [
        attrs.evolve(
            each, offerings=tuple(one for one in each.offerings if one.reservation_id == reserved.get(each.name))
        )
        if capacity_type == "reserved"
        else each
        for each in launch.types()
        if each.name in names
    ]
    return launch_templates(types, launch.settings(capacity_type), launch.kubelet_of)


def reservations(line: dict[str, Any]) -> dict[str, str]:
    """Type → the reservation that its template names."""
    ids = {
        request["LaunchTemplateName"]: specification["CapacityReservationTarget"]["CapacityReservationId"]
        for request in line["expect"]["launchTemplates"]
        if "CapacityReservationTarget"
        in (specification := request["LaunchTemplateData"].get("CapacityReservationSpecification", {}))
    }
    return {
        override["InstanceType"]: ids[name]
        for each in line["expect"]["fleets"][0]["LaunchTemplateConfigs"]
        if (name := each["LaunchTemplateSpecification"]["LaunchTemplateName"]) in ids
        for override in each["Overrides"]
    }


@pytest.mark.aws(
    "AWS-100", "AWS-102", "AWS-156", "AWS-158", "AWS-159", "AWS-160", "AWS-161", "AWS-162", "AWS-172", "AWS-173"
)
@pytest.mark.aws(
    "AWS-174", "AWS-175", "AWS-176", "AWS-177", "AWS-178", "AWS-179", "AWS-180", "AWS-181", "AWS-183", "AWS-187"
)
def test_launch_templates_are_as_karpenter_makes_them(shared: Path) -> None:
    unlike: dict[str, Any] = {}
    for line in lines(shared, "launches.jsonl"):
        if not line["expect"]["fleets"] or line["name"] in DIFFERENCES:
            continue
        launch = Launch.of(line, shared)
        if launch.tells_expressions:
            continue
        family, wanted, reserved = (
            launch.node_class.ami_family,
            recorded(line, launch.node_class.ami_family),
            reservations(line),
        )
        capacity_type = "reserved" if reserved else capacity_type_of(line)
        templates = made(launch, capacity_type, reserved, frozenset().union(*wanted))
        requests = [template.request for template in templates if template.request is not None]
        found = {
            frozenset(each.name for each in template.types): content(family, decoded(request))
            for template, request in zip(templates, requests, strict=True)
        }
        if found != wanted:
            unlike[line["name"]] = (found, wanted)
        assert [request_problems("ec2", "CreateLaunchTemplate", request) for request in requests] == [""] * len(
            requests
        )
    assert not unlike


@pytest.mark.aws("AWS-159")
def test_templates_that_no_fleet_named_are_among_those_of_all_types(shared: Path) -> None:
    """Karpenter makes templates for types that it then has no offering for; each is one that karpy would make for them."""
    missing: dict[str, Any] = {}
    for line in lines(shared, "launches.jsonl"):
        if not line["expect"]["fleets"] or line["name"] in DIFFERENCES or reservations(line):
            continue
        launch = Launch.of(line, shared)
        if launch.tells_expressions:
            continue
        family, types = launch.node_class.ami_family, tuple(launch.types())
        templates = launch_templates(types, launch.settings(capacity_type_of(line)), launch.kubelet_of)
        mine = [content(family, decoded(template.request)) for template in templates if template.request is not None]
        for request in line["expect"]["launchTemplates"]:
            if content(family, request) not in mine:
                missing[line["name"]] = request
    assert not missing
