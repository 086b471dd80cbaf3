"""Readers of all generations: what they make of a good manifest, and what they say of a bad one."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.objects.kinds import PROVISIONER
from karpy_aws.objects import NodeClass, read_node_class
from karpy_aws.objects.inlineprovider import with_default_selectors
from karpy_aws.objects.nodeclass import SelectorTerm

SELECTORS = {"subnetSelector": {"team": "a"}, "securityGroupSelector": {"team": "a"}}
TERMS = {"subnetSelectorTerms": [{"tags": {"team": "a"}}], "securityGroupSelectorTerms": [{"tags": {"team": "a"}}]}
GOOD = {**TERMS, "role": "nodes", "amiSelectorTerms": [{"alias": "al2023@latest"}]}


def template(**spec: Any) -> NodeClass:
    return read_node_class({"kind": "AWSNodeTemplate", "metadata": {"name": "default"}, "spec": {**SELECTORS, **spec}})


def inline(**provider: Any) -> NodeClass:
    return read_node_class({"kind": "Provisioner", "metadata": {"name": "default"}, "spec": {"provider": provider}})


def node_class(**spec: Any) -> NodeClass:
    given = {key: value for key, value in {**GOOD, **spec}.items() if value is not None}
    return read_node_class({"kind": "EC2NodeClass", "metadata": {"name": "default"}, "spec": given})


# Kinds


def test_other_kinds_are_refused_by_name() -> None:
    with pytest.raises(InvalidObject, match=r"AKSNodeClass/default: kind: .*accepted: EC2NodeClass, AWSNodeTemplate"):
        read_node_class({"kind": "AKSNodeClass", "metadata": {"name": "default"}})


# AWSNodeTemplate v1alpha1


def test_a_template_without_a_family_means_al2() -> None:
    assert template().ami_family == "AL2"


def test_all_tags_of_a_selector_must_match() -> None:
    assert template(subnetSelector={"team": "a", "tier": "*"}).subnet_selector_terms == (
        SelectorTerm({"team": "a", "tier": "*"}),
    )


def test_a_comma_in_a_tag_separates_alternatives() -> None:
    assert template(subnetSelector={"team": "a,b"}).subnet_selector_terms == (
        SelectorTerm({"team": "a"}),
        SelectorTerm({"team": "b"}),
    )


def test_ids_are_split_from_tags() -> None:
    found = template(securityGroupSelector={"aws-ids": "sg-1,sg-2", "team": "a"}).security_group_selector_terms
    assert found == (SelectorTerm({"team": "a"}, "sg-1"), SelectorTerm({"team": "a"}, "sg-2"))


def test_a_launch_template_of_ones_own_needs_no_security_groups() -> None:
    assert template(securityGroupSelector=None, launchTemplate="mine").launch_template == "mine"


@pytest.mark.aws("AWS-017", "AWS-039", "AWS-040")
@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"subnetSelector": None}, "spec.subnetSelector"),
        ({"securityGroupSelector": None}, "spec.securityGroupSelector"),
        ({"subnetSelector": {"": "a"}}, "spec.subnetSelector"),
        ({"subnetSelector": {"aws-ids": "sg-1"}}, "spec.subnetSelector.aws-ids"),
        ({"amiFamily": "Debian"}, "spec.amiFamily"),
        ({"amiFamily": "Custom"}, "spec.amiSelector"),
        ({"amiSelector": {"aws-ids": "image-1"}}, "spec.amiSelector.aws-ids"),
        ({"tags": {"": "a"}}, "spec.tags"),
        ({"metadataOptions": {"httpTokens": "maybe"}}, "spec.metadataOptions.httpTokens"),
        ({"metadataOptions": {"httpPutResponseHopLimit": 65}}, "spec.metadataOptions.httpPutResponseHopLimit"),
        ({"blockDeviceMappings": [{"ebs": {"volumeSize": "20Gi"}}]}, "spec.blockDeviceMappings[0].deviceName"),
        ({"blockDeviceMappings": [{"deviceName": "/dev/xvda"}]}, "spec.blockDeviceMappings[0].ebs"),
        ({"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {}}]}, "spec.blockDeviceMappings[0].ebs"),
        (
            {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "500Mi"}}]},
            "spec.blockDeviceMappings[0].ebs.volumeSize",
        ),
        ({"launchTemplate": "mine"}, "spec.securityGroupSelector"),
        ({"launchTemplate": "mine", "securityGroupSelector": None, "userData": "#!/bin/sh"}, "spec.userData"),
        ({"detailedMonitoring": "yes"}, "spec.detailedMonitoring"),
    ],
)
def test_what_a_template_may_not_say(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        template(**spec)
    assert caught.value.path == path
    assert caught.value.object_name == "AWSNodeTemplate/default"


@pytest.mark.aws("AWS-038")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("securityGroupSelector", {"team": "a"}),
        ("metadataOptions", {}),
        ("amiFamily", "AL2"),
        ("instanceProfile", "nodes"),
        ("blockDeviceMappings", []),
        ("userData", ""),
        ("amiSelector", {"team": "a"}),
    ],
)
def test_a_launch_template_of_ones_own_says_what_these_fields_would(field: str, value: Any) -> None:
    with pytest.raises(InvalidObject, match=f"spec.{field}: launchTemplate is set beside it"):
        template(**{"securityGroupSelector": None, "launchTemplate": "mine", field: value})


@pytest.mark.aws("AWS-039")
@pytest.mark.parametrize("ids", ["subnet-1", " subnet-1 , subnet-2 "])
def test_ids_may_stand_in_a_row(ids: str) -> None:
    found = template(subnetSelector={"aws-ids": ids}).subnet_selector_terms
    assert [term.id for term in found] == [each.strip() for each in ids.split(",")]


# Provisioner v1alpha5, inline provider


def test_an_inline_provider_needs_an_instance_profile_only() -> None:
    found = inline(instanceProfile="nodes")
    assert (found.origin, found.name, found.instance_profile) == (PROVISIONER, "default", "nodes")
    assert found.subnet_selector_terms == ()


@pytest.mark.aws("AWS-041")
def test_selectors_that_are_not_given_are_those_of_the_cluster() -> None:
    own = (SelectorTerm(tags={"kubernetes.io/cluster/prod": "*"}),)
    found = with_default_selectors(inline(instanceProfile="nodes"), "prod")
    assert (found.subnet_selector_terms, found.security_group_selector_terms) == (own, own)
    given = with_default_selectors(inline(instanceProfile="nodes", subnetSelector={"team": "a"}), "prod")
    assert given.subnet_selector_terms == (SelectorTerm(tags={"team": "a"}),)
    assert with_default_selectors(template(), "prod") == template()


def test_a_provisioner_has_its_kubelet_block_beside_the_provider() -> None:
    data = {"kind": "Provisioner", "metadata": {"name": "default"}}
    spec = {"provider": {"instanceProfile": "nodes"}, "kubeletConfiguration": {"clusterDNS": ["10.0.0.10"]}}
    read = read_node_class({**data, "spec": spec})
    assert read.kubelet is not None
    assert read.kubelet.cluster_dns == ("10.0.0.10",)


@pytest.mark.aws("AWS-017", "AWS-041", "AWS-043")
@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ({}, r"spec\.provider\.instanceProfile: it is not set"),
        ({"instanceProfil": "nodes"}, r"spec\.provider\.instanceProfil: unknown field; did you mean instanceProfile\?"),
        ({"instanceProfile": "nodes", "userData": "x"}, r"spec\.provider\.userData: only an AWSNodeTemplate"),
        ({"instanceProfile": 7}, r"spec\.provider\.instanceProfile: found 7 \(accepted: text\)"),
        ({"instanceProfile": "n", "tags": {"": "x"}}, r"spec\.provider\.tags: a tag has an empty key"),
    ],
)
def test_what_an_inline_provider_may_not_say(provider: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        inline(**provider)


def test_a_provisioner_without_an_inline_provider_is_no_node_class() -> None:
    with pytest.raises(InvalidObject, match=r"Provisioner/default: spec\.provider: there is no inline provider"):
        read_node_class({"kind": "Provisioner", "metadata": {"name": "default"}, "spec": {}})


# EC2NodeClass v1 and v1beta1


def test_the_alias_tells_the_family() -> None:
    assert node_class().ami_family == "AL2023"
    assert node_class(amiSelectorTerms=[{"alias": "bottlerocket@1.20.0"}]).ami_family == "Bottlerocket"
    assert node_class(amiFamily="Custom").ami_family == "Custom"


def test_v1beta1_may_name_the_family_and_no_image() -> None:
    assert node_class(amiFamily="AL2", amiSelectorTerms=None).ami_family == "AL2"


def test_terms_become_selectors() -> None:
    found = node_class(securityGroupSelectorTerms=[{"name": "nodes"}, {"id": "sg-1"}]).security_group_selector_terms
    assert found == (SelectorTerm(name="nodes"), SelectorTerm(id="sg-1"))


def test_an_image_may_be_named_with_its_owner() -> None:
    found = node_class(amiFamily="AL2", amiSelectorTerms=[{"name": "mine-*", "owner": "self"}])
    assert found.ami_selector_terms == (SelectorTerm(name="mine-*", owner="self"),)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"role": None}, "spec"),
        ({"instanceProfile": "p"}, "spec"),
        ({"role": ""}, "spec.role"),
        ({"subnetSelectorTerms": []}, "spec.subnetSelectorTerms"),
        ({"subnetSelectorTerms": [{}]}, "spec.subnetSelectorTerms[0]"),
        ({"subnetSelectorTerms": [{"tags": {}}]}, "spec.subnetSelectorTerms[0].tags"),
        ({"subnetSelectorTerms": [{"tags": {"a": ""}}]}, "spec.subnetSelectorTerms[0].tags"),
        ({"subnetSelectorTerms": [{"id": "net-1"}]}, "spec.subnetSelectorTerms[0].id"),
        ({"subnetSelectorTerms": [{"id": "subnet-1", "tags": {"a": "b"}}]}, "spec.subnetSelectorTerms[0]"),
        ({"subnetSelectorTerms": [{"name": "x"}]}, "spec.subnetSelectorTerms[0]"),
        ({"securityGroupSelectorTerms": [{"name": "x", "tags": {"a": "b"}}]}, "spec.securityGroupSelectorTerms[0]"),
        ({"amiSelectorTerms": None}, "spec.amiSelectorTerms"),
        ({"amiSelectorTerms": [{"owner": "self"}]}, "spec.amiSelectorTerms[0]"),
        ({"amiSelectorTerms": [{"id": "ami-1"}]}, "spec.amiFamily"),
        ({"amiSelectorTerms": [{"alias": "al2@latest"}, {"id": "ami-1"}]}, "spec.amiSelectorTerms"),
        ({"amiSelectorTerms": [{"alias": "al2"}]}, "spec.amiSelectorTerms[0].alias"),
        ({"amiSelectorTerms": [{"alias": "al2023@a@b"}]}, "spec.amiSelectorTerms[0].alias"),
        ({"amiSelectorTerms": [{"alias": "debian@latest"}]}, "spec.amiSelectorTerms[0].alias"),
        ({"amiSelectorTerms": [{"alias": "windows2022@1"}]}, "spec.amiSelectorTerms[0].alias"),
        ({"amiFamily": "AL2"}, "spec.amiFamily"),
        ({"amiFamily": "Custom", "amiSelectorTerms": None}, "spec.amiSelectorTerms"),
        ({"tags": {"kubernetes.io/cluster/x": "owned"}}, "spec.tags"),
        ({"tags": {"karpenter.sh/nodepool": "x"}}, "spec.tags"),
        ({"instanceStorePolicy": "RAID1"}, "spec.instanceStorePolicy"),
        (
            {
                "blockDeviceMappings": [
                    {"deviceName": f"/dev/xvd{letter}", "rootVolume": True, "ebs": {"volumeSize": "4Gi"}}
                    for letter in "ab"
                ]
            },
            "spec.blockDeviceMappings",
        ),
    ],
)
def test_what_a_node_class_may_not_say(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        node_class(**spec)
    assert caught.value.path == path
    assert caught.value.accepted
