from __future__ import annotations

from typing import Any

import pytest

from karpy.cloud.instancetype import InstanceType
from karpy.objects.meta import ObjectMeta
from karpy.objects.nodeclaim import NodeClaim
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy_aws import labels
from karpy_aws.choice import Choice, choose
from karpy_aws.fleet import Pool, asked_for, fleet_request, launched_machine, pools
from karpy_aws.launchtemplates import LaunchTemplate
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects import NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.status import AMI, CapacityReservation, NodeClassStatusFields, PlacementGroup
from karpy_aws.offerings import Conditions
from karpy_aws.templategroups import Reservation, TemplateGroup
from karpy_aws.testing.models import request_problems
from tests.karpy_aws.sold import SUBNETS, ZONES, built, described

A, B, C = ZONES
BY_ZONE = {subnet.zone: subnet for subnet in SUBNETS}
CLASS = NodeClass(name="web", origin=EC2_NODE_CLASS)


def only(capacity_type: str) -> Requirements:
    return Requirements([Requirement.in_("karpenter.sh/capacity-type", capacity_type)])


def template(*types: InstanceType, name: str = "template-1", reservation: str = "") -> LaunchTemplate:
    bound = Reservation(reservation) if reservation else None
    group = TemplateGroup(image=AMI(id="ami-1"), types=types, kubelet={}, reservation=bound)
    return LaunchTemplate(name=name, types=types, group=group)


def choice(*types: InstanceType, wanted: Requirements | None = None) -> Choice:
    return choose(types, only("on-demand") if wanted is None else wanted, Resources())


