from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from karpy.cloud.instancetype import InstanceType
from karpy.resources import Resources
from karpy_aws.bootstrap import NodeBootstrap
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.launchtemplates import LaunchTemplate
from karpy_aws.objects import NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.status import AMI, NodeClassStatusFields, SecurityGroup
from karpy_aws.recenttemplates import RecentTemplates
from karpy_aws.templatedata import TemplateSettings
from tests.karpy_aws.sold import built, described

STATUS = NodeClassStatusFields(
    security_groups=(SecurityGroup("sg-1"),), amis=(AMI(id="ami-1"),), instance_profile="shop-profile"
)
SHOP = ClusterFacts(name="shop", endpoint="https://shop.example.com", service_cidr="10.100.0.0/16")
SETTINGS = TemplateSettings(
    node_class=NodeClass(name="web", origin=EC2_NODE_CLASS, ami_family="AL2023", status=STATUS),
    region="us-west-2",
    bootstrap=NodeBootstrap(cluster=SHOP),
    capacity_type="spot",
    tags={"team": "a"},
)
LARGE, XLARGE = built(described()), built(described("m5.xlarge"))


class Maker:
    """Counts for how many types the kubelet's settings were worked out."""

    def __init__(self) -> None:
        self.recent = RecentTemplates()
        self.asked = 0

    def kubelet_of(self, _type: InstanceType) -> Mapping[str, Any]:
        self.asked += 1
        return {"maxPods": 29}

    def make(self, *types: InstanceType, settings: TemplateSettings = SETTINGS) -> tuple[LaunchTemplate, ...]:
        return self.recent.templates(types, settings, self.kubelet_of)


@pytest.fixture
def maker() -> Maker:
    return Maker()


def test_templates_for_the_same_types_and_settings_are_made_once(maker: Maker) -> None:
    made = maker.make(LARGE, XLARGE)
    assert maker.make(LARGE, XLARGE, settings=attrs.evolve(SETTINGS)) is made
    assert maker.asked == 2


def test_offerings_that_are_left_out_make_no_difference(maker: Maker) -> None:
    fewer = attrs.evolve(LARGE, offerings=LARGE.offerings[:1])
    assert maker.make(fewer) is maker.make(LARGE)


@pytest.mark.parametrize(
    "change",
    [
        {"capacity_type": "on-demand"},
        {"tags": {"team": "b"}},
        {"requests": Resources({"eks.amazonaws.com/nitro-sandbox": 1})},
    ],
)
def test_other_settings_are_other_templates(maker: Maker, change: dict[str, Any]) -> None:
    changed = attrs.evolve(SETTINGS, **change)
    assert maker.make(LARGE) != maker.make(LARGE, settings=changed)


def test_other_types_are_other_templates(maker: Maker) -> None:
    assert [each.types for each in maker.make(LARGE)] == [(LARGE,)]
    assert [each.types for each in maker.make(XLARGE)] == [(XLARGE,)]
    measured = attrs.evolve(LARGE, capacity=Resources({"cpu": 1_000}))
    assert [each.types for each in maker.make(measured)] == [(measured,)]


def test_templates_of_reservations_are_made_anew(maker: Maker) -> None:
    reserved = attrs.evolve(
        LARGE, offerings=[attrs.evolve(LARGE.offerings[0], capacity_type="reserved", reservation_id="cr-1")]
    )
    for _ in range(2):
        maker.make(reserved, settings=attrs.evolve(SETTINGS, capacity_type="reserved"))
    assert maker.asked == 2
