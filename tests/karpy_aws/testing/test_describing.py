from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from karpy.clock import parse_time
from karpy.testing.clock import FakeClock
from karpy_aws.errors import AWSError
from karpy_aws.testing import ACCOUNT, FakeAWS, World
from tests.karpy_aws.testing.worlds import launch_template
from tests.vectors import read

A, B = "us-west-2a", "us-west-2b"


def subnets(fake: FakeAWS, *filters: tuple[str, Sequence[str]]) -> list[str]:
    asked = [{"Name": name, "Values": list(values)} for name, values in filters]
    return [found["SubnetId"] for found in fake.apis.ec2.describe_subnets({"Filters": asked})["Subnets"]]


def test_values_are_alternatives_and_filters_all_hold(fake: FakeAWS) -> None:
    assert subnets(fake, ("tag:team", ["a", "b"])) == ["subnet-a", "subnet-b"]
    assert subnets(fake, ("tag:team", ["a", "b"]), ("availability-zone", [B])) == ["subnet-b"]
    assert subnets(fake, ("tag-key", ["team"]), ("subnet-id", ["subnet-?"])) == ["subnet-a", "subnet-b"]
    assert subnets(fake, ("tag:team", ["*c*"])) == []
    assert subnets(fake, ("tag:other", ["*"])) == []


def test_an_id_that_nothing_has_fails_the_call(fake: FakeAWS) -> None:
    with pytest.raises(AWSError, match=r"InvalidSubnetID\.NotFound.*'subnet-z'"):
        fake.apis.ec2.describe_subnets({"SubnetIds": ["subnet-a", "subnet-z"]})


def test_types_are_filtered_by_architecture_and_virtualization(fake: FakeAWS) -> None:
    asked = [
        {"Name": "processor-info.supported-architecture", "Values": ["arm64"]},
        {"Name": "supported-virtualization-type", "Values": ["hvm"]},
    ]
    found = fake.apis.ec2.describe_instance_types({"Filters": asked})["InstanceTypes"]
    assert [item["InstanceType"] for item in found] == ["m7g.large"]
    with pytest.raises(AWSError, match="InvalidInstanceType"):
        fake.apis.ec2.describe_instance_types({"InstanceTypes": ["z9.large"]})


def test_offerings_are_told_by_zone_zone_id_or_region(fake: FakeAWS) -> None:
    def places(kind: str) -> set[str]:
        answer = fake.apis.ec2.describe_instance_type_offerings({"LocationType": kind})
        return {found["Location"] for found in answer["InstanceTypeOfferings"]}

    assert places("availability-zone") == {A, B}
    assert places("availability-zone-id") == {"usw2-az1", "usw2-az2"}
    assert places("region") == {"us-west-2"}


def prices(fake: FakeAWS, **asked: Any) -> list[tuple[str, str, float]]:
    answer = fake.apis.ec2.describe_spot_price_history({"InstanceTypes": ["m5.large"], **asked})
    assert answer["NextToken"] == ""
    return [
        (found["AvailabilityZone"], found["InstanceType"], float(found["SpotPrice"]))
        for found in answer["SpotPriceHistory"]
    ]


def test_the_history_of_spot_prices_begins_with_what_held_then(fake: FakeAWS, clock: FakeClock) -> None:
    fake.world.spot_prices["m5.large", A].append((clock.now() + 60, 0.05))
    clock.advance(90)
    assert prices(fake) == [(A, "m5.large", 0.05), (A, "m5.large", 0.032), (B, "m5.large", 0.032)]
    now = dt.datetime.fromtimestamp(clock.now(), dt.UTC)
    assert prices(fake, StartTime=now) == [(A, "m5.large", 0.05), (B, "m5.large", 0.032)]
    assert prices(fake, ProductDescriptions=["Windows"]) == []


def test_images_are_found_by_owner_and_deprecated_ones_on_demand(fake: FakeAWS) -> None:
    fake.world.load(
        images=[
            {"ImageId": "ami-mine", "Name": "mine", "Architecture": "x86_64", "State": "available", "OwnerId": ACCOUNT},
            {"ImageId": "ami-old", "Name": "old", "Architecture": "x86_64", "State": "available", "OwnerId": ACCOUNT}
            | {"DeprecationTime": "2020-01-01T00:00:00.000Z"},
        ]
    )

    def found(**asked: Any) -> set[str]:
        return {image["ImageId"] for image in fake.apis.ec2.describe_images(asked)["Images"]}

    assert found(Owners=["self"]) == {"ami-mine"}
    assert found(Owners=["self"], IncludeDeprecated=True) == {"ami-mine", "ami-old"}
    assert found(Owners=["602401143452"]) == {"ami-x86_64", "ami-arm64"}
    assert found(Filters=[{"Name": "name", "Values": ["m*"]}]) == {"ami-mine"}