def claim(**annotations: str) -> NodeClaim:
    marks = {f"karpenter.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return NodeClaim(name="web-1", metadata=ObjectMeta(name="web-1", annotations=marks))


def reserved(
    kind: str = "default", *, interruptible: bool = False, group: PlacementGroup | None = None
) -> InstanceType:
    """A type with two reservations in one zone."""
    reservations = tuple(
        CapacityReservation(id_, "m5.large", A, "1", "targeted", reservation_type=kind, interruptible=interruptible)
        for id_ in ("cr-1", "cr-2")
    )
    counts = Conditions(reserved={"cr-1": 3, "cr-2": 5})
    return built(
        described(), NodeSetup(subnets=SUBNETS, reservations=reservations, placement_group=group), conditions=counts
    )


def request_for(*types: InstanceType, wanted: Requirements | None = None, **options: Any) -> dict[str, Any]:
    chosen = choice(*types, wanted=wanted)
    found = pools([template(*chosen.types)], chosen, BY_ZONE)
    request = fleet_request(found, chosen, options.get("of", CLASS), options.get("claim", claim()), {"team": "a"})
    assert request_problems("ec2", "CreateFleet", request) == ""
    return request


# Pools


def test_every_type_in_every_zone_with_a_subnet_is_a_pool() -> None:
    types = [built(described(name)) for name in ("m5.large", "c5.large")]
    chosen = choice(*types)
    found = pools([template(types[0]), template(types[1], name="template-2")], chosen, {A: BY_ZONE[A], C: BY_ZONE[C]})
    assert [(pool.template.name, pool.instance_type.name, pool.offering.zone) for pool in found] == [
        *(("template-1", "m5.large", zone) for zone in (A, C)),
        *(("template-2", "c5.large", zone) for zone in (A, C)),
    ]


def test_a_pool_says_its_zone_though_its_subnet_is_in_it() -> None:
    chosen = choice(built(described()))
    assert pools([template(*chosen.types)], chosen, BY_ZONE)[0].override() == {
        "InstanceType": "m5.large",
        "SubnetId": "subnet-a",
        "ImageId": "ami-1",
        "AvailabilityZone": A,
        "Priority": 0.1,
    }


def test_a_template_of_the_users_own_names_the_image_itself() -> None:
    chosen = choice(built(described()))
    own = LaunchTemplate(name="mine", types=chosen.types)
    assert "ImageId" not in pools([own], chosen, BY_ZONE)[0].override()


def test_the_partitions_of_a_group_are_one_pool() -> None:
    near = PlacementGroup("pg-1", "near", "partition", partition_count=3)
    chosen = choice(built(described(), NodeSetup(subnets=SUBNETS, placement_group=near)))
    assert len(pools([template(*chosen.types)], chosen, BY_ZONE)) == len(ZONES)


@pytest.mark.aws("AWS-159")
def test_a_template_that_is_bound_to_a_reservation_has_its_pool_alone() -> None:
    type_ = reserved()
    chosen = Choice(types=(type_,), wanted=only("reserved"), capacity_type="reserved", tenancy="default")
    found = pools([template(type_, reservation="cr-2")], chosen, BY_ZONE)
    assert [pool.offering.reservation_id for pool in found] == ["cr-2"]


# The request


def test_a_fleet_asks_for_one_machine_at_once() -> None:
    request = request_for(built(described()))
    assert request["Type"] == "instant"
    assert request["TargetCapacitySpecification"]["TotalTargetCapacity"] == 1
    [config] = request["LaunchTemplateConfigs"]
    assert config["LaunchTemplateSpecification"] == {"LaunchTemplateName": "template-1", "Version": "$Latest"}
    assert [override["AvailabilityZone"] for override in config["Overrides"]] == list(ZONES)


@pytest.mark.aws("AWS-192")
@pytest.mark.parametrize(
    ("kind", "overlaid", "options"),
    [
        ("on-demand", "", {"OnDemandOptions": {"AllocationStrategy": "lowest-price"}}),
        ("on-demand", "true", {"OnDemandOptions": {"AllocationStrategy": "prioritized"}}),
        ("spot", "false", {"SpotOptions": {"AllocationStrategy": "price-capacity-optimized"}}),
        ("spot", "true", {"SpotOptions": {"AllocationStrategy": "capacity-optimized-prioritized"}}),
    ],
)
def test_ec2_chooses_by_price_and_by_karpys_own_order_where_prices_are_overlaid(
    kind: str, overlaid: str, options: dict[str, Any]
) -> None:
    request = request_for(built(described()), wanted=only(kind), claim=claim(price_overlay_applied=overlaid))
    assert request["TargetCapacitySpecification"]["DefaultTargetCapacityType"] == kind
    assert {name: value for name, value in request.items() if name.endswith("Options")} == options


@pytest.mark.aws("AWS-209")
@pytest.mark.parametrize(
    ("type_", "target", "options"),
    [
        (reserved(), "on-demand", {"OnDemandOptions": {"AllocationStrategy": "lowest-price"}}),
        (reserved("capacity-block"), "capacity-block", {}),
        (
            reserved(interruptible=True),
            "reserved-capacity",
            {"ReservedCapacityOptions": {"ReservationTypes": ["interruptible-capacity-reservation"]}},
        ),
    ],
)
def test_each_kind_of_reservation_is_asked_for_in_its_own_way(
    type_: InstanceType, target: str, options: dict[str, Any]
) -> None:
    request = request_for(type_, wanted=only("reserved"))
    assert request["TargetCapacitySpecification"]["DefaultTargetCapacityType"] == target
    assert {name: value for name, value in request.items() if name.endswith("Options")} == options


@pytest.mark.aws("AWS-196")
def test_the_context_is_told_unless_the_claim_had_to_make_do_with_less() -> None:
    type_, of = built(described()), NodeClass(name="web", origin=EC2_NODE_CLASS, context="c-1")
    assert "Context" not in request_for(type_)
    assert request_for(type_, of=of)["Context"] == "c-1"
    assert request_for(type_, of=of, claim=claim(nodeclaim_min_values_relaxed="false"))["Context"] == "c-1"
    assert "Context" not in request_for(type_, of=of, claim=claim(nodeclaim_min_values_relaxed="true"))


# The reply


def told(**override: str) -> dict[str, Any]:
    launched = {
        "InstanceType": "m5.large",
        "InstanceIds": ["i-1"],
        "LaunchTemplateAndOverrides": {"Overrides": override},
    }
    return {"Instances": [launched]}


def ground(*zones: str) -> tuple[Pool, ...]:
    chosen = choice(built(described()), built(described("c5.large")))
    return pools([template(*chosen.types)], chosen, {zone: BY_ZONE[zone] for zone in zones})


@pytest.mark.parametrize(
    "override", [{"SubnetId": "subnet-b", "AvailabilityZone": B}, {"SubnetId": "subnet-b"}, {"AvailabilityZone": B}]
)
def test_a_machine_is_of_the_pool_whose_subnet_or_zone_it_is_in(override: dict[str, str]) -> None:
    launched = launched_machine(told(**override), ground(*ZONES))
    assert launched is not None
    assert launched[0] == "i-1"
    assert launched[1] is not None
    assert (launched[1].instance_type.name, launched[1].offering.zone) == ("m5.large", B)


def test_a_machine_that_could_be_of_several_pools_is_of_none_for_sure() -> None:
    assert launched_machine(told(), ground(*ZONES)) == ("i-1", None)
    assert launched_machine(told(SubnetId="subnet-z"), ground(A)) == ("i-1", None)
    launched = launched_machine(told(), ground(A))
    assert launched is not None
    assert launched[1] is not None


@pytest.mark.parametrize("answer", [{}, {"Instances": []}, {"Instances": [{"InstanceIds": []}]}])
def test_a_reply_without_a_machine_is_none(answer: dict[str, Any]) -> None:
    assert launched_machine(answer, ground(A)) is None


@pytest.mark.aws("AWS-147", "AWS-209")
def test_errors_are_about_what_was_asked_for() -> None:
    group = PlacementGroup("pg-1", "near", "partition", partition_count=3)
    wanted = only("reserved") & Requirements([Requirement.in_(labels.PLACEMENT_GROUP_PARTITION, "2")])
    chosen = choice(reserved(group=group), wanted=wanted)
    found = pools([template(*chosen.types)], chosen, BY_ZONE)
    status = NodeClassStatusFields(placement_group=group)
    asked = asked_for(found, chosen, NodeClass(name="web", origin=EC2_NODE_CLASS, status=status))
    assert asked.reservations == {("m5.large", A): "cr-2"}
    assert (asked.capacity_type, asked.group, asked.partition) == ("reserved", "pg-1", 2)
    assert (asked_for(found, chosen, CLASS).group, asked_for(found, chosen, CLASS).partition) == ("", 0)
