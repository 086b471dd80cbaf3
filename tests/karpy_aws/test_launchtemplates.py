from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy.cloud.instancetype import InstanceType, Offering
from karpy.errors import CreateFailed, InvalidObject, NodeClassNotReady
from karpy.objects.kinds import PROVISIONER, Kind
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy_aws import labels
from karpy_aws.bootstrap import NodeBootstrap
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.families import FAMILIES, ImageFamily
from karpy_aws.launchtemplates import LaunchTemplate, TemplateSettings, launch_templates
from karpy_aws.objects import NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodeclass import BlockDeviceMapping, Ebs, MetadataOptions
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE
from karpy_aws.objects.status import AMI, NodeClassStatusFields, PlacementGroup, SecurityGroup

STATUS = NodeClassStatusFields(
    security_groups=(SecurityGroup("sg-1"),), amis=(AMI(id="ami-1"),), instance_profile="web-profile"
)
NODE_CLASS = NodeClass(name="web", origin=EC2_NODE_CLASS, ami_family="AL2", status=STATUS)
CLUSTER = ClusterFacts(name="shop", endpoint="https://shop.example.com", service_cidr="10.100.0.0/16")
SETTINGS = TemplateSettings(
    node_class=NODE_CLASS,
    region="us-west-2",
    bootstrap=NodeBootstrap(cluster=CLUSTER),
    capacity_type="on-demand",
    tags={"kubernetes.io/cluster/shop": "owned", "team": "web"},
)


def machine(name: str = "m5.large", pods: int = 29, *offerings: Offering) -> InstanceType:
    return InstanceType(name, Requirements(), offerings, Resources({"pods": pods}))


def templates(*types: InstanceType, settings: TemplateSettings = SETTINGS, **fields: Any) -> tuple[LaunchTemplate, ...]:
    changed = attrs.evolve(settings, node_class=attrs.evolve(settings.node_class, **fields))
    return launch_templates(types or (machine(),), changed, lambda each: {"maxPods": each.capacity["pods"]})


def name(settings: TemplateSettings = SETTINGS, **fields: Any) -> str:
    (found,) = templates(settings=settings, **fields)
    return found.name


def data(settings: TemplateSettings = SETTINGS, *types: InstanceType, **fields: Any) -> dict[str, Any]:
    (found,) = templates(*types, settings=settings, **fields)
    assert found.request is not None
    said: dict[str, Any] = found.request["LaunchTemplateData"]
    return said


# Names


@pytest.mark.aws("AWS-156", "AWS-158")
def test_a_templates_name_is_its_contents() -> None:
    assert name() == name()
    assert name() != name(name="other")
    assert name() != name(user_data="#!/bin/sh\n")
    assert name() != name(detailed_monitoring=True)
    assert name() != name(attrs.evolve(SETTINGS, tags={"team": "other"}))
    (few,), (many,) = templates(machine()), templates(machine(), machine("m5a.large"))
    assert few.name == many.name


@pytest.mark.aws("AWS-246")
@pytest.mark.parametrize(
    ("origin", "prefix"),
    [(EC2_NODE_CLASS, "karpenter.k8s.aws/"), (AWS_NODE_TEMPLATE, "Karpenter-shop-"), (PROVISIONER, "Karpenter-shop-")],
)
def test_names_begin_as_those_of_their_generation(origin: Kind, prefix: str) -> None:
    found = name(origin=origin)
    assert found.startswith(prefix)
    assert found.removeprefix(prefix).isdigit()


@pytest.mark.aws("AWS-159")
def test_groups_that_a_custom_image_does_not_tell_apart_are_one_template() -> None:
    """Karpenter names it twice in the request of the fleet."""
    types = (machine("a", 29), machine("b", 58), machine("c", 29))
    (found,) = templates(*types, ami_family="Custom")
    assert sorted(each.name for each in found.types) == ["a", "b", "c"]
    assert len(templates(*types)) == 2


# What is missing


@pytest.mark.aws("AWS-160")
def test_without_an_instance_profile_nothing_is_launched() -> None:
    with pytest.raises(NodeClassNotReady, match="instance profile"):
        templates(status=attrs.evolve(STATUS, instance_profile=""))
    assert data(status=attrs.evolve(STATUS, instance_profile=""), instance_profile="mine")["IamInstanceProfile"] == {
        "Name": "mine"
    }


