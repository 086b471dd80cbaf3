"""What is told of a node class: everything that it refers to, or what is missing and why."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.cloud.provider import NodeClassStatus
from karpy.errors import NodeClassNotReady, ProviderError
from karpy_aws.testing import World
from tests.karpy_aws.providerworld import DISCOVERY, POOL, Setup, node_class

PROVISIONER = {
    "apiVersion": "karpenter.sh/v1alpha5",
    "kind": "Provisioner",
    "metadata": {"name": "default", "uid": "p-1"},
    "spec": {"provider": {"instanceProfile": "nodes", "subnetSelector": {"karpenter.sh/discovery": "mine"}}},
}
TEMPLATE = {
    "apiVersion": "karpenter.k8s.aws/v1alpha1",
    "kind": "AWSNodeTemplate",
    "metadata": {"name": "default", "uid": "t-1"},
    "spec": {
        "subnetSelector": {"karpenter.sh/discovery": "mine"},
        "securityGroupSelector": {"karpenter.sh/discovery": "mine"},
    },
}


def deny(world: World, *calls: str) -> None:
    world.denied.update(f"ec2:{call}" for call in calls)


def fail(world: World, *calls: str) -> None:
    for call in calls:
        world.fail(call, "InternalError", "try again", status=500, times=50)


def told(status: NodeClassStatus) -> tuple[str, str]:
    assert not status.ready
    return status.reason, status.message


@pytest.mark.aws("AWS-063", "AWS-064", "AWS-065")
def test_a_class_is_ready_when_all_that_it_refers_to_is_there() -> None:
    setup = Setup.of()
    setup.world.subnets["subnet-b"]["AvailableIpAddressCount"] = 200
    found = setup.provider.resolve(node_class())
    assert found.ready
    assert found.status["subnets"] == [
        {"id": "subnet-b", "zone": "us-west-2b", "zoneID": "usw2-az1"},
        {"id": "subnet-a", "zone": "us-west-2a", "zoneID": "usw2-az2"},
    ]
    assert found.status["securityGroups"] == [{"id": "sg-1", "name": "nodes"}]
    assert {ami["id"] for ami in found.status["amis"]} == {"ami-x86_64", "ami-arm64"}
    assert found.status["instanceProfile"] in setup.world.profiles
    assert "conditions" not in found.status


@pytest.mark.aws("AWS-063", "AWS-064", "AWS-065")
@pytest.mark.parametrize(
    ("spec", "reason", "field"),
    [
        ({"subnetSelectorTerms": [{"id": "subnet-0"}]}, "SubnetsNotFound", "subnets"),
        ({"securityGroupSelectorTerms": [{"name": "none"}]}, "SecurityGroupsNotFound", "securityGroups"),
        ({"amiSelectorTerms": [{"id": "ami-0"}], "amiFamily": "AL2023"}, "AMINotFound", "amis"),
        ({"amiSelectorTerms": [{"alias": "bottlerocket@latest"}]}, "AMINotFound", "amis"),
        ({"amiSelectorTerms": [{"alias": "al2@latest"}]}, "UnsupportedAlias", "amis"),
    ],
)
def test_what_is_not_there_is_named_and_leaves_the_status(spec: dict[str, Any], reason: str, field: str) -> None:
    setup = Setup.of()
    before = setup.provider.resolve(node_class()).status
    found = setup.provider.resolve(node_class(before, **spec))
    assert told(found)[0] == reason
    assert found.status[field] == []


def test_all_that_is_missing_is_told_at_once() -> None:
    missing = {"subnetSelectorTerms": [{"id": "subnet-0"}], "securityGroupSelectorTerms": [{"name": "none"}]}
    reason, message = told(Setup.of().provider.resolve(node_class(**missing)))
    assert reason == "SubnetsNotFound"
    assert message == (
        "SubnetsNotFound: SubnetSelector did not match any Subnets; "
        "SecurityGroupsNotFound: SecurityGroupSelector did not match any SecurityGroups"
    )


@pytest.mark.aws("AWS-063")
def test_a_change_of_the_selector_finds_something_else() -> None:
    setup = Setup.of()
    setup.resolved()
    found = setup.provider.resolve(node_class(subnetSelectorTerms=[{"tags": {"team": "b"}}]))
    assert [subnet["id"] for subnet in found.status["subnets"]] == ["subnet-b"]


READS = ("DescribeSubnets", "DescribeSecurityGroups", "DescribeImages")


@pytest.mark.parametrize("break_", [deny, fail], ids=["denied", "failing"])
def test_what_was_found_once_stays_while_ec2_does_not_answer(break_: Any) -> None:
    setup = Setup.of()
    before = setup.provider.resolve(node_class())
    setup.clock.advance(3600)
    break_(setup.world, *READS)
    assert setup.provider.resolve(node_class(before.status)) == before
    kept = [entry for entry in setup.logged if "what was known stays" in entry["event"]]
    assert {entry["error"].partition(" ")[0] for entry in kept} >= {"Subnets", "SecurityGroups", "AMIs"}


@pytest.mark.parametrize("break_", [deny, fail], ids=["denied", "failing"])
def test_what_the_object_says_stays_after_a_restart_while_ec2_does_not_answer(break_: Any) -> None:
    setup = Setup.of()
    before = setup.provider.resolve(node_class())
    break_(setup.world, *READS)
    again = Setup.on(setup.fake, setup.clock, disable_dry_run=True)
    assert again.provider.resolve(node_class(before.status)) == before


def test_a_missing_permission_is_told_with_the_call_and_what_the_role_needs() -> None:
    setup = Setup.of()
    deny(setup.world, "DescribeSubnets")
    reason, message = told(setup.provider.resolve(node_class()))
    assert reason == "SubnetsResolutionFailed"
    assert message.startswith("ec2:DescribeSubnets of tag:karpenter.sh/discovery=mine: UnauthorizedOperation")
    assert "the controller's role needs ec2:DescribeSubnets" in message


def test_nothing_is_said_of_a_new_class_while_ec2_fails() -> None:
    setup = Setup.of()
    fail(setup.world, "DescribeSubnets")
    with pytest.raises(ProviderError, match="ec2:DescribeSubnets") as raised:
        setup.provider.resolve(node_class())
    assert raised.value.retryable


def test_a_class_that_cannot_be_read_is_told_with_the_field() -> None:
    reason, message = told(Setup.of().provider.resolve(node_class(role=None)))
    assert reason == "ValidationFailed"
    assert message.startswith("EC2NodeClass/default: spec")


# Capacity reservations and placement groups


def reservation(id_: str, **fields: Any) -> dict[str, Any]:
    usual = {"InstanceType": "m5.large", "AvailabilityZone": "us-west-2a", "State": "active", "OwnerId": "111122223333"}
    counts = {"AvailableInstanceCount": 2, "TotalInstanceCount": 2, "InstanceMatchCriteria": "targeted"}
    return {"CapacityReservationId": id_, **usual, **counts, "Tags": [DISCOVERY], **fields}


@pytest.mark.aws("AWS-067")
def test_reservations_are_found_and_their_machines_counted() -> None:
    setup = Setup.of()
    setup.world.load(reservations=[reservation("cr-1"), reservation("cr-2", Tags=[]), reservation("cr-3", Tags=[])])
    terms = [{"tags": {"karpenter.sh/discovery": "mine"}}, {"id": "cr-2"}, {"id": "cr-9"}]
    raw = setup.resolved(capacityReservationSelectorTerms=terms)
    assert [(each["id"], each.get("state", "active")) for each in raw["status"]["capacityReservations"]] == [
        ("cr-1", "active"),
        ("cr-2", "active"),
    ]
    types = setup.provider.instance_types(POOL, raw)
    reserved = [each for each in types.by_name("m5.large").offerings if each.reservation_id]
    assert [(each.reservation_id, each.reservation_capacity, each.available) for each in reserved] == [
        ("cr-1", 2, True),
        ("cr-2", 2, True),
    ]


@pytest.mark.aws("AWS-068")
def test_a_capacity_block_expires_forty_minutes_before_its_end() -> None:
    setup = Setup.of()
    setup.world.load(
        reservations=[
            reservation("cr-1", ReservationType="capacity-block", EndDate="2026-01-05T10:00:00Z"),
            reservation("cr-2", EndDate="2026-01-05T10:00:00Z"),
        ]
    )
    wanted = {"capacityReservationSelectorTerms": [{"tags": {"karpenter.sh/discovery": "*"}}]}

    def states() -> list[tuple[str, str]]:
        found = setup.provider.resolve(node_class(**wanted)).status["capacityReservations"]
        return [(each["id"], each.get("state", "active")) for each in found]

    assert states() == [("cr-1", "active"), ("cr-2", "active")]
    setup.clock.advance(20 * 60)
    assert states() == [("cr-1", "expiring"), ("cr-2", "active")]
    setup.clock.advance(40 * 60)
    assert states() == []


@pytest.mark.aws("AWS-069")
def test_without_the_gate_no_reservation_is_looked_for() -> None:
    setup = Setup.of(reserved_capacity=False)
    setup.world.load(reservations=[reservation("cr-1")])
    raw = setup.resolved(capacityReservationSelectorTerms=[{"id": "cr-1"}])
    assert raw["status"]["capacityReservations"] == []
    assert not setup.fake.requests("DescribeCapacityReservations")


GROUP = {"GroupId": "pg-1", "GroupName": "close", "Strategy": "cluster", "State": "available"}


@pytest.mark.aws("AWS-070")
@pytest.mark.parametrize("selector", [{"name": "close"}, {"id": "pg-1"}])
def test_a_placement_group_is_found_by_name_or_id_and_is_in_no_status(selector: dict[str, str]) -> None:
    setup = Setup.of()
    setup.world.load(placement_groups=[GROUP])
    raw = setup.resolved(placementGroupSelector=selector)
    assert "placementGroup" not in raw["status"]
    instance = setup.launch(raw)
    assert instance.labels["karpenter.k8s.aws/placement-group-id"] == "pg-1"


@pytest.mark.aws("AWS-070")
def test_a_group_that_is_not_there_or_not_available_keeps_the_class_from_being_ready() -> None:
    setup = Setup.of()
    setup.world.load(placement_groups=[{**GROUP, "State": "deleting"}])
    for selector in ({"name": "none"}, {"id": "pg-0"}, {"name": "close"}):
        assert told(setup.provider.resolve(node_class(placementGroupSelector=selector)))[0] == "PlacementGroupNotFound"


@pytest.mark.aws("AWS-070")
def test_a_group_stays_known_while_ec2_fails_and_goes_with_its_selector() -> None:
    setup = Setup.of()
    setup.world.load(placement_groups=[GROUP])
    raw = setup.resolved(placementGroupSelector={"name": "close"})
    setup.clock.advance(3600)
    fail(setup.world, "DescribePlacementGroups")
    assert setup.provider.resolve(raw).ready
    assert "karpenter.k8s.aws/placement-group-id" in setup.launch(raw).labels
    without = setup.resolved()
    assert "karpenter.k8s.aws/placement-group-id" not in setup.launch(without, "claim-2").labels


# Instance profiles


@pytest.mark.aws("AWS-074")
def test_a_class_that_names_its_profile_needs_no_iam() -> None:
    setup = Setup.of()
    setup.world.knows_every_profile = True
    raw = setup.resolved(role=None, instanceProfile="theirs")
    assert raw["status"]["instanceProfile"] == "theirs"
    assert not [call for call in setup.fake.calls if call.service == "iam"]


@pytest.mark.aws("AWS-071", "AWS-076")
def test_a_role_that_is_missing_is_told() -> None:
    setup = Setup.of()
    reason, message = told(setup.provider.resolve(node_class(role="nobody")))
    assert reason == "InstanceProfileResolutionFailed"
    assert "iam:AddRoleToInstanceProfile" in message
    assert "nobody" in message


def test_iam_that_fails_harms_no_class_whose_profile_is_known() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    setup.world.fail("GetInstanceProfile", "ServiceFailure", "no", status=500, times=9)
    again = Setup.on(setup.fake, setup.clock)
    assert again.provider.resolve(raw).ready
    changed = node_class(raw["status"], role="other")
    with pytest.raises(ProviderError, match="iam:GetInstanceProfile"):
        again.provider.resolve(changed)


def test_from_an_isolated_vpc_iam_is_not_asked() -> None:
    setup = Setup.of(isolated_vpc=True)
    assert told(setup.provider.resolve(node_class()))[0] == "InstanceProfileNotFound"
    assert not [call for call in setup.fake.calls if call.service in ("iam", "pricing")]


# Older generations


def test_a_provisioner_is_looked_up_though_it_has_no_status() -> None:
    setup = Setup.of()
    setup.world.knows_every_profile = True
    setup.world.security_groups["sg-1"]["Tags"].append({"Key": "kubernetes.io/cluster/mine", "Value": "owned"})
    base = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2/recommended/image_id"
    setup.world.parameters[base] = "ami-x86_64"
    setup.world.clusters["mine"]["version"] = "1.24"
    setup.world.parameters[base.replace("1.34", "1.24")] = "ami-x86_64"
    found = setup.provider.resolve(PROVISIONER)
    assert found == NodeClassStatus(True)
    launched = setup.launch(PROVISIONER, types="m5.large")
    assert setup.world.instances[launched.provider_id.rpartition("/")[2]]["SecurityGroups"][0]["GroupId"] == "sg-1"


def test_a_template_without_a_profile_gets_the_default_one_or_says_so() -> None:
    setup = Setup.of()
    setup.world.clusters["mine"]["version"] = "1.24"
    path = "/aws/service/eks/optimized-ami/1.24/amazon-linux-2/recommended/image_id"
    setup.world.parameters[path] = "ami-x86_64"
    setup.world.knows_every_profile = True
    assert told(setup.provider.resolve(TEMPLATE))[0] == "InstanceProfileNotFound"
    other = Setup.on(setup.fake, setup.clock, default_instance_profile="nodes")
    assert other.provider.resolve(TEMPLATE).status["instanceProfile"] == "nodes"


# Before a class was looked up


def test_types_of_a_class_that_nobody_looked_up_yet_are_found_by_looking() -> None:
    setup = Setup.of()
    assert len(setup.provider.instance_types(POOL, node_class())) == 3


def test_types_of_a_class_that_refers_to_nothing_are_none_and_why() -> None:
    with pytest.raises(NodeClassNotReady, match="SubnetSelector did not match"):
        Setup.of().provider.instance_types(POOL, node_class(subnetSelectorTerms=[{"id": "subnet-0"}]))
