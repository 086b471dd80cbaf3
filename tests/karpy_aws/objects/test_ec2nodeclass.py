"""What an EC2NodeClass may say, line by line of the specification; and that nothing it says is lost or guessed."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy.errors import InvalidObject
from karpy_aws.objects import (
    NodeClass,
    NodeClassStatusFields,
    node_class_unknown_fields,
    node_class_violations,
    read_node_class,
)
from karpy_aws.objects.ec2nodeclassschema import ec2_node_class_spec
from karpy_aws.objects.nodeclass import CapacityReservationTerm, MetadataOptions, NetworkInterface, SelectorTerm
from karpy_aws.objects.schemacheck import ViolationKind, violations
from karpy_aws.objects.selectorschema import ALIAS_FAMILIES, FAMILIES

GOOD: dict[str, Any] = {
    "subnetSelectorTerms": [{"tags": {"team": "a"}}],
    "securityGroupSelectorTerms": [{"tags": {"team": "a"}}],
    "amiSelectorTerms": [{"alias": "al2023@latest"}],
    "role": "nodes",
}
AMI = [{"id": "ami-1"}]


def manifest(version: str = "v1", **spec: Any) -> dict[str, Any]:
    given = {key: value for key, value in {**GOOD, **spec}.items() if value is not None}
    api = f"karpenter.k8s.aws/{version}"
    return {"apiVersion": api, "kind": "EC2NodeClass", "metadata": {"name": "default"}, "spec": given}


def node_class(version: str = "v1", **spec: Any) -> NodeClass:
    return read_node_class(manifest(version, **spec))


def lines(mark: pytest.MarkDecorator, **specs: list[dict[str, Any]]) -> list[Any]:
    """One case for each spec, marked with the lines of the specification and named by what it is about."""
    return [
        pytest.param(spec, marks=mark, id=f"{mark.args[0]}-{name}-{index}")
        for name, several in specs.items()
        for index, spec in enumerate(several)
    ]


def terms(field: str, *each: dict[str, Any]) -> list[dict[str, Any]]:
    return [{field: [term]} for term in each]


def disks(*volumes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": volume}]} for volume in volumes]


def cards(*interfaces: tuple[int, int, str]) -> dict[str, Any]:
    names = ("networkCardIndex", "deviceIndex", "interfaceType")
    return {"networkInterfaces": [dict(zip(names, each, strict=True)) for each in interfaces]}


PRIMARY = (0, 0, "interface")
TWO_EFAS = cards(PRIMARY, (0, 1, "efa-only"), (1, 0, "efa-only"))
SIZES = ("1Gi", "59000Gi", "64000G", "1Ti", "19Ti", "58Ti", "64T")
TAGS = {"tags": {"a": "b"}}
SUBNETS, GROUPS, IMAGES = "subnetSelectorTerms", "securityGroupSelectorTerms", "amiSelectorTerms"
RESERVATIONS = "capacityReservationSelectorTerms"


@pytest.mark.parametrize(
    "spec",
    [
        *lines(pytest.mark.aws("AWS-001", "AWS-002"), identity=[{}, {"role": None, "instanceProfile": "p"}]),
        *lines(pytest.mark.aws("AWS-007"), user_data=[{"userData": ""}]),
        *lines(
            pytest.mark.aws("AWS-008"), family=[{"amiFamily": family, "amiSelectorTerms": AMI} for family in FAMILIES]
        ),
        *lines(
            pytest.mark.aws("AWS-010"),
            family=[
                {"amiFamily": family, "amiSelectorTerms": [{"alias": f"{alias}@latest"}]}
                for alias, family in ALIAS_FAMILIES.items()
            ],
        ),
        *lines(
            pytest.mark.aws("AWS-011"),
            custom=[
                {"amiFamily": "Custom", "amiSelectorTerms": [{"alias": f"{alias}@latest"}]} for alias in ALIAS_FAMILIES
            ],
        ),
        *lines(pytest.mark.aws("AWS-014", "AWS-015"), tags=[{"tags": {}}, {"tags": {"a": "", "Name": "x"}}]),
        *lines(pytest.mark.aws("AWS-018"), subnets=terms(SUBNETS, TAGS, {"tags": {"a": "*"}}, {"id": "subnet-1a"})),
        *lines(pytest.mark.aws("AWS-020"), groups=terms(GROUPS, TAGS, {"id": "sg-1a"}, {"name": "nodes"})),
        *lines(
            pytest.mark.aws("AWS-022"),
            reservations=[
                *terms(
                    RESERVATIONS,
                    TAGS,
                    {"id": "cr-1a"},
                    {**TAGS, "ownerID": "1" * 12},
                    {"instanceMatchCriteria": "open"},
                    {"instanceMatchCriteria": "targeted", **TAGS, "ownerID": "1" * 12},
                ),
                {RESERVATIONS: None},
            ],
        ),
        *lines(
            pytest.mark.aws("AWS-024"),
            images=[
                {**spec, "amiFamily": "AL2"}
                for spec in terms(
                    IMAGES,
                    TAGS,
                    {"id": "ami-1a"},
                    {"name": "n*"},
                    {"name": "n", "owner": "self"},
                    {**TAGS, "owner": "1"},
                )
            ],
        ),
        *lines(
            pytest.mark.aws("AWS-027"),
            alias=terms(IMAGES, {"alias": "al2023@v20260801"}, {"alias": "windows2025@latest"}),
        ),
        *lines(pytest.mark.aws("AWS-030"), disks=disks({"volumeSize": "20Gi"}, {"snapshotID": "snap-1"})),
        *lines(
            pytest.mark.aws("AWS-031"),
            size=disks(*({"volumeSize": size} for size in SIZES)),
        ),
        *lines(pytest.mark.aws("AWS-032"), rate=disks({"snapshotID": "snap-1", "volumeInitializationRate": 300})),
        *lines(
            pytest.mark.aws("AWS-033"),
            cards=[{"networkInterfaces": []}, TWO_EFAS],
        ),
        *lines(
            pytest.mark.aws("AWS-034"), idle=[{"connectionTracking": {"tcpEstablishedTimeout": 60, "udpTimeout": 30}}]
        ),
        *lines(
            pytest.mark.aws("AWS-035"), cpu=[{"cpuOptions": {}}, {"cpuOptions": {"nestedVirtualization": "enabled"}}]
        ),
        *lines(pytest.mark.aws("AWS-036"), kubelet=[{"kubelet": {"logging": {"a": {"b": [1]}}}}]),
    ],
)
def test_what_is_let_in(spec: dict[str, Any]) -> None:
    assert node_class_violations(manifest(**spec)) == ()
    assert read_node_class(manifest(**spec)).name == "default"


@pytest.mark.parametrize(
    "spec",
    [
        *lines(
            pytest.mark.aws("AWS-003", "AWS-004"), identity=[{"instanceProfile": "p"}, {"role": None}, {"role": ""}]
        ),
        *lines(pytest.mark.aws("AWS-012"), family=[{"amiFamily": "AL2"}, {"amiFamily": "Bottlerocket"}]),
        *lines(pytest.mark.aws("AWS-013"), family=[{"amiSelectorTerms": AMI}]),
        *lines(
            pytest.mark.aws("AWS-016"),
            tags=[
                {"tags": {key: "x"}}
                for key in (
                    *("eks:eks-cluster-name", "kubernetes.io/cluster/x", "kubernetes.io/cluster"),
                    *("karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass"),
                )
            ],
        ),
        *lines(pytest.mark.aws("AWS-017"), tags=[{"tags": {"": "x"}}]),
        *lines(
            pytest.mark.aws("AWS-019"),
            subnets=[
                {SUBNETS: None},
                {SUBNETS: []},
                {SUBNETS: [TAGS, {}]},
                {SUBNETS: [TAGS, {"id": "subnet-1", **TAGS}]},
                *terms(SUBNETS, {}, {"tags": {}}, {"tags": {"": "a"}}, {"tags": {"a": ""}}, {"id": "subnet-A"}),
            ],
        ),
        *lines(
            pytest.mark.aws("AWS-021"),
            groups=[
                {GROUPS: None},
                {GROUPS: []},
                *terms(
                    GROUPS, {}, {"tags": {}}, {"id": "sg-1", "name": "n"}, {"name": "n", **TAGS}, {"id": "sg-1", **TAGS}
                ),
            ],
        ),
        *lines(
            pytest.mark.aws("AWS-023"),
            reservations=terms(
                RESERVATIONS,
                {"id": "cr_1"},
                {**TAGS, "ownerID": "12"},
                {"ownerID": "1" * 12},
                {"id": "cr-1", **TAGS},
                {"id": "cr-1", "ownerID": "1" * 12},
                {"id": "cr-1", "instanceMatchCriteria": "open"},
                {"instanceMatchCriteria": "closed"},
                {"tags": {}},
                {"tags": {"a": ""}},
            ),
        ),
        *lines(
            pytest.mark.aws("AWS-025"),
            images=[
                {**spec, "amiFamily": "AL2"}
                for spec in terms(
                    IMAGES,
                    {},
                    {"owner": "self"},
                    {"id": "image-1"},
                    {"id": "ami-1", **TAGS},
                    {"id": "ami-1", "name": "n"},
                    {"id": "ami-1", "owner": "self"},
                    {"alias": "al2@latest", **TAGS},
                    {"alias": "al2@latest", "id": "ami-1"},
                    {"tags": {}},
                )
            ],
        ),
        *lines(pytest.mark.aws("AWS-026"), alias=[{IMAGES: [{"alias": "al2@latest"}, {"id": "ami-1"}]}]),
        *lines(
            pytest.mark.aws("AWS-027"),
            alias=terms(
                IMAGES,
                *(
                    {"alias": alias}
                    for alias in ("al2", "@latest", "al2@", "debian@1", "windows2022@1", "AL2@latest", "al2023@a@b")
                ),
            ),
        ),
        *lines(
            pytest.mark.aws("AWS-028"),
            metadata=[
                {"metadataOptions": {field: value}}
                for field, value in (
                    *(("httpEndpoint", "on"), ("httpProtocolIPv6", "on"), ("httpTokens", "maybe")),
                    *(("httpPutResponseHopLimit", 0), ("httpPutResponseHopLimit", 65)),
                )
            ],
        ),
        *lines(
            pytest.mark.aws("AWS-030"),
            roots=[
                {
                    "blockDeviceMappings": [
                        {"deviceName": name, "rootVolume": True, "ebs": {"volumeSize": "4Gi"}} for name in ("a", "b")
                    ]
                }
            ],
        ),
        *lines(
            pytest.mark.aws("AWS-031"),
            size=disks(
                *({"volumeSize": size} for size in ("0Gi", "59001Gi", "64001G", "59Ti", "65T", "Ti", "500Mi", "x", 20)),
                {},
            ),
        ),
        *lines(
            pytest.mark.aws("AWS-032"),
            rate=disks(
                {"volumeSize": "1Gi", "volumeInitializationRate": 100},
                {"snapshotID": "snap-1", "volumeInitializationRate": 99},
                {"snapshotID": "snap-1", "volumeInitializationRate": 301},
            ),
        ),
        *lines(
            pytest.mark.aws("AWS-033"),
            cards=[
                cards(PRIMARY, (0, 1, "efa")),
                cards(PRIMARY, (-1, 1, "interface")),
                cards(PRIMARY, (0, -1, "interface")),
                cards(PRIMARY, PRIMARY),
                cards((0, 1, "interface")),
                cards((0, 0, "efa-only")),
                cards(PRIMARY, (1, 0, "efa-only"), (1, 1, "efa-only")),
            ],
        ),
        *lines(
            pytest.mark.aws("AWS-034"),
            idle=[
                {"connectionTracking": timeouts}
                for timeouts in (
                    *({}, {"tcpEstablishedTimeout": 59}, {"tcpEstablishedTimeout": 432_001}, {"udpStreamTimeout": 59}),
                    *({"udpStreamTimeout": 181}, {"udpTimeout": 29}, {"udpTimeout": 61}),
                )
            ],
        ),
        *lines(pytest.mark.aws("AWS-035"), cpu=[{"cpuOptions": {"nestedVirtualization": "yes"}}]),
    ],
)
def test_what_is_refused(spec: dict[str, Any]) -> None:
    found = node_class_violations(manifest(**spec))
    assert found
    assert all(each.path.startswith("spec") and each.problem and each.accepted for each in found)
    with pytest.raises(InvalidObject) as caught:
        read_node_class(manifest(**spec))
    assert caught.value.object_name == "EC2NodeClass/default"


@pytest.mark.aws("AWS-029")
@pytest.mark.parametrize(("version", "hops"), [("v1", 1), ("v1beta1", 2)])
@pytest.mark.parametrize("given", [None, {}, {"httpTokens": "required"}])
def test_metadata_options_have_the_defaults_of_their_version(version: str, hops: int, given: Any) -> None:
    read = node_class(version, metadataOptions=given)
    assert read.metadata_options == MetadataOptions("enabled", "disabled", hops, "required")


@pytest.mark.aws("AWS-009")
def test_v1_does_not_know_ubuntu() -> None:
    spec = {**GOOD, "amiFamily": "Ubuntu", "amiSelectorTerms": AMI}
    (found,) = violations(spec, ec2_node_class_spec("v1"), "spec")
    assert (found.path, found.kind) == ("spec.amiFamily", ViolationKind.UNSUPPORTED)
    assert violations(spec, ec2_node_class_spec("v1beta1"), "spec") == ()


def test_what_only_v1beta1_lets_in_was_written_as_such() -> None:
    """Both versions are served from one object, which an API server may show as v1."""
    assert node_class("v1", amiFamily="AL2", amiSelectorTerms=None).ami_family == "AL2"
    assert node_class("v1", amiFamily="Ubuntu", amiSelectorTerms=None).ami_family == "Ubuntu"
    assert node_class("v1beta1", amiFamily="Ubuntu", amiSelectorTerms=AMI).ami_family == "Ubuntu"


def test_every_field_is_read() -> None:
    read = node_class(
        capacityReservationSelectorTerms=[{"tags": {"a": "b"}, "ownerID": "1" * 12}],
        placementGroupSelector={"name": "close"},
        associatePublicIPAddress=False,
        ipPrefixCount=2,
        connectionTracking={"udpTimeout": 30},
        kubelet={"maxPods": 20},
        **cards(PRIMARY, (0, 1, "efa-only")),
    )
    assert read.subnet_selector_terms == (SelectorTerm(tags={"team": "a"}),)
    assert read.capacity_reservation_selector_terms == (CapacityReservationTerm({"a": "b"}, owner_id="1" * 12),)
    assert read.network_interfaces == (NetworkInterface(), NetworkInterface(0, 1, "efa-only"))
    assert [each.is_efa_only for each in read.network_interfaces] == [False, True]
    assert (read.alias, read.ip_prefix_count, read.associate_public_ip_address) == ("al2023@latest", 2, False)
    assert read.kubelet is not None
    assert read.kubelet.max_pods == 20


def test_a_status_comes_back_as_it_was() -> None:
    status = {
        "subnets": [{"id": "subnet-1", "zone": "us-west-2a", "zoneID": "usw2-az1"}],
        "securityGroups": [{"id": "sg-1", "name": "nodes"}],
        "amis": [
            {
                "id": "ami-1",
                "name": "n",
                "deprecated": True,
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
            }
        ],
        "capacityReservations": [
            {
                "id": "cr-1",
                "instanceType": "m5.large",
                "availabilityZone": "us-west-2a",
                "ownerID": "1" * 12,
                "instanceMatchCriteria": "open",
                "state": "expiring",
            }
        ],
        "instanceProfile": "p",
    }
    assert NodeClassStatusFields.from_dict(status).to_dict() == status


def test_a_requirement_of_an_image_that_cannot_be_read_is_named() -> None:
    bad = {"amis": [{"id": "ami-1", "requirements": [{"key": "a", "operator": "Near", "values": []}]}]}
    with pytest.raises(InvalidObject, match=r"amis\[0\]\.requirements"):
        NodeClassStatusFields.from_dict(bad)


def test_unknown_fields_are_named() -> None:
    spec: dict[str, Any] = {"amiFamilly": "AL2", SUBNETS: [{"name": "x", **TAGS}], "kubelet": {"any": 1}}
    assert node_class_unknown_fields(manifest(**spec)) == (f"spec.{SUBNETS}[0].name", "spec.amiFamilly")


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=6,
)
FULL: dict[str, Any] = manifest(
    tags={"a": "b"},
    kubelet={"maxPods": 20, "evictionHard": {"memory.available": "5%"}},
    placementGroupSelector={"name": "close"},
    connectionTracking={"udpTimeout": 30},
    blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi", "iops": 3000}}],
    capacityReservationSelectorTerms=[{"id": "cr-1"}],
    networkInterfaces=[{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}],
) | {"status": {"amis": [{"id": "ami-1", "requirements": [{"key": "a", "operator": "Exists"}]}]}}


EVERYTHING: dict[str, dict[str, Any]] = {
    "EC2NodeClass": FULL,
    "AWSNodeTemplate": {
        "kind": "AWSNodeTemplate",
        "metadata": {"name": "default"},
        "spec": {
            "subnetSelector": {"team": "a"},
            "securityGroupSelector": {"aws-ids": "sg-1"},
            "amiFamily": "AL2",
            "metadataOptions": {"httpTokens": "optional"},
            "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi"}}],
        },
        "status": {"subnets": [{"id": "subnet-1", "zone": "a"}]},
    },
    "Provisioner": {
        "kind": "Provisioner",
        "metadata": {"name": "default"},
        "spec": {
            "provider": {"instanceProfile": "nodes", "tags": {"a": "b"}},
            "kubeletConfiguration": {"maxPods": 10, "clusterDNS": ["10.0.0.10"]},
        },
    },
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, member in inner for place in places(member, (*path, key)))]


@pytest.mark.parametrize("kind", EVERYTHING)
@given(st.data())
def test_junk_anywhere_is_read_or_refused(kind: str, data: st.DataObject) -> None:
    broken = copy.deepcopy(EVERYTHING[kind])
    place = data.draw(st.sampled_from(places(broken)[1:]))
    target: Any = broken
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = data.draw(junk)
    for read in (node_class_violations, node_class_unknown_fields, read_node_class):
        with contextlib.suppress(InvalidObject):
            read(broken)
