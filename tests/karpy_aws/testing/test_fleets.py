from __future__ import annotations

import base64

import pytest

from karpy.testing.clock import FakeClock
from karpy_aws.errors import AWSError
from karpy_aws.testing import FakeAWS, FleetScript
from tests.karpy_aws.testing.worlds import codes, fleet, launch_template, override, pools

A, B = "us-west-2a", "us-west-2b"


def test_machines_are_as_override_template_and_tags_say(fake: FakeAWS) -> None:
    fake.world.profiles["profile"] = {"InstanceProfileName": "profile"}
    launch_template(
        fake,
        IamInstanceProfile={"Name": "profile"},
        NetworkInterfaces=[{"DeviceIndex": 0, "Groups": ["sg-1"]}],
        UserData="aGk=",
        Placement={"Tenancy": "dedicated"},
    )
    answer = fake.apis.ec2.create_fleet(fleet(override(zone=B), tags=[("team", "a")]))
    [entry] = answer["Instances"]
    [found] = fake.apis.ec2.describe_instances({"InstanceIds": entry["InstanceIds"]})["Reservations"]
    machine = found["Instances"][0]
    assert machine["InstanceType"] == entry["InstanceType"] == "m5.large"
    assert machine["ImageId"] == "ami-x86_64"
    assert machine["SubnetId"] == "subnet-b"
    assert machine["Placement"]["AvailabilityZone"] == B
    assert machine["Placement"]["Tenancy"] == "dedicated"
    assert machine["SecurityGroups"] == [{"GroupId": "sg-1", "GroupName": "nodes"}]
    assert {"Key": "team", "Value": "a"} in machine["Tags"]
    assert fake.world.user_data[machine["InstanceId"]] == "aGk="
    assert fake.world.subnets["subnet-b"]["AvailableIpAddressCount"] == 99


@pytest.mark.parametrize(
    ("strategy", "chosen"),
    [("lowest-price", ("m5.large", A)), ("prioritized", ("m5.xlarge", B))],
)
def test_on_demand_goes_by_price_or_by_priority(fake: FakeAWS, strategy: str, chosen: tuple[str, str]) -> None:
    launch_template(fake)
    wanted = fleet(override("m5.xlarge", B, Priority=1.0), override("m5.large", A, Priority=2.0), strategy=strategy)
    assert pools(fake.apis.ec2.create_fleet(wanted)) == {chosen: 1}


@pytest.mark.parametrize(
    ("strategy", "chosen"),
    [
        ("lowest-price", ("m5.large", A)),
        ("price-capacity-optimized", ("m5.large", B)),
        ("capacity-optimized", ("m5.xlarge", A)),
        ("capacity-optimized-prioritized", ("m5.xlarge", A)),
    ],
)
def test_spot_weighs_price_against_what_is_left(fake: FakeAWS, strategy: str, chosen: tuple[str, str]) -> None:
    launch_template(fake)
    fake.world.stock = {("spot", "m5.large", A): 2, ("spot", "m5.large", B): 60, ("spot", "m5.xlarge", A): 100}
    wanted = [override("m5.large", A), override("m5.large", B), override("m5.xlarge", A)]
    answer = fake.apis.ec2.create_fleet(fleet(*wanted, capacity_type="spot", strategy=strategy))
    assert pools(answer) == {chosen: 1}
    [entry] = answer["Instances"]
    assert entry["Lifecycle"] == "spot"
    machine = fake.world.instances[entry["InstanceIds"][0]]
    assert machine["InstanceLifecycle"] == "spot"
    assert machine["SpotInstanceRequestId"].startswith("sir-")


def test_spot_follows_the_price_as_it_is_now(fake: FakeAWS, clock: FakeClock) -> None:
    launch_template(fake)
    fake.world.spot_prices["m5.large", A].append((clock.now() + 60, 0.09))
    wanted = fleet(override(zone=A), override(zone=B), capacity_type="spot", strategy="lowest-price")
    assert pools(fake.apis.ec2.create_fleet(wanted)) == {("m5.large", A): 1}
    clock.advance(60)
    assert pools(fake.apis.ec2.create_fleet(wanted)) == {("m5.large", B): 1}


def test_a_fleet_takes_what_there_is_and_says_what_it_did_not_get(fake: FakeAWS) -> None:
    launch_template(fake)
    fake.world.stock = {("on-demand", "m5.large", A): 2, ("on-demand", "m5.large", B): 1}
    answer = fake.apis.ec2.create_fleet(fleet(override(zone=A), override(zone=B), count=5))
    assert pools(answer) == {("m5.large", A): 2, ("m5.large", B): 1}
    assert codes(answer) == ["InsufficientInstanceCapacity"] * 2
    zones = [error["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"] for error in answer["Errors"]]
    assert zones == [A, B]


