"""Node classes from one generation to another: what is carried over, what is told, and that nothing else is lost."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy.errors import InvalidObject
from karpy_aws.conversion import (
    ConversionFacts,
    Converted,
    newer_node_class,
    node_class_of_template,
    older_node_class,
    template_of_provisioner,
    to_v1,
    without_inline_provider,
)
from karpy_aws.conversion.ec2nodeclass import UBUNTU_ANNOTATION
from karpy_aws.conversion.notes import renamed
from karpy_aws.objects import NodeClass, read_node_class
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodetemplateschema import TEMPLATE_ONLY

DISK = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi", "volumeType": "gp3"}}


def template(**spec: Any) -> dict[str, Any]:
    base = {"subnetSelector": {"team": "a"}, "securityGroupSelector": {"team": "a"}, "instanceProfile": "nodes"}
    given = {key: value for key, value in {**base, **spec}.items() if value is not None}
    return {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": "default"},
        "spec": given,
    }


def node_class(version: str, **spec: Any) -> dict[str, Any]:
    base = {
        "subnetSelectorTerms": [{"tags": {"team": "a"}}],
        "securityGroupSelectorTerms": [{"tags": {"team": "a"}}],
        "role": "nodes",
    }
    given = {key: value for key, value in {**base, **spec}.items() if value is not None}
    return {
        "apiVersion": f"karpenter.k8s.aws/{version}",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": given,
    }


def provisioner(**provider: Any) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "default"},
        "spec": {"provider": {"instanceProfile": "nodes", **provider}, "ttlSecondsAfterEmpty": 30},
    }


def told(converted: Converted, path: str) -> list[str]:
    return [str(note) for note in converted.notes if note.path == path]


# Provisioner to AWSNodeTemplate


@pytest.mark.aws("AWS-249", "AWS-041")
def test_selectors_that_a_provisioner_left_out_are_those_of_its_cluster() -> None:
    made = template_of_provisioner(provisioner(), ConversionFacts(cluster_name="prod"))
    own = {"kubernetes.io/cluster/prod": "*"}
    assert made.manifest["spec"] == {"instanceProfile": "nodes", "subnetSelector": own, "securityGroupSelector": own}
    assert made.notes == ()


@pytest.mark.aws("AWS-249")
def test_without_the_clusters_name_they_are_left_to_the_user() -> None:
    made = template_of_provisioner(provisioner(subnetSelector={"team": "a"}))
    assert [(note.path, note.by_hand) for note in made.notes] == [("spec.securityGroupSelector", True)]


@pytest.mark.aws("AWS-249")
def test_the_provisioner_refers_to_the_template_then() -> None:
    spec = without_inline_provider(provisioner())["spec"]
    assert spec == {"ttlSecondsAfterEmpty": 30, "providerRef": {"name": "default"}}


# AWSNodeTemplate to EC2NodeClass v1beta1


@pytest.mark.aws("AWS-249")
@pytest.mark.parametrize(
    ("selector", "terms"),
    [
        pytest.param({"team": "a", "tier": "*"}, [{"tags": {"team": "a", "tier": "*"}}], id="tags"),
        pytest.param({"team": "a,b"}, [{"tags": {"team": "a"}}, {"tags": {"team": "b"}}], id="commas in a tag"),
        pytest.param({"aws-ids": "subnet-1, subnet-2"}, [{"id": "subnet-1"}, {"id": "subnet-2"}], id="ids"),
        pytest.param({"aws::ids": "subnet-1"}, [{"id": "subnet-1"}], id="ids by their later name"),
    ],
)
def test_a_selector_becomes_terms(selector: dict[str, str], terms: list[dict[str, Any]]) -> None:
    made = node_class_of_template(template(subnetSelector=selector))
    assert made.manifest["spec"]["subnetSelectorTerms"] == terms


@pytest.mark.aws("AWS-249")
def test_tags_beside_ids_are_told() -> None:
    made = node_class_of_template(template(subnetSelector={"aws-ids": "subnet-1,subnet-2", "team": "a"}))
    assert made.manifest["spec"]["subnetSelectorTerms"] == [{"id": "subnet-1"}, {"id": "subnet-2"}]
    assert told(made, "spec.subnetSelector") == ["spec.subnetSelector: team beside ids: the ids alone select now"]


@pytest.mark.aws("AWS-249")
def test_owners_and_names_of_images_multiply() -> None:
    selector = {"aws::owners": "self,amazon", "aws::name": "a,b", "team": "x,y"}
    terms = node_class_of_template(template(amiSelector=selector)).manifest["spec"]["amiSelectorTerms"]
    expected = {(name, owner) for name in "ab" for owner in ("self", "amazon")}
    assert {(term["name"], term["owner"]) for term in terms} == expected
    assert all(term["tags"] == {"team": "x,y"} for term in terms)


@pytest.mark.aws("AWS-249")
def test_what_was_meant_without_being_said_is_written_out() -> None:
    spec = node_class_of_template(template()).manifest["spec"]
    assert spec["amiFamily"] == "AL2"
    assert spec["metadataOptions"]["httpPutResponseHopLimit"] == 2


@pytest.mark.aws("AWS-249")
def test_what_a_block_left_to_ec2_is_told() -> None:
    made = node_class_of_template(template(metadataOptions={"httpTokens": "optional"}))
    assert made.manifest["spec"]["metadataOptions"]["httpTokens"] == "optional"
    assert "httpPutResponseHopLimit 2" in told(made, "spec.metadataOptions")[0]


@pytest.mark.aws("AWS-249")
def test_a_profile_gives_way_to_its_role_where_that_is_known() -> None:
    kept = node_class_of_template(template()).manifest["spec"]
    assert (kept["instanceProfile"], "role" in kept) == ("nodes", False)
    made = node_class_of_template(template(), ConversionFacts(role_of_profile={"nodes": "node-role"}))
    assert made.manifest["spec"]["role"] == "node-role"
    assert "instanceProfile" not in made.manifest["spec"]
    assert told(made, "spec.instanceProfile")


@pytest.mark.aws("AWS-249")
def test_a_profile_of_the_global_settings_is_filled_in() -> None:
    bare = template(instanceProfile=None)
    made = node_class_of_template(bare, ConversionFacts(default_instance_profile="global"))
    assert made.manifest["spec"]["instanceProfile"] == "global"
    missing = node_class_of_template(bare).notes
    assert any(note.by_hand and "neither role nor instanceProfile" in note.text for note in missing)


@pytest.mark.aws("AWS-249")
def test_a_launch_template_of_ones_own_is_to_be_replaced_by_hand() -> None:
    own = template(launchTemplate="mine", instanceProfile=None, securityGroupSelector=None)
    for made in (node_class_of_template(own), to_v1(own)):
        assert "by hand: launch templates of your own" in told(made, "spec.launchTemplate")[0]


@pytest.mark.aws("AWS-249")
def test_restricted_tags_and_odd_sizes_are_told() -> None:
    disk = {**DISK, "ebs": {"volumeSize": "20000Mi"}}
    made = to_v1(template(tags={"karpenter.sh/nodepool": "x", "a": "b"}, blockDeviceMappings=[disk]))
    assert made.manifest["spec"]["tags"] == {"a": "b"}
    assert made.manifest["spec"]["blockDeviceMappings"][0]["ebs"] == {"volumeSize": "20Gi"}
    assert {note.path for note in made.notes} == {"spec.tags", "spec.blockDeviceMappings[0].ebs.volumeSize"}


@pytest.mark.aws("AWS-249")
def test_status_and_the_users_metadata_are_carried_over() -> None:
    old = template()
    old["metadata"] |= {"uid": "1", "annotations": {"karpenter.k8s.aws/nodetemplate-hash": "7", "a": "b"}}
    old["status"] = {"subnets": [{"id": "subnet-1", "zone": "a"}], "conditions": []}
    made = node_class_of_template(old).manifest
    annotations = {"karpenter.k8s.aws/ec2nodeclass-hash": "7", "a": "b"}
    assert made["metadata"] == {"name": "default", "annotations": annotations}
    assert made["status"] == {"subnets": [{"id": "subnet-1", "zone": "a"}]}


@pytest.mark.aws("AWS-249")
def test_labels_and_annotations_have_other_names_since() -> None:
    assert renamed({"karpenter.sh/provisioner-name": "a", "karpenter.sh/do-not-consolidate": "true"}) == {
        "karpenter.sh/nodepool": "a",
        "karpenter.sh/do-not-disrupt": "true",
    }


def test_what_cannot_be_read_is_not_converted() -> None:
    with pytest.raises(InvalidObject, match=r"spec\.amiFamily"):
        node_class_of_template(template(amiFamily="Debian"))
    with pytest.raises(InvalidObject, match=r"AKSNodeClass/x: kind: .*accepted: EC2NodeClass, AWSNodeTemplate"):
        to_v1({"kind": "AKSNodeClass", "metadata": {"name": "x"}})


# v1beta1 to v1 and back


@pytest.mark.aws("AWS-249")
def test_sizes_that_v1_does_not_take_are_written_anew() -> None:
    disk = {**DISK, "ebs": {"volumeSize": "20000Mi"}}
    made = newer_node_class(node_class("v1beta1", amiFamily="AL2", blockDeviceMappings=[disk]))
    assert made.manifest["spec"]["blockDeviceMappings"][0]["ebs"]["volumeSize"] == "20Gi"
    assert told(made, "spec.blockDeviceMappings[0].ebs.volumeSize")


@pytest.mark.aws("AWS-249")
def test_a_family_without_images_becomes_an_alias() -> None:
    spec = newer_node_class(node_class("v1beta1", amiFamily="Bottlerocket")).manifest["spec"]
    assert spec["amiSelectorTerms"] == [{"alias": "bottlerocket@latest"}]
    assert "amiFamily" not in spec


@pytest.mark.aws("AWS-249")
def test_a_family_with_images_stays() -> None:
    spec = newer_node_class(node_class("v1beta1", amiFamily="AL2", amiSelectorTerms=[{"id": "ami-1"}])).manifest["spec"]
    assert (spec["amiFamily"], spec["amiSelectorTerms"]) == ("AL2", [{"id": "ami-1"}])


@pytest.mark.aws("AWS-249", "AWS-009")
def test_ubuntu_is_replaced_and_the_replacement_is_written_down() -> None:
    made = newer_node_class(node_class("v1beta1", amiFamily="Ubuntu"))
    spec = made.manifest["spec"]
    assert made.manifest["metadata"]["annotations"] == {UBUNTU_ANNOTATION: "amiFamily,blockDeviceMappings,incompatible"}
    assert (spec["amiFamily"], spec["amiSelectorTerms"]) == ("AL2", [{"id": "ami-placeholder"}])
    assert spec["blockDeviceMappings"][0]["deviceName"] == "/dev/sda1"
    assert [note.path for note in made.notes if note.by_hand] == ["spec.amiSelectorTerms"]


@pytest.mark.aws("AWS-249")
def test_the_kubelet_block_moves_between_pool_and_class() -> None:
    newer = newer_node_class(node_class("v1beta1", amiFamily="AL2"), {"maxPods": 30})
    assert newer.manifest["spec"]["kubelet"] == {"maxPods": 30}
    older = older_node_class(newer.manifest)
    assert older.kubelet == {"maxPods": 30}
    assert "kubelet" not in older.manifest["spec"]


@pytest.mark.aws("AWS-249")
@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"amiSelectorTerms": [{"alias": "al2023@v20260801"}]}, "spec.amiSelectorTerms[0]"),
        ({"amiFamily": "Custom", "amiSelectorTerms": [{"alias": "al2@latest"}]}, "spec.amiSelectorTerms[0]"),
        ({"amiFamily": "AL2", "amiSelectorTerms": [{"ssmParameter": "/a"}]}, "spec.amiSelectorTerms[0]"),
        ({"placementGroupSelector": {"name": "close"}}, "spec.placementGroupSelector"),
        ({"cpuOptions": {"nestedVirtualization": "enabled"}}, "spec.cpuOptions"),
        ({"ipPrefixCount": 1}, "spec.ipPrefixCount"),
    ],
)
def test_what_v1beta1_cannot_say_is_told(spec: dict[str, Any], path: str) -> None:
    made = older_node_class(node_class("v1", **{"amiSelectorTerms": [{"alias": "al2023@latest"}], **spec}))
    assert told(made, path)


names = st.sampled_from(["a", "b", "c"])
tags = st.dictionaries(names, st.sampled_from(["*", "x"]), min_size=1, max_size=2)
disks = st.lists(
    st.fixed_dictionaries(
        {
            "deviceName": names,
            "ebs": st.fixed_dictionaries(
                {"volumeSize": st.sampled_from(["1Gi", "20G", "2T"])}, optional={"encrypted": st.booleans()}
            ),
        }
    ),
    min_size=1,
    max_size=2,
)
common = {
    "userData": names,
    "tags": tags,
    "context": names,
    "detailedMonitoring": st.booleans(),
    "blockDeviceMappings": disks,
}
images = st.lists(
    st.one_of(
        st.builds(lambda id_: {"id": id_}, st.sampled_from(["ami-1", "ami-2"])),
        st.fixed_dictionaries({"tags": tags}, optional={"owner": names}),
        st.fixed_dictionaries({"name": names}, optional={"owner": names}),
    ),
    min_size=1,
    max_size=2,
)
betas = st.one_of(
    st.fixed_dictionaries({"amiFamily": st.sampled_from(["AL2", "AL2023", "Ubuntu"])}, optional=common),
    st.fixed_dictionaries(
        {"amiFamily": st.sampled_from(["AL2", "Custom", "Ubuntu"]), "amiSelectorTerms": images}, optional=common
    ),
)


@pytest.mark.aws("AWS-249")
@given(betas)
def test_v1beta1_comes_back_from_v1_as_it_was(spec: dict[str, Any]) -> None:
    options = {"httpPutResponseHopLimit": 3, "httpEndpoint": "enabled"}
    original = node_class(
        "v1beta1", **spec, metadataOptions={**options, "httpProtocolIPv6": "disabled", "httpTokens": "optional"}
    )
    back = older_node_class(newer_node_class(original).manifest)
    assert (back.manifest, back.notes) == (original, ())


def selectors(prefix: str) -> st.SearchStrategy[dict[str, str]]:
    by_tags = st.dictionaries(names, st.sampled_from(["*", "x", "x,y"]), min_size=1, max_size=2)
    return st.one_of(by_tags, st.just({"aws-ids": f"{prefix}-1,{prefix}-2"}))


templates = st.fixed_dictionaries(
    {"subnetSelector": selectors("subnet"), "securityGroupSelector": selectors("sg")},
    optional={
        **common,
        "amiFamily": st.sampled_from(["AL2", "Bottlerocket", "Windows2022"]),
        "amiSelector": selectors("ami"),
    },
)


def comparable(read: NodeClass) -> NodeClass:
    """Apart from where it comes from, and the images of a family, which v1 names and earlier generations imply."""
    terms = tuple(term for term in read.ami_selector_terms if not term.alias)
    return attrs.evolve(read, origin=EC2_NODE_CLASS, metadata_options=None, ami_selector_terms=terms)


@pytest.mark.aws("AWS-249")
@given(templates)
def test_a_converted_template_means_what_the_template_means(spec: dict[str, Any]) -> None:
    old = template(**spec)
    made = to_v1(old)
    assert comparable(read_node_class(made.manifest)) == comparable(read_node_class(old))
    assert not any(note.by_hand for note in made.notes)


@pytest.mark.aws("AWS-249")
@given(templates)
def test_a_provisioner_means_the_same_in_all_generations(spec: dict[str, Any]) -> None:
    inline = provisioner(**{key: value for key, value in spec.items() if key not in TEMPLATE_ONLY})
    inline["spec"]["kubeletConfiguration"] = {"maxPods": 20}
    assert comparable(read_node_class(to_v1(inline).manifest)) == comparable(read_node_class(inline))
