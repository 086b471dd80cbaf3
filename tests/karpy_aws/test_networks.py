from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy.errors import InvalidObject
from karpy_aws.networks import group_requests, read_groups, read_subnets, subnet_requests
from karpy_aws.objects import NodeClass, read_node_class
from karpy_aws.objects.inlineprovider import with_default_selectors
from karpy_aws.objects.nodeclass import SelectorTerm
from tests.karpy_aws.providerworld import node_class


def selecting(subnets: list[dict[str, Any]], groups: list[dict[str, Any]] | None = None) -> NodeClass:
    return read_node_class(
        node_class(subnetSelectorTerms=subnets, securityGroupSelectorTerms=groups or [{"id": "sg-1"}])
    )


def filters(requests: tuple[dict[str, Any], ...]) -> list[list[tuple[str, list[str]]]]:
    return [[(each["Name"], each["Values"]) for each in request["Filters"]] for request in requests]


@pytest.mark.aws("AWS-241")
def test_ids_are_asked_for_together_and_every_other_term_by_itself() -> None:
    asked = subnet_requests(
        selecting([{"id": "subnet-2"}, {"id": "subnet-1"}, {"tags": {"team": "a", "env": "*"}}, {"tags": {"x": "y"}}])
    )
    assert filters(asked) == [
        [("subnet-id", ["subnet-1", "subnet-2"])],
        [("tag-key", ["env"]), ("tag:team", ["a"])],
        [("tag:x", ["y"])],
    ]


@pytest.mark.aws("AWS-241")
def test_groups_are_also_found_by_name() -> None:
    asked = group_requests(selecting([{"id": "subnet-1"}], [{"name": "nodes"}, {"id": "sg-1"}, {"tags": {"a": "*"}}]))
    assert filters(asked) == [[("group-id", ["sg-1"])], [("group-name", ["nodes"])], [("tag-key", ["a"])]]


@pytest.mark.aws("AWS-241")
def test_tags_beside_an_id_must_hold_too_as_templates_of_025_have_it() -> None:
    old = attrs.evolve(selecting([{"id": "subnet-1"}]), subnet_selector_terms=(SelectorTerm({"a": "b"}, "subnet-1"),))
    assert filters(subnet_requests(old)) == [[("tag:a", ["b"]), ("subnet-id", ["subnet-1"])]]


def test_a_term_that_asks_for_nothing_would_select_the_whole_account() -> None:
    unbound = attrs.evolve(selecting([{"id": "subnet-1"}]), subnet_selector_terms=(SelectorTerm(),))
    with pytest.raises(InvalidObject, match=r"spec\.subnetSelectorTerms\[0\]: asks for nothing"):
        subnet_requests(unbound)


@pytest.mark.aws("AWS-063")
def test_subnets_come_once_and_by_their_free_addresses() -> None:
    entry = {"AvailabilityZone": "us-west-2a", "AvailabilityZoneId": "usw2-az2"}
    told = [("subnet-b", 5), ("subnet-a", 5), ("subnet-c", 9), ("subnet-b", 5)]
    found = read_subnets([{**entry, "SubnetId": id_, "AvailableIpAddressCount": free} for id_, free in told])
    assert [(subnet.id, subnet.free_addresses) for subnet in found] == [
        ("subnet-c", 9),
        ("subnet-a", 5),
        ("subnet-b", 5),
    ]
    assert found[0].as_status.zone_id == "usw2-az2"


GROUPS = [
    {"GroupId": "sg-3", "GroupName": "c", "Tags": [{"Key": "kubernetes.io/cluster/mine", "Value": "owned"}]},
    {"GroupId": "sg-2", "GroupName": "b", "Tags": [{"Key": "kubernetes.io/cluster/mine", "Value": "owned"}]},
    {"GroupId": "sg-1", "GroupName": "a"},
]


@pytest.mark.aws("AWS-064")
def test_groups_come_by_id() -> None:
    found = read_groups(GROUPS, selecting([{"id": "subnet-1"}]), "mine")
    assert [(group.id, group.name) for group in found] == [("sg-1", "a"), ("sg-2", "b"), ("sg-3", "c")]


@pytest.mark.aws("AWS-245")
def test_machines_of_a_provisioner_are_in_one_group_with_the_clusters_tag_only() -> None:
    provisioner = {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "default"},
        "spec": {"provider": {"instanceProfile": "nodes"}},
    }
    read = with_default_selectors(read_node_class(provisioner), "mine")
    assert filters(group_requests(read)) == [[("tag-key", ["kubernetes.io/cluster/mine"])]]
    assert [group.id for group in read_groups(GROUPS, read, "mine")] == ["sg-1", "sg-2"]
