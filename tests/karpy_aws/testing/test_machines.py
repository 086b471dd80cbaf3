from __future__ import annotations

from typing import Any

import pytest

from karpy.testing.clock import FakeClock
from karpy_aws.errors import AWSError
from karpy_aws.testing import FakeAWS
from tests.karpy_aws.testing.worlds import fleet, launch_template


def launched(fake: FakeAWS, count: int = 1) -> list[str]:
    if not fake.world.launch_templates:
        launch_template(fake, NetworkInterfaces=[{"DeviceIndex": 0, "Groups": ["sg-1"]}])
    [entry] = fake.apis.ec2.create_fleet(fleet(count=count, tags=[("team", "a")]))["Instances"]
    return list(entry["InstanceIds"])


def machine(fake: FakeAWS, id_: str) -> dict[str, Any]:
    [found] = fake.apis.ec2.describe_instances({"InstanceIds": [id_]})["Reservations"]
    return dict(found["Instances"][0])


def test_a_machine_boots_runs_ends_and_is_forgotten(fake: FakeAWS, clock: FakeClock) -> None:
    fake.world.boot_s, fake.world.shutdown_s = 20, 30
    [id_] = launched(fake)
    assert machine(fake, id_)["State"] == {"Code": 0, "Name": "pending"}
    clock.advance(20)
    assert machine(fake, id_)["State"]["Name"] == "running"
    [change] = fake.apis.ec2.terminate_instances({"InstanceIds": [id_]})["TerminatingInstances"]
    assert (change["PreviousState"]["Name"], change["CurrentState"]["Name"]) == ("running", "shutting-down")
    clock.advance(30)
    ended = machine(fake, id_)
    assert ended["State"]["Name"] == "terminated"
    assert ended["SecurityGroups"] == []
    assert "SubnetId" not in ended  # EC2 forgets where a machine was
    clock.advance(3_600)
    with pytest.raises(AWSError, match=r"InvalidInstanceID\.NotFound"):
        machine(fake, id_)


def test_ending_a_machine_twice_gives_its_place_back_once(fake: FakeAWS) -> None:
    fake.world.stock["on-demand", "m5.large", "us-west-2a"] = 1
    [id_] = launched(fake)
    for _ in range(2):
        fake.apis.ec2.terminate_instances({"InstanceIds": [id_]})
    assert fake.world.stock["on-demand", "m5.large", "us-west-2a"] == 1
    assert fake.world.subnets["subnet-a"]["AvailableIpAddressCount"] == 100


def test_one_unknown_id_fails_the_whole_call(fake: FakeAWS) -> None:
    [id_] = launched(fake)
    for call in (fake.apis.ec2.describe_instances, fake.apis.ec2.terminate_instances):
        with pytest.raises(AWSError, match=r"InvalidInstanceID\.NotFound"):
            call({"InstanceIds": [id_, "i-0"]})
    assert machine(fake, id_)["State"]["Name"] == "running"


def test_machines_are_found_by_tag_and_state(fake: FakeAWS) -> None:
    first, second = launched(fake, 2)
    fake.apis.ec2.terminate_instances({"InstanceIds": [first]})
    filters = [
        {"Name": "tag:team", "Values": ["a"]},
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
    ]
    found = fake.apis.ec2.describe_instances({"Filters": filters, "MaxResults": 1_000})["Reservations"]
    assert [item["InstanceId"] for reservation in found for item in reservation["Instances"]] == [second]
    with pytest.raises(AWSError, match="maxResults"):
        fake.apis.ec2.describe_instances({"InstanceIds": [second], "MaxResults": 1_000})


def test_tags_are_added_and_replaced_up_to_fifty(fake: FakeAWS) -> None:
    [id_] = launched(fake)
    fake.apis.ec2.create_tags(
        {"Resources": [id_], "Tags": [{"Key": "team", "Value": "b"}, {"Key": "new", "Value": ""}]}
    )
    tags = {tag["Key"]: tag["Value"] for tag in machine(fake, id_)["Tags"]}
    assert (tags["team"], tags["new"]) == ("b", "")
    with pytest.raises(AWSError, match="TagLimitExceeded"):
        fake.apis.ec2.create_tags({"Resources": [id_], "Tags": [{"Key": f"k{n}", "Value": "v"} for n in range(50)]})


def test_the_status_of_running_machines_is_told_by_filter(fake: FakeAWS) -> None:
    well, ill, ended = launched(fake, 3)
    fake.apis.ec2.terminate_instances({"InstanceIds": [ended]})
    fake.world.statuses[ill] = {"InstanceStatus": {"Status": "impaired", "Details": []}}

    def found(*filters: tuple[str, str]) -> list[str]:
        asked = [{"Name": name, "Values": [value]} for name, value in filters]
        answer = fake.apis.ec2.describe_instance_status({"Filters": asked})
        return [status["InstanceId"] for status in answer["InstanceStatuses"]]

    assert found() == [well, ill]
    assert found(("instance-status.status", "impaired")) == [ill]
    assert found(("system-status.status", "impaired")) == []
    assert found(("event.code", "instance-stop")) == []
    fake.world.statuses[well] = {"Events": [{"Code": "instance-stop"}]}
    assert found(("event.code", "instance-stop")) == [well]


def test_machines_are_launched_by_fleets_only(fake: FakeAWS) -> None:
    with pytest.raises(AWSError, match="UnsupportedOperation"):
        fake.apis.ec2.run_instances({"MinCount": 1, "MaxCount": 1})
