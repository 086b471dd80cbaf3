from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy.cloud.instancetype import InstanceType, Offering
from karpy.requirements import Requirements
from karpy.resources import Resources
from karpy_aws import labels
from karpy_aws.launched import claim_annotations, instance_of
from karpy_aws.machines import Machine
from karpy_aws.objects import NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.hashing import static_hash
from karpy_aws.objects.status import NodeClassStatusFields
from tests.karpy_aws.sold import built, described

A = "us-west-2a"
TYPE = built(described())
EFA = "vpc.amazonaws.com/efa"


def machine(**fields: Any) -> Machine:
    usual: dict[str, Any] = {
        "id": "i-1",
        "state": "pending",
        "zone": A,
        "zone_id": "usw2-az1",
        "instance_type": "m5.large",
    }
    return Machine(**usual | fields)


@pytest.mark.aws("AWS-199")
def test_a_machine_has_the_labels_of_its_type_and_place_and_what_it_holds() -> None:
    instance = instance_of(machine(image_id="ami-1", launched_for="web-1"), [TYPE], {"key": "value"})
    assert instance.provider_id == f"aws:///{A}/i-1"
    assert (instance.claim, instance.image_id, instance.annotations) == ("web-1", "ami-1", {"key": "value"})
    assert instance.labels[labels.INSTANCE_CPU] == "2"
    assert instance.labels[labels.ZONE_ID] == "usw2-az1"
    assert instance.labels[labels.INSTANCE_TENANCY] == "default"
    assert (instance.capacity, instance.allocatable) == (TYPE.capacity, TYPE.allocatable)


def test_a_machine_of_a_type_that_is_not_sold_any_more_is_one_all_the_same() -> None:
    instance = instance_of(machine(), [], {})
    assert instance.labels["node.kubernetes.io/instance-type"] == "m5.large"
    assert instance.capacity == Resources()


@pytest.mark.aws("AWS-209")
def test_a_machine_bears_the_labels_of_a_reservation_only_if_it_runs_in_one() -> None:
    where = {
        "topology.kubernetes.io/zone": A,
        labels.CAPACITY_RESERVATION_ID: "cr-1",
        labels.CAPACITY_RESERVATION_TYPE: "default",
        labels.CAPACITY_RESERVATION_INTERRUPTIBLE: "true",
    }
    requirements = Requirements.from_labels(where)
    offering = Offering(A, "reserved", 0.1, requirements=requirements, reservation_id="cr-1")
    type_ = attrs.evolve(TYPE, requirements=TYPE.requirements & requirements, offerings=(*TYPE.offerings, offering))
    found = instance_of(
        machine(capacity_type="reserved", reservation_id="cr-1", reservation_type="default"), [type_], {}
    )
    assert {key: value for key, value in found.labels.items() if key in where} == where
    other = instance_of(machine(capacity_type="spot"), [type_], {})
    assert other.labels.keys() & where.keys() == {"topology.kubernetes.io/zone"}


def test_a_machine_holds_what_its_offering_gives() -> None:
    bigger = Offering(A, "spot", 0.1, capacity_override=Resources({"cpu": 9_000}))
    type_ = InstanceType("m5.large", Requirements(), (Offering(A, "on-demand", 0.2), bigger), Resources({"cpu": 2_000}))
    assert instance_of(machine(capacity_type="spot"), [type_], {}).capacity == Resources({"cpu": 9_000})
    assert instance_of(machine(), [type_], {}).capacity == Resources({"cpu": 2_000})


@pytest.mark.aws("AWS-193")
def test_a_machine_without_efa_interfaces_has_no_efa_devices() -> None:
    type_ = InstanceType("m5.large", Requirements(), (), Resources({"cpu": 2_000, EFA: 4}))
    assert instance_of(machine(), [type_], {}).capacity == Resources({"cpu": 2_000, EFA: 4})
    assert EFA not in instance_of(machine(), [type_], {}, has_efa=False).capacity
    assert EFA not in instance_of(machine(), [type_], {}, has_efa=False).allocatable


@pytest.mark.aws("AWS-199")
def test_a_claim_is_marked_with_the_class_as_it_was() -> None:
    node_class = NodeClass(name="web", origin=EC2_NODE_CLASS)
    marks = {
        "karpenter.k8s.aws/ec2nodeclass-hash": static_hash(node_class, "Y2E="),
        "karpenter.k8s.aws/ec2nodeclass-hash-version": "v6",
    }
    assert claim_annotations(node_class, "Y2E=") == marks
    made = attrs.evolve(node_class, status=NodeClassStatusFields(instance_profile="shop-1"))
    assert claim_annotations(made, "Y2E=") == marks | {"karpenter.k8s.aws/instance-profile-name": "shop-1"}
