from __future__ import annotations

from collections.abc import Iterable

import pytest

from karpy.cloud.instancetype import InstanceType, Offering
from karpy.requirements import Requirements
from karpy.resources import Resources
from karpy_aws.objects.status import Subnet
from karpy_aws.subnets import Held, SubnetAddresses, addresses_wanted, by_zone

A, B = "us-west-2a", "us-west-2b"
ONE, TWO, FAR = Subnet("subnet-1", A), Subnet("subnet-2", A), Subnet("subnet-3", B)
ALL = (ONE, TWO, FAR)


def ids(subnets: Iterable[Subnet]) -> list[str]:
    return [each.id for each in subnets]


@pytest.mark.aws("AWS-207")
def test_in_each_zone_the_subnet_with_most_addresses_is_taken() -> None:
    assert by_zone(ALL, {"subnet-1": 5, "subnet-2": 9, "subnet-3": 1}) == {A: TWO, B: FAR}
    assert by_zone(ALL, {}) == {A: ONE, B: FAR}
    assert by_zone((), {"subnet-1": 5}) == {}


@pytest.mark.aws("AWS-207")
def test_a_subnet_that_was_refused_is_taken_only_where_there_is_no_other() -> None:
    free = {"subnet-1": 5, "subnet-2": 9, "subnet-3": 1}
    assert by_zone(ALL, free, {"subnet-2", "subnet-3"}) == {A: ONE, B: FAR}


@pytest.mark.aws("AWS-207")
def test_a_machine_takes_as_many_addresses_as_the_least_type_of_its_zone() -> None:
    def machine(pods: int, *offerings: Offering) -> InstanceType:
        return InstanceType(f"type-{pods}", Requirements(), offerings, Resources({"pods": pods}))

    spot = Requirements.from_labels({"karpenter.sh/capacity-type": "spot"})
    types = [
        machine(10, Offering(A, "on-demand", 1.0)),
        machine(20, Offering(A, "spot", 1.0), Offering(B, "spot", 1.0, available=False)),
        machine(30, Offering(A, "spot", 1.0), Offering(B, "spot", 1.0)),
    ]
    assert addresses_wanted(types, spot) == {A: 20, B: 30}


class Vpc:
    def __init__(self) -> None:
        self.addresses = SubnetAddresses()
        self.addresses.synced({"subnet-1": 100, "subnet-2": 90, "subnet-3": 50})

    def launch(self, wanted: int = 30) -> Held:
        return self.addresses.hold(ALL, {A: wanted, B: wanted})


@pytest.fixture
def vpc() -> Vpc:
    return Vpc()


@pytest.mark.aws("AWS-207")
def test_launches_under_way_are_spread_over_the_subnets_of_a_zone(vpc: Vpc) -> None:
    assert [vpc.launch().subnets[A].id for _ in range(4)] == ["subnet-1", "subnet-2", "subnet-1", "subnet-2"]


@pytest.mark.aws("AWS-207")
def test_what_a_launch_did_not_use_is_free_again(vpc: Vpc) -> None:
    held = vpc.launch()
    assert vpc.addresses.free() == {"subnet-1": 70, "subnet-2": 90, "subnet-3": 20}
    vpc.addresses.settle(held, {"subnet-1"})
    assert vpc.addresses.free() == {"subnet-1": 70, "subnet-2": 90, "subnet-3": 50}


@pytest.mark.aws("AWS-207")
def test_after_an_error_all_is_free_again(vpc: Vpc) -> None:
    vpc.addresses.settle(vpc.launch())
    assert vpc.addresses.free() == {"subnet-1": 100, "subnet-2": 90, "subnet-3": 50}


@pytest.mark.aws("AWS-207")
def test_what_ec2_said_meanwhile_stands(vpc: Vpc) -> None:
    held = vpc.launch()
    vpc.addresses.synced({"subnet-1": 99})
    vpc.addresses.exhausted("subnet-3")
    vpc.addresses.settle(held)
    assert vpc.addresses.free() == {"subnet-1": 99, "subnet-2": 90, "subnet-3": 0}


def test_a_zone_that_nothing_is_wanted_in_loses_nothing(vpc: Vpc) -> None:
    held = vpc.addresses.hold(ALL, {A: 10})
    assert ids(held.subnets.values()) == ["subnet-1", "subnet-3"]
    assert vpc.addresses.free()["subnet-3"] == 50


def test_a_subnet_that_nothing_is_known_of_is_used_all_the_same() -> None:
    addresses = SubnetAddresses()
    held = addresses.hold((ONE,), {A: 5})
    assert held.subnets == {A: ONE}
    addresses.settle(held)
    assert addresses.free() == {"subnet-1": 0}