def test_without_security_groups_nothing_is_launched() -> None:
    with pytest.raises(CreateFailed, match="no security group"):
        templates(status=attrs.evolve(STATUS, security_groups=()))


@pytest.mark.parametrize(
    ("device", "path"),
    [
        (BlockDeviceMapping(ebs=Ebs(volume_size="1Gi")), "deviceName"),
        (BlockDeviceMapping(device_name="/dev/xvda"), "ebs"),
    ],
)
def test_a_volume_that_is_not_described_is_refused_by_its_field(device: BlockDeviceMapping, path: str) -> None:
    with pytest.raises(InvalidObject, match=rf"^spec\.blockDeviceMappings\[0\]\.{path}: "):
        templates(block_device_mappings=(device,))


@pytest.mark.aws("AWS-184")
@pytest.mark.parametrize(("origin", "version"), [(AWS_NODE_TEMPLATE, "$Latest"), (PROVISIONER, "$Default")])
def test_a_template_of_the_users_own_is_used_as_it_is(origin: Kind, version: str) -> None:
    types = (machine("a", 29), machine("b", 58))
    (found,) = templates(*types, origin=origin, launch_template="mine", status=NodeClassStatusFields())
    assert found == LaunchTemplate(name="mine", types=types, version=version)


# What is said


@pytest.mark.aws("AWS-162")
def test_volumes_are_whole_gibibytes_rounded_up() -> None:
    sizes = {"10G": 10, "1500Mi": 2, "2Ti": 2048, "64T": 59605, 5 * 2**30: 5}
    for said, gib in sizes.items():
        device = BlockDeviceMapping(device_name="/dev/xvda", ebs=Ebs(volume_size=said, iops=0, throughput=0))
        assert data(block_device_mappings=(device,))["BlockDeviceMappings"] == [
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": gib}}
        ]


@pytest.mark.aws("AWS-162")
@pytest.mark.parametrize(
    "family", [family for family in FAMILIES.values() if family.name != "Custom"], ids=lambda f: f.name
)
def test_the_scheduler_counts_on_the_volume_that_there_is(family: ImageFamily) -> None:
    volumes = {each["DeviceName"]: each["Ebs"] for each in data(ami_family=family.name)["BlockDeviceMappings"]}
    assert volumes[family.storage_device] == {
        "Encrypted": True,
        "VolumeType": "gp3",
        "VolumeSize": family.storage_bytes // 2**30,
    }


@pytest.mark.aws("AWS-162")
def test_a_custom_image_brings_its_own_volumes() -> None:
    assert "BlockDeviceMappings" not in data(ami_family="Custom")
    assert "UserData" not in data(ami_family="Custom")


@pytest.mark.aws("AWS-100", "AWS-179")
def test_what_metadata_options_leave_open_is_left_to_ec2() -> None:
    said = MetadataOptions(http_tokens="optional", http_protocol_ipv6="enabled")
    assert data(metadata_options=said)["MetadataOptions"] == {
        "HttpTokens": "optional",
        "HttpProtocolIpv6": "enabled",
        "InstanceMetadataTags": "disabled",
    }
    isolated = attrs.evolve(SETTINGS, region="us-iso-west-1")
    assert "HttpProtocolIpv6" not in data(isolated, metadata_options=said)["MetadataOptions"]


@pytest.mark.aws("AWS-179")
def test_older_generations_have_defaults_of_their_own() -> None:
    cluster = attrs.evolve(CLUSTER, dns_ip="fd00::a")
    found = data(attrs.evolve(SETTINGS, bootstrap=NodeBootstrap(cluster=cluster)), origin=AWS_NODE_TEMPLATE)[
        "MetadataOptions"
    ]
    assert found == {
        "HttpEndpoint": "enabled",
        "HttpProtocolIpv6": "enabled",
        "HttpPutResponseHopLimit": 2,
        "HttpTokens": "required",
        "InstanceMetadataTags": "disabled",
    }


