from __future__ import annotations

import pytest

from karpy import labels
from karpy.cloud.instancetype import InstanceType
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirement, Requirements
from karpy.sim.generic import FAMILY, NODE_CLASS, GenericModel, price_of

MODEL = GenericModel()


def test_there_are_a_few_dozen_types_of_unique_names() -> None:
    types = MODEL.instance_types()
    assert len(types) == len({each.name for each in types}) == 42
    assert MODEL.instance_types() is types


@pytest.mark.parametrize("instance_type", MODEL.instance_types(), ids=lambda each: each.name)
def test_every_type_defines_every_key_and_sells_in_every_zone_both_ways(instance_type: InstanceType) -> None:
    keys = MODEL.labels.well_known | labels.CORE_LABELS.well_known - {labels.NODEPOOL}
    assert keys <= set(instance_type.requirements)
    assert len(instance_type.offerings) == 6
    assert all(amount > 0 for amount in instance_type.allocatable.values())


def test_spot_costs_less_and_memory_little() -> None:
    assert price_of(1, 0, labels.ON_DEMAND) == 0.025
    assert price_of(10, 100, labels.SPOT) == pytest.approx(0.7 * 0.35)


def test_a_pool_that_says_nothing_gets_linux_amd64_on_demand() -> None:
    added = MODEL.default_requirements(NodePool(name="p"))
    assert added.labels() == {labels.OS: "linux", labels.ARCH: "amd64", labels.CAPACITY_TYPE: "on-demand"}


def test_a_pool_that_says_something_is_left_alone_there() -> None:
    said = Requirements((Requirement.in_(labels.CAPACITY_TYPE, "spot"),))
    added = MODEL.default_requirements(NodePool(name="p", requirements=said))
    assert labels.CAPACITY_TYPE not in added


def test_its_definition_defines_its_node_class() -> None:
    (crd,) = MODEL.crds()
    names = crd["spec"]["names"]
    assert (crd["spec"]["group"], names["kind"], names["plural"]) == (
        NODE_CLASS.group,
        NODE_CLASS.kind,
        NODE_CLASS.plural,
    )
    assert FAMILY in MODEL.labels.well_known
    assert not MODEL.labels.is_restricted(FAMILY)
    assert MODEL.resolve({}).ready
