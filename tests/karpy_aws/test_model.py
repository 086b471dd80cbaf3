from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpy import labels as core
from karpy.cloud.instancetype import compatible
from karpy.cloud.model import CloudModel
from karpy.objects.kinds import PROVISIONER
from karpy.objects.nodepool import NodePool
from karpy.objects.provisioner import provisioner_to_pool
from karpy.requirements import Requirement, Requirements
from karpy_aws import labels
from karpy_aws.model import AWSModel
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE


def provisioner(**spec: Any) -> NodePool:
    return provisioner_to_pool(
        {"kind": "Provisioner", "metadata": {"name": "default"}, "spec": {"providerRef": {"name": "default"}, **spec}}
    )


def test_it_is_a_cloud_model(model: AWSModel) -> None:
    checked: CloudModel = model
    assert checked.name == "aws"
    assert list(checked.node_classes) == [EC2_NODE_CLASS, AWS_NODE_TEMPLATE, PROVISIONER]


def test_the_catalog_is_read_once(model: AWSModel) -> None:
    assert model.instance_types() is model.instance_types()


def test_users_may_ask_for_known_labels_only(model: AWSModel) -> None:
    spec = core.CORE_LABELS | model.labels
    assert not spec.is_restricted(labels.INSTANCE_FAMILY)
    assert spec.is_restricted("karpenter.k8s.aws/instance-colour")


# Defaults


@pytest.mark.aws("AWS-042")
def test_a_provisioner_gets_the_defaults_of_its_day(model: AWSModel) -> None:
    added = model.default_requirements(provisioner())
    assert added == Requirements(
        (
            Requirement.in_(core.OS, "linux"),
            Requirement.in_(core.ARCH, "amd64"),
            Requirement.in_(core.CAPACITY_TYPE, "on-demand"),
            Requirement.in_(labels.INSTANCE_CATEGORY, "c", "m", "r"),
            Requirement.parse(labels.INSTANCE_GENERATION, "Gt", ("2",)),
        )
    )


@pytest.mark.aws("AWS-042")
@pytest.mark.parametrize("key", [core.OS, core.ARCH, core.CAPACITY_TYPE])
def test_a_key_that_the_provisioner_names_gets_no_default(model: AWSModel, key: str) -> None:
    named = provisioner(requirements=[{"key": key, "operator": "Exists"}])
    assert key not in model.default_requirements(named)


def test_a_label_of_the_provisioner_counts_as_named(model: AWSModel) -> None:
    assert core.ARCH not in model.default_requirements(provisioner(labels={core.ARCH: "arm64"}))


@pytest.mark.aws("AWS-042")
@pytest.mark.parametrize(
    "key", [core.INSTANCE_TYPE, labels.INSTANCE_FAMILY, labels.INSTANCE_CATEGORY, labels.INSTANCE_GENERATION]
)
def test_a_provisioner_that_chooses_its_types_keeps_its_choice(model: AWSModel, key: str) -> None:
    added = model.default_requirements(provisioner(requirements=[{"key": key, "operator": "Exists"}]))
    assert not {labels.INSTANCE_CATEGORY, labels.INSTANCE_GENERATION} & set(added)


def test_a_node_pool_means_what_it_says(model: AWSModel) -> None:
    assert model.default_requirements(NodePool(name="default")) == Requirements()


def test_the_defaults_leave_types_to_choose_from(model: AWSModel) -> None:
    assert len(compatible(model.instance_types(), model.default_requirements(provisioner()))) > 100


# Node classes


@pytest.mark.parametrize(
    ("file", "kind"), [("eks-v0.25.0.yaml", "AWSNodeTemplate"), ("eks-v0.5.3.yaml", "Provisioner")]
)
def test_the_guides_node_classes_are_ready(model: AWSModel, shared: Path, file: str, kind: str) -> None:
    documents = yaml.safe_load_all((shared / "data" / "seeds" / file).read_text())
    node_class = next(document for document in documents if document["kind"] == kind)
    assert model.resolve(node_class).ready


def test_a_ready_class_names_a_subnet_in_each_zone(model: AWSModel) -> None:
    status = model.resolve(node_template(subnetSelector={"a": "b"}, securityGroupSelector={"a": "b"})).status
    assert [subnet["zone"] for subnet in status["subnets"]] == ["us-west-2a", "us-west-2b", "us-west-2c"]
    assert all(re.fullmatch("subnet-[0-9a-f]{17}", subnet["id"]) for subnet in status["subnets"])


def test_resolving_again_finds_the_same(model: AWSModel) -> None:
    node_class = node_template(subnetSelector={"a": "b"}, securityGroupSelector={"a": "b"})
    assert model.resolve(node_class) == model.resolve(node_class)


def test_a_class_that_cannot_be_read_is_not_ready_and_names_the_field(model: AWSModel) -> None:
    status = model.resolve(node_template(securityGroupSelector={"a": "b"}))
    assert not status.ready
    assert status.reason == "ValidationFailed"
    assert "AWSNodeTemplate/default: spec.subnetSelector" in status.message


def node_template(**spec: Any) -> dict[str, Any]:
    return {"kind": "AWSNodeTemplate", "metadata": {"name": "default"}, "spec": spec}


# Names


def test_provider_ids_have_the_form_of_ec2_and_differ(model: AWSModel) -> None:
    made = {model.provider_id(serial, "us-west-2b") for serial in range(5_000)}
    assert len(made) == 5_000
    assert all(re.fullmatch("aws:///us-west-2b/i-0[0-9a-f]{16}", provider_id) for provider_id in made)


def test_node_names_are_private_dns_names_and_differ(model: AWSModel) -> None:
    made = {model.node_name(serial, "default-abcde") for serial in range(70_000)}
    assert len(made) == 70_000
    for name in made:
        address = re.fullmatch(r"ip-10-(\d+)-(\d+)-(\d+)\.us-west-2\.compute\.internal", name)
        assert address is not None
        assert all(int(part) <= 255 for part in address.groups())
