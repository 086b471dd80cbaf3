from __future__ import annotations

from typing import Any

import pytest

from karpy.clock import parse_time
from karpy.cloud.instancetype import InstanceTypes
from karpy.requirements import Requirement, Requirements
from karpy_aws import labels
from karpy_aws.images import choose, image_of, image_version, parameters, queries, suited
from karpy_aws.objects import NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodeclass import SelectorTerm
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE
from karpy_aws.objects.status import AMI, NodeClassStatusFields

NOW = parse_time("2026-08-21T12:00:00Z")
AMD64 = Requirement.in_("kubernetes.io/arch", "amd64")
ARM64 = Requirement.in_("kubernetes.io/arch", "arm64")


def node_class(*terms: SelectorTerm, **fields: Any) -> NodeClass:
    return NodeClass(name="web", origin=EC2_NODE_CLASS, ami_selector_terms=terms, **{"ami_family": "AL2023", **fields})


def filters(query: dict[str, Any]) -> dict[str, list[str]]:
    return {each["Name"]: each["Values"] for each in query["Filters"]}


@pytest.mark.aws("AWS-097")
def test_within_a_term_all_holds_and_terms_add_up() -> None:
    terms = (SelectorTerm(tags={"a": "1", "b": "*"}, name="n*"), SelectorTerm(id="ami-2"), SelectorTerm(id="ami-1"))
    by_id, by_name = queries(node_class(*terms), {})
    assert filters(by_id) == {"image-id": ["ami-1", "ami-2"], "state": ["available"]}
    assert filters(by_name) == {"name": ["n*"], "tag:a": ["1"], "tag-key": ["b"], "state": ["available"]}


@pytest.mark.aws("AWS-096")
@pytest.mark.parametrize(
    ("term", "owners"),
    [
        (SelectorTerm(name="n"), ["self", "amazon"]),
        (SelectorTerm(name="n", owner="999988887777"), ["999988887777"]),
        (SelectorTerm(tags={"a": "b"}), None),
        (SelectorTerm(tags={"a": "b"}, owner="self"), ["self"]),
        (SelectorTerm(id="ami-1"), None),
    ],
)
def test_a_name_alone_finds_no_strangers_image(term: SelectorTerm, owners: list[str] | None) -> None:
    (query,) = queries(node_class(term), {})
    assert query.get("Owners") == owners


@pytest.mark.aws("AWS-099")
def test_a_parameter_stands_for_the_image_that_it_names() -> None:
    terms = (
        SelectorTerm(ssm_parameter="/mine"),
        SelectorTerm(ssm_parameter="/gone"),
        SelectorTerm(ssm_parameter="/odd"),
    )
    asked = parameters(node_class(*terms), "1.34")
    assert [(each.path, each.is_users) for each in asked] == [("/mine", True), ("/gone", True), ("/odd", True)]
    (query,) = queries(node_class(*terms), {"/mine": "ami-1", "/odd": "hello"})
    assert filters(query)["image-id"] == ["ami-1"]


def test_an_id_beside_a_parameter_wins() -> None:
    both = node_class(SelectorTerm(id="ami-1", ssm_parameter="/mine"))
    assert parameters(both, "1.34") == ()
    (query,) = queries(both, {})
    assert filters(query)["image-id"] == ["ami-1"]


def test_a_class_that_says_nothing_means_its_familys_newest_images() -> None:
    said = node_class(SelectorTerm(alias="bottlerocket@latest"))
    assert parameters(node_class(ami_family="Bottlerocket"), "1.34") == parameters(said, "1.34")


def test_an_alias_is_followed_even_where_the_family_is_custom() -> None:
    assert parameters(node_class(SelectorTerm(alias="al2023@latest"), ami_family="Custom"), "1.34")


def image(id_: str, created: str = "2026-01-01T00:00:00.000Z", **fields: Any) -> dict[str, Any]:
    return {"ImageId": id_, "Name": id_, "Architecture": "x86_64", "CreationDate": created, **fields}


def ids(*images: dict[str, Any], suits: dict[str, tuple[Requirements, ...]] | None = None) -> list[str]:
    return [each.id for each in choose(images, node_class(), suits or {}, now=NOW)]