def test_pools_that_were_not_needed_have_no_errors(fake: FakeAWS) -> None:
    launch_template(fake)
    fake.world.stock = {("on-demand", "m5.xlarge", A): 0}
    answer = fake.apis.ec2.create_fleet(fleet(override(zone=A), override("m5.xlarge", A)))
    assert pools(answer) == {("m5.large", A): 1}
    assert codes(answer) == []


def test_a_pool_can_be_given_any_error(fake: FakeAWS) -> None:
    launch_template(fake)
    fake.world.pool_errors["on-demand", "m5.large", A] = ("UnfulfillableCapacity", "no")
    assert codes(fake.apis.ec2.create_fleet(fleet())) == ["UnfulfillableCapacity"]


@pytest.mark.parametrize(
    ("capacity_type", "code"), [("on-demand", "VcpuLimitExceeded"), ("spot", "MaxSpotInstanceCountExceeded")]
)
def test_an_account_has_quotas(fake: FakeAWS, capacity_type: str, code: str) -> None:
    launch_template(fake)
    fake.world.vcpu_limits = {capacity_type: 5}
    answer = fake.apis.ec2.create_fleet(fleet(count=3, capacity_type=capacity_type))
    assert pools(answer) == {("m5.large", A): 2}
    assert codes(answer) == [code]


def test_an_account_may_lack_the_role_for_spot(fake: FakeAWS) -> None:
    launch_template(fake)
    fake.world.has_spot_role = False
    answer = fake.apis.ec2.create_fleet(fleet(capacity_type="spot"))
    assert codes(answer) == ["AuthFailure.ServiceLinkedRoleCreationNotPermitted"]


def test_a_subnet_runs_out_of_addresses(fake: FakeAWS) -> None:
    launch_template(fake)
    fake.world.subnets["subnet-a"]["AvailableIpAddressCount"] = 1
    answer = fake.apis.ec2.create_fleet(fleet(count=2))
    assert codes(answer) == ["InsufficientFreeAddressesInSubnet"]
    assert "subnet-a" in answer["Errors"][0]["ErrorMessage"]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (override("m7g.large"), "InvalidParameterValue"),
        (override(image="ami-absent"), "InvalidAMIID.NotFound"),
        (override("z9.large"), "InvalidParameterValue"),
    ],
)
def test_what_does_not_go_together_is_refused(fake: FakeAWS, wanted: dict[str, object], code: str) -> None:
    launch_template(fake)
    assert codes(fake.apis.ec2.create_fleet(fleet(wanted))) == [code]


def test_a_type_that_a_zone_does_not_have_is_unsupported(fake: FakeAWS) -> None:
    launch_template(fake)
    fake.world.offerings["m5.large"] = [B]
    assert codes(fake.apis.ec2.create_fleet(fleet())) == ["Unsupported"]


def test_security_groups_of_another_network_are_refused(fake: FakeAWS) -> None:
    fake.world.load(security_groups=[{"GroupId": "sg-2", "GroupName": "far", "VpcId": "vpc-2"}])
    launch_template(fake, SecurityGroupIds=["sg-2"])
    answer = fake.apis.ec2.create_fleet(fleet())
    assert "belong to different networks" in answer["Errors"][0]["ErrorMessage"]


def test_profiles_and_user_data_are_looked_at_when_launching(fake: FakeAWS) -> None:
    launch_template(fake, "absent-profile", IamInstanceProfile={"Name": "absent"})
    launch_template(fake, "large", UserData=base64.b64encode(b"x" * 16_385).decode())
    for name, text in (("absent-profile", "Invalid IAM Instance Profile name"), ("large", "User data is limited to")):
        answer = fake.apis.ec2.create_fleet(fleet(template=name))
        assert text in answer["Errors"][0]["ErrorMessage"]
        with pytest.raises(AWSError, match=text):
            fake.apis.ec2.run_instances(
                {"LaunchTemplate": {"LaunchTemplateName": name}, "MinCount": 1, "MaxCount": 1, "DryRun": True}
            )


def test_a_missing_template_or_subnet_fails_the_whole_call(fake: FakeAWS) -> None:
    with pytest.raises(AWSError, match=r"InvalidLaunchTemplateName\.NotFoundException"):
        fake.apis.ec2.create_fleet(fleet())
    launch_template(fake)
    with pytest.raises(AWSError, match=r"InvalidSubnetID\.NotFound"):
        fake.apis.ec2.create_fleet(fleet(override(SubnetId="subnet-z")))


