from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy_aws.machines import Machine, instance_id, is_owned, missing_tags, provider_id, read_machine, zone_of

OWNED = {
    "karpenter.sh/nodepool": "default",
    "karpenter.k8s.aws/ec2nodeclass": "default",
    "eks:eks-cluster-name": "mine",
}


def described(**more: Any) -> dict[str, Any]:
    return {
        "InstanceId": "i-1",
        "InstanceType": "m5.large",
        "State": {"Name": "running"},
        "Placement": {"AvailabilityZone": "us-west-2a"},
        **more,
    }


def test_what_ec2_says_becomes_a_value() -> None:
    found = read_machine(
        described(
            ImageId="ami-1",
            Architecture="arm64",
            SubnetId="subnet-1",
            SecurityGroups=[{"GroupId": "sg-1", "GroupName": "nodes"}, {"GroupId": "sg-2"}],
            LaunchTime=dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC),
            Placement={
                "AvailabilityZone": "us-west-2a",
                "AvailabilityZoneId": "usw2-az2",
                "Tenancy": "dedicated",
                "GroupId": "pg-1",
                "PartitionNumber": 3,
            },
            Tags=[{"Key": key, "Value": value} for key, value in OWNED.items()] + [{"Key": "empty"}],
        )
    )
    assert found.provider_id == "aws:///us-west-2a/i-1"
    assert found.security_group_ids == {"sg-1", "sg-2"}
    assert found.tags["empty"] == ""
    instance = found.instance()
    assert (instance.image_id, instance.claim, instance.created) == ("ami-1", "", 1_767_603_600.0)
    assert instance.labels == {
        "node.kubernetes.io/instance-type": "m5.large",
        "topology.kubernetes.io/zone": "us-west-2a",
        "topology.k8s.aws/zone-id": "usw2-az2",
        "karpenter.sh/capacity-type": "on-demand",
        "kubernetes.io/arch": "arm64",
        "karpenter.sh/nodepool": "default",
        "karpenter.k8s.aws/ec2nodeclass": "default",
        "karpenter.k8s.aws/instance-tenancy": "dedicated",
        "karpenter.k8s.aws/placement-group-id": "pg-1",
        "karpenter.k8s.aws/placement-group-partition": "3",
    }


@pytest.mark.aws("AWS-250")
@pytest.mark.parametrize("mark", [{"SpotInstanceRequestId": "sir-1"}, {"InstanceLifecycle": "spot"}])
def test_either_mark_of_spot_will_do(mark: dict[str, str]) -> None:
    assert read_machine(described(**mark)).capacity_type == "spot"


RESERVED = {
    "CapacityReservationId": "cr-1",
    "CapacityReservationSpecification": {"CapacityReservationPreference": "capacity-reservations-only"},
}


@pytest.mark.aws("AWS-194")
def test_a_machine_is_reserved_if_it_asked_for_its_reservation_and_the_gate_is_on() -> None:
    asked = read_machine(described(**RESERVED))
    assert (asked.capacity_type, asked.reservation_id, asked.reservation_type) == ("reserved", "cr-1", "default")
    gate_off = read_machine(described(**RESERVED), reserved_capacity=False)
    assert (gate_off.capacity_type, gate_off.reservation_id) == ("on-demand", "")
    by_chance = read_machine(
        described(**RESERVED | {"CapacityReservationSpecification": {"CapacityReservationPreference": "open"}})
    )
    assert (by_chance.capacity_type, by_chance.reservation_id) == ("on-demand", "")
    block = read_machine(described(**RESERVED, InstanceLifecycle="capacity-block"))
    assert block.reservation_type == "capacity-block"


def test_a_machine_of_which_little_is_said_can_be_read() -> None:
    found = read_machine({"InstanceId": "i-1"})
    assert (found.state, found.zone, found.instance_type, found.launched, found.partition) == ("", "", "", 0.0, None)


def machine(state: str = "running", **tags: str) -> Machine:
    return Machine(id="i-1", state=state, zone="us-west-2a", instance_type="m5.large", tags=tags)


@pytest.mark.aws("AWS-195")
def test_a_machine_is_owned_by_its_tags() -> None:
    assert is_owned(machine(**OWNED), "mine")
    assert not is_owned(machine(**OWNED), "another")
    assert not is_owned(machine("terminated", **OWNED), "mine")
    for key in OWNED:
        assert not is_owned(machine(**{name: value for name, value in OWNED.items() if name != key}), "mine")
    old = {"karpenter.sh/provisioner-name": "default", "kubernetes.io/cluster/mine": "owned"}
    assert is_owned(machine(**old), "mine", legacy=True)
    assert not is_owned(machine(**old), "mine")


@pytest.mark.aws("AWS-232")
@pytest.mark.parametrize(
    ("there", "added"),
    [
        ({}, {"Name", "karpenter.sh/nodeclaim", "eks:eks-cluster-name"}),
        ({"Name": "my own"}, {"karpenter.sh/nodeclaim", "eks:eks-cluster-name"}),
        ({"karpenter.sh/nodeclaim": "claim"}, {"Name", "eks:eks-cluster-name"}),
        ({"eks:eks-cluster-name": "mine"}, {"Name", "karpenter.sh/nodeclaim"}),
        ({"Name": "", "karpenter.sh/nodeclaim": "claim", "eks:eks-cluster-name": "mine"}, set()),
    ],
)
def test_only_tags_that_are_missing_are_added(there: dict[str, str], added: set[str]) -> None:
    assert missing_tags(machine(**there), cluster="mine", claim="claim", node="node").keys() == added


def test_a_node_that_has_not_joined_gives_no_name() -> None:
    assert missing_tags(machine(), cluster="mine", claim="claim", node="").keys() == {
        "karpenter.sh/nodeclaim",
        "eks:eks-cluster-name",
    }


@pytest.mark.aws("AWS-232")
def test_provider_ids_are_taken_apart() -> None:
    id_ = provider_id("us-west-2a", "i-0123456789abcdef0")
    assert (zone_of(id_), instance_id(id_)) == ("us-west-2a", "i-0123456789abcdef0")
    for wrong in ("", "i-1", "azure:///a/i-1", "aws:///us-west-2a/vm-1", "aws:///us-west-2a/i-1/x"):
        with pytest.raises(
            InvalidObject, match=r"providerID: found .* \(accepted: aws:///us-west-2a/i-0123456789abcdef0"
        ):
            instance_id(wrong)


def test_a_machine_of_a_pool_that_names_no_claim_is_not_marked_yet() -> None:
    def seen(**tags: str) -> Machine:
        return read_machine(described(Tags=[{"Key": key, "Value": value} for key, value in tags.items()]))

    assert seen(**OWNED).instance().is_unmarked
    assert not seen(**OWNED, **{"karpenter.sh/nodeclaim": "default-1"}).instance().is_unmarked
    assert not seen(**{"karpenter.sh/provisioner-name": "default"}).instance().is_unmarked, "of Karpenter before claims"