def test_a_reservation_ends_at_its_time(fake: FakeAWS, clock: FakeClock) -> None:
    end = dt.datetime.fromtimestamp(clock.now() + 60, dt.UTC)
    fake.world.load(reservations=[{"CapacityReservationId": "cr-1", "State": "active", "EndDate": end}])
    active = {"Filters": [{"Name": "state", "Values": ["active"]}]}
    assert len(fake.apis.ec2.describe_capacity_reservations(active)["CapacityReservations"]) == 1
    clock.advance(60)
    assert fake.apis.ec2.describe_capacity_reservations(active)["CapacityReservations"] == []
    with pytest.raises(AWSError, match="maxResults cannot be used"):
        fake.apis.ec2.describe_capacity_reservations({"CapacityReservationIds": ["cr-1"], "MaxResults": 10})


def test_placement_groups_are_found_by_name_or_id(fake: FakeAWS) -> None:
    fake.world.load(
        placement_groups=[{"GroupId": "pg-1", "GroupName": "g", "State": "available", "Strategy": "cluster"}]
    )
    assert fake.apis.ec2.describe_placement_groups({"GroupNames": ["g"]}) == fake.apis.ec2.describe_placement_groups(
        {"GroupIds": ["pg-1"]}
    )
    with pytest.raises(AWSError, match=r"InvalidPlacementGroup\.Unknown"):
        fake.apis.ec2.describe_placement_groups({"GroupNames": ["absent"]})
    with pytest.raises(AWSError, match=r"InvalidPlacementGroupId\.NotFound"):
        fake.apis.ec2.describe_placement_groups({"GroupIds": ["pg-9"]})


def test_launch_templates_are_made_once_and_deleted_by_name_or_id(fake: FakeAWS) -> None:
    ec2 = fake.apis.ec2
    tags = [{"ResourceType": "launch-template", "Tags": [{"Key": "team", "Value": "a"}]}]
    made = ec2.create_launch_template(
        {"LaunchTemplateName": "one/1", "LaunchTemplateData": {}, "TagSpecifications": tags}
    )["LaunchTemplate"]
    launch_template(fake, "two/2")
    found = ec2.describe_launch_templates({"Filters": [{"Name": "tag:team", "Values": ["a"]}]})["LaunchTemplates"]
    assert [template["LaunchTemplateId"] for template in found] == [made["LaunchTemplateId"]]
    with pytest.raises(AWSError, match=r"InvalidLaunchTemplateName\.AlreadyExistsException"):
        launch_template(fake, "one/1")
    ec2.delete_launch_template({"LaunchTemplateId": made["LaunchTemplateId"]})
    ec2.delete_launch_template({"LaunchTemplateName": "two/2"})
    assert ec2.describe_launch_templates({}) == {"LaunchTemplates": []}
    with pytest.raises(AWSError, match=r"InvalidLaunchTemplateId\.NotFound"):
        ec2.delete_launch_template({"LaunchTemplateId": made["LaunchTemplateId"]})
    with pytest.raises(AWSError, match=r"InvalidLaunchTemplateName\.NotFoundException"):
        ec2.describe_launch_templates({"LaunchTemplateNames": ["two/2"]})


@pytest.mark.parametrize("name", ["launches", "launch_errors", "offerings", "drift", "instance_types", "amis"])
def test_recorded_worlds_are_answered_in_the_shapes_of_aws(shared: Path, name: str) -> None:
    """Whatever is recorded there is told as AWS would tell it."""
    [catalog] = read(shared, "aws/catalog.json")
    now = parse_time("2026-08-21T12:00:00Z")
    for line in read(shared, f"aws/{name}.jsonl"):
        fake = FakeAWS(World.recorded(line["world"], catalog, now), clock=FakeClock(now), check_answers=True)
        ec2 = fake.apis.ec2
        assert len(ec2.describe_instance_types({})["InstanceTypes"]) == len(set(line["world"]["instanceTypes"]))
        assert len(ec2.describe_subnets({})["Subnets"]) == len(line["world"].get("subnets") or ())
        assert len(ec2.describe_images({"IncludeDeprecated": True})["Images"]) == len(line["world"].get("images") or ())
        ec2.describe_capacity_reservations({})
        ec2.describe_placement_groups({})
        ec2.describe_instances({})