def reserving(fake: FakeAWS, preference: str, target: str = "") -> None:
    wanted: dict[str, object] = {"CapacityReservationPreference": preference}
    if target:
        wanted["CapacityReservationTarget"] = {"CapacityReservationId": target}
    launch_template(fake, CapacityReservationSpecification=wanted)


def reservation(count: int, criteria: str = "targeted") -> dict[str, object]:
    return {
        "CapacityReservationId": "cr-1",
        "InstanceType": "m5.large",
        "AvailabilityZone": A,
        "TotalInstanceCount": count,
        "AvailableInstanceCount": count,
        "State": "active",
        "InstanceMatchCriteria": criteria,
    }


@pytest.mark.aws("AWS-209")
def test_a_reservation_runs_down_and_fills_again(fake: FakeAWS) -> None:
    fake.world.load(reservations=[reservation(2)])
    reserving(fake, "capacity-reservations-only", "cr-1")
    answer = fake.apis.ec2.create_fleet(fleet(count=3))
    assert pools(answer) == {("m5.large", A): 2}
    assert codes(answer) == ["ReservationCapacityExceeded"]
    ended = answer["Instances"][0]["InstanceIds"][0]
    assert fake.world.instances[ended]["CapacityReservationId"] == "cr-1"
    fake.apis.ec2.terminate_instances({"InstanceIds": [ended]})
    [left] = fake.apis.ec2.describe_capacity_reservations({"CapacityReservationIds": ["cr-1"]})["CapacityReservations"]
    assert left["AvailableInstanceCount"] == 1


@pytest.mark.parametrize(("preference", "used"), [("open", 1), ("none", 0)])
def test_an_open_reservation_is_used_unless_the_template_says_no(fake: FakeAWS, preference: str, used: int) -> None:
    fake.world.load(reservations=[reservation(1, "open")])
    reserving(fake, preference)
    fake.apis.ec2.create_fleet(fleet())
    assert fake.world.reservations["cr-1"]["AvailableInstanceCount"] == 1 - used


def group(strategy: str, **more: object) -> dict[str, object]:
    return {"GroupId": "pg-1", "GroupName": "group", "State": "available", "Strategy": strategy, **more}


def test_a_spread_group_takes_seven_machines_a_zone(fake: FakeAWS) -> None:
    fake.world.load(placement_groups=[group("spread")])
    launch_template(fake, Placement={"GroupId": "pg-1"})
    answer = fake.apis.ec2.create_fleet(fleet(override(zone=A), override(zone=B), count=8))
    assert pools(answer) == {("m5.large", A): 7, ("m5.large", B): 1}
    assert "limit of instances in this spread placement group" in answer["Errors"][0]["ErrorMessage"]


def test_a_partition_is_the_one_asked_for_or_ec2s_choice(fake: FakeAWS) -> None:
    fake.world.load(placement_groups=[group("partition", PartitionCount=3)])
    launch_template(fake, "asked", Placement={"GroupId": "pg-1", "PartitionNumber": 2})
    launch_template(fake, "open", Placement={"GroupId": "pg-1"})
    placed = []
    for name in ("asked", "open"):
        answer = fake.apis.ec2.create_fleet(fleet(template=name))
        placed.append(fake.world.instances[answer["Instances"][0]["InstanceIds"][0]]["Placement"]["PartitionNumber"])
    assert placed[0] == 2
    assert placed[1] in (1, 2, 3)


def test_a_script_decides_instead_of_the_world(fake: FakeAWS) -> None:
    launch_template(fake)
    sold_out = {"code": "InsufficientInstanceCapacity", "message": "no", "instanceType": "m5.large"}
    scripts = [{"apiError": {"code": "InternalError", "fault": "server"}}, {"errors": [sold_out]}, {"launch": False}]
    fake.world.fleet_scripts.extend(FleetScript.from_dict(script) for script in scripts)
    wanted = fleet(override(Priority=1.0), override("m5.xlarge", Priority=2.0))
    with pytest.raises(AWSError, match="InternalError") as caught:
        fake.apis.ec2.create_fleet(wanted)
    assert caught.value.status == 500
    second = fake.apis.ec2.create_fleet(wanted)
    assert pools(second) == {("m5.xlarge", A): 1}
    assert codes(second) == ["InsufficientInstanceCapacity"]
    third = fake.apis.ec2.create_fleet(wanted)
    assert (pools(third), codes(third)) == ({}, [])
    assert pools(fake.apis.ec2.create_fleet(wanted)) == {("m5.large", A): 1}
