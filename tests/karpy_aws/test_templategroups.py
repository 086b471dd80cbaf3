from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from karpy.cloud.instancetype import InstanceType, Offering
from karpy.errors import CreateFailed
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy_aws import labels
from karpy_aws.capacity import EFA
from karpy_aws.objects.status import AMI
from karpy_aws.templategroups import Reservation, group_types

AMD64 = AMI(id="ami-1", requirements=Requirements([Requirement.in_("kubernetes.io/arch", "amd64")]))
ARM64 = AMI(id="ami-2", requirements=Requirements([Requirement.in_("kubernetes.io/arch", "arm64")]))


def machine(name: str, arch: str = "amd64", *offerings: Offering, pods: int = 29, efa: int = 0) -> InstanceType:
    capacity = Resources({"pods": pods, EFA: efa})
    return InstanceType(name, Requirements([Requirement.in_("kubernetes.io/arch", arch)]), offerings, capacity)


def kubelet(instance_type: InstanceType) -> Mapping[str, Any]:
    return {"maxPods": instance_type.capacity["pods"]}


def names(*types: InstanceType, images: tuple[AMI, ...] = (AMD64, ARM64), **options: Any) -> list[list[str]]:
    groups = group_types(types, images, **{"kubelet_of": kubelet, "requests": Resources(), **options})
    return [[each.name for each in group.types] for group in groups]


@pytest.mark.aws("AWS-156", "AWS-159")
def test_types_that_start_alike_share_a_template() -> None:
    assert names(machine("a"), machine("b"), machine("c", pods=58)) == [["a", "b"], ["c"]]
    assert names(machine("a"), machine("b", "arm64")) == [["a"], ["b"]]


@pytest.mark.aws("AWS-168")
def test_what_the_kubelet_is_told_tells_types_apart() -> None:
    def reserved(instance_type: InstanceType) -> Mapping[str, Any]:
        return {"kubeReserved": {"cpu": "100m" if instance_type.name == "a" else "200m"}}

    assert names(machine("a"), machine("b"), machine("c"), kubelet_of=reserved) == [["a"], ["b", "c"]]


def test_efa_devices_matter_where_pods_ask_for_them() -> None:
    types = (machine("a", efa=1), machine("b", efa=4))
    assert names(*types) == [["a", "b"]]
    assert names(*types, requests=Resources({EFA: 1})) == [["a"], ["b"]]


def test_types_that_no_image_is_for_are_left_out() -> None:
    assert names(machine("a"), machine("b", "arm64"), images=(AMD64,)) == [["a"]]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ((), "the status of the node class names no image"),
        (
            (ARM64,),
            r"none of the class's images is for any of the 2 instance types of this launch: ami-2 \(kubernetes\.io/arch",
        ),
    ],
)
def test_a_launch_that_no_image_is_for_fails(images: tuple[AMI, ...], message: str) -> None:
    with pytest.raises(CreateFailed, match=message):
        names(machine("a"), machine("b"), images=images)


def reserved_offering(
    id_: str, *, available: bool = True, kind: str = "default", interruptible: bool = False
) -> Offering:
    requirements = Requirements(
        [
            Requirement.in_(labels.CAPACITY_RESERVATION_TYPE, kind),
            Requirement.in_(labels.CAPACITY_RESERVATION_INTERRUPTIBLE, str(interruptible).lower()),
        ]
    )
    return Offering("us-west-2a", "reserved", 0.1, available, requirements, reservation_id=id_, reservation_capacity=1)


@pytest.mark.aws("AWS-159")
def test_each_reservation_has_its_template() -> None:
    one, gone = reserved_offering("cr-1"), reserved_offering("cr-2", available=False)
    block = reserved_offering("cr-3", kind="capacity-block", interruptible=True)
    types = (machine("a", "amd64", one, gone, Offering("us-west-2a", "spot", 0.1)), machine("b", "amd64", one, block))
    groups = group_types(types, (AMD64,), kubelet_of=kubelet, requests=Resources(), reserved=True)
    assert [([each.name for each in group.types], group.reservation) for group in groups] == [
        (["a", "b"], Reservation("cr-1")),
        (["b"], Reservation("cr-3", "capacity-block", True)),
    ]
    assert names(*types) == [["a", "b"]]