@pytest.mark.aws("AWS-095")
def test_of_equal_images_the_newest_that_is_not_deprecated_is_chosen() -> None:
    old, new = image("ami-1"), image("ami-2", "2026-03-01T00:00:00.000Z")
    gone = image("ami-3", "2026-04-01T00:00:00.000Z", DeprecationTime="2026-08-21T12:00:00.000Z")
    assert ids(old, new, gone) == ["ami-2"]
    assert ids(gone) == ["ami-3"]
    assert ids(image("ami-1", Name="a"), image("ami-2", Name="b")) == ["ami-2"]
    assert ids(image("ami-2", Name="a"), image("ami-1", Name="a")) == ["ami-1"]
    assert ids({**image("ami-2"), "CreationDate": None}, old) == ["ami-1"]


@pytest.mark.aws("AWS-066")
def test_an_image_is_deprecated_from_the_moment_that_its_owner_named() -> None:
    def deprecated(at: str) -> bool:
        (chosen,) = choose([image("ami-1", DeprecationTime=at)], node_class(), {}, now=NOW)
        return chosen.deprecated

    assert deprecated("2026-08-21T12:00:00.000Z")
    assert not deprecated("2026-08-21T12:00:01.000Z")


@pytest.mark.aws("AWS-102")
def test_each_architecture_has_its_image_and_the_newest_is_first() -> None:
    arm = image("ami-2", "2026-02-01T00:00:00.000Z", Architecture="arm64")
    assert ids(image("ami-1"), arm) == ["ami-2", "ami-1"]
    assert ids(image("ami-2"), image("ami-1", Architecture="arm64")) == ["ami-1", "ami-2"]
    assert ids(image("ami-1", Architecture="i386"), image("ami-2", Architecture="arm64_mac")) == []


def test_one_image_may_be_for_several_kinds_of_machine() -> None:
    gpu = parameters(node_class(SelectorTerm(alias="al2@latest")), "1.32")[-1]
    chosen = choose([image("ami-1")], node_class(), suited([gpu], {gpu.path: "ami-1"}), now=NOW)
    keys = [labels.INSTANCE_ACCELERATOR_COUNT, labels.INSTANCE_GPU_COUNT]
    assert [each.requirements for each in chosen] == [Requirements([AMD64, Requirement.exists(key)]) for key in keys]


@pytest.mark.aws("AWS-094", "AWS-103")
def test_tags_of_images_are_requirements_in_v1alpha1_alone() -> None:
    tagged = image("ami-1", Tags=[{"Key": labels.INSTANCE_FAMILY, "Value": "m5"}, {"Key": "team", "Value": "web"}])
    (now,) = choose([tagged], node_class(), {}, now=NOW)
    assert now.requirements == Requirements([AMD64])
    older = NodeClass(name="web", origin=AWS_NODE_TEMPLATE)
    (then,) = choose([tagged], older, {}, now=NOW)
    assert then.requirements == Requirements([AMD64, Requirement.in_(labels.INSTANCE_FAMILY, "m5")])


def test_a_machine_gets_the_first_image_that_is_for_it(types: InstanceTypes) -> None:
    images = (
        AMI(id="ami-1", requirements=Requirements([AMD64, Requirement.exists(labels.INSTANCE_GPU_COUNT)])),
        AMI(id="ami-2", requirements=Requirements([AMD64])),
        AMI(id="ami-3", requirements=Requirements([AMD64])),
    )
    chosen = {
        each.name: image_of(each, images) for each in types if each.name in ("g6.xlarge", "m5.large", "m6g.large")
    }
    assert {name: each and each.id for name, each in chosen.items()} == {
        "g6.xlarge": "ami-1",
        "m5.large": "ami-2",
        "m6g.large": None,
    }


@pytest.mark.aws("AWS-169")
def test_the_version_is_the_aliass_or_that_of_a_name() -> None:
    name = "bottlerocket-aws-k8s-1.34-x86_64-v1.46.0-0ab1c2d3"
    assert (
        image_version(node_class(SelectorTerm(alias="bottlerocket@v1.45.0")), AMI(id="ami-1", name=name)) == "v1.45.0"
    )
    assert image_version(node_class(SelectorTerm(id="ami-1")), AMI(id="ami-1", name=name)) == "v1.46.0"
    assert image_version(node_class(SelectorTerm(name="bottlerocket-*-v1.47.1-*")), AMI(id="ami-1")) == "v1.47.1"
    status = NodeClassStatusFields(amis=(AMI(id="ami-2", name=name),))
    assert image_version(node_class(SelectorTerm(id="ami-1"), status=status), AMI(id="ami-1")) == "v1.46.0"
    assert image_version(node_class(SelectorTerm(id="ami-1")), AMI(id="ami-1", name="mine")) == ""