@pytest.mark.aws("AWS-180")
def test_machines_stand_where_they_are_told_to() -> None:
    group = attrs.evolve(STATUS, placement_group=PlacementGroup("pg-1", strategy="partition"))
    near = attrs.evolve(SETTINGS, tenancy="dedicated", partition=3)
    assert data(near, status=group)["Placement"] == {"Tenancy": "dedicated", "GroupId": "pg-1", "PartitionNumber": 3}
    assert data(near)["Placement"] == {"Tenancy": "dedicated"}


@pytest.mark.aws("AWS-178")
def test_enclaves_are_switched_on_by_asking_for_them() -> None:
    assert data()["EnclaveOptions"] == {"Enabled": False}
    asked = attrs.evolve(SETTINGS, requests=Resources({"eks.amazonaws.com/nitro-sandbox": 1}))
    assert data(asked)["EnclaveOptions"] == {"Enabled": True}


def bought(kind: str, *, interruptible: bool = False) -> InstanceType:
    requirements = Requirements(
        [
            Requirement.in_(labels.CAPACITY_RESERVATION_TYPE, kind),
            Requirement.in_(labels.CAPACITY_RESERVATION_INTERRUPTIBLE, str(interruptible).lower()),
        ]
    )
    return machine("m5.large", 29, Offering("us-west-2a", "reserved", 0.1, True, requirements, reservation_id="cr-1"))


@pytest.mark.aws("AWS-181")
@pytest.mark.parametrize(
    ("type_", "market"),
    [
        (bought("default"), None),
        (bought("capacity-block"), "capacity-block"),
        (bought("default", interruptible=True), "interruptible-capacity-reservation"),
    ],
)
def test_a_reservation_is_named_and_how_it_is_sold(type_: InstanceType, market: str | None) -> None:
    said = data(attrs.evolve(SETTINGS, capacity_type="reserved"), type_)
    assert said["CapacityReservationSpecification"] == {
        "CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": {"CapacityReservationId": "cr-1"},
    }
    assert said.get("InstanceMarketOptions") == (market and {"MarketType": market})


@pytest.mark.aws("AWS-181")
def test_other_machines_keep_their_hands_off_reservations_once_karpy_knows_of_them() -> None:
    assert data()["CapacityReservationSpecification"] == {"CapacityReservationPreference": "none"}
    assert "CapacityReservationSpecification" not in data(attrs.evolve(SETTINGS, sells_reserved=False))
    assert "CapacityReservationSpecification" not in data(origin=AWS_NODE_TEMPLATE)


@pytest.mark.aws("AWS-161")
@pytest.mark.parametrize(
    ("origin", "capacity_type", "kinds", "keys"),
    [
        (EC2_NODE_CLASS, "on-demand", ["network-interface"], ["kubernetes.io/cluster/shop", "team"]),
        (
            EC2_NODE_CLASS,
            "spot",
            ["network-interface", "spot-instances-request"],
            ["kubernetes.io/cluster/shop", "team"],
        ),
        (AWS_NODE_TEMPLATE, "spot", ["network-interface"], ["team"]),
        (PROVISIONER, "spot", [], []),
    ],
)
def test_what_comes_with_a_machine_is_tagged_as_the_generation_did(
    origin: Kind, capacity_type: str, kinds: list[str], keys: list[str]
) -> None:
    said = data(attrs.evolve(SETTINGS, capacity_type=capacity_type), origin=origin).get("TagSpecifications", [])
    assert [each["ResourceType"] for each in said] == kinds
    assert all([tag["Key"] for tag in each["Tags"]] == keys for each in said)


@pytest.mark.aws("AWS-182")
def test_the_size_of_user_data_is_told_as_ec2_counts_it() -> None:
    (small,), (large,) = templates(user_data="x"), templates(user_data="x" + "ü" * 100)
    assert large.user_data_bytes - small.user_data_bytes == 200


def test_user_data_that_hardly_fits_is_told_of() -> None:
    (found,) = templates(user_data="x" * 14_000)
    assert found.warnings == ()
    (found,) = templates(user_data="x" * 15_000)
    assert found.warnings == (f"user data has {found.user_data_bytes} bytes, and EC2 takes 16384",)


def test_settings_that_are_left_out_are_told_of() -> None:
    (found,) = templates(ami_family="Bottlerocket", user_data="[settings.kubernetes]\nmax-pod = 5\n")
    assert found.warnings == ("spec.userData: no setting of settings.kubernetes, and left out: max-pod",)
