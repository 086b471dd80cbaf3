from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import NodeClassNotReady
from karpy.objects.kinds import PROVISIONER, Kind
from karpy_aws.machines import Machine, is_owned
from karpy_aws.objects import NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE
from karpy_aws.tags import launch_tags, tag_specifications

FOUND_BY = {
    "kubernetes.io/cluster/shop": "owned",
    "karpenter.sh/nodepool": "web",
    "eks:eks-cluster-name": "shop",
    "karpenter.k8s.aws/ec2nodeclass": "large",
}


def tags(origin: Kind = EC2_NODE_CLASS, own: dict[str, str] | None = None, **options: Any) -> dict[str, str]:
    return launch_tags(NodeClass(name="large", origin=origin, tags=own), cluster="shop", pool="web", **options)


@pytest.mark.aws("AWS-161")
def test_machines_bear_the_users_tags_and_those_that_they_are_found_by() -> None:
    assert tags() == FOUND_BY
    assert tags(own={"team": "a", "Name": "mine"}) == {"team": "a", "Name": "mine", **FOUND_BY}


@pytest.mark.aws("AWS-016", "AWS-198")
@pytest.mark.parametrize(
    "key",
    [
        *("karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass", "eks:eks-cluster-name"),
        "kubernetes.io/cluster/another",
    ],
)
def test_a_tag_that_only_karpy_may_set_leaves_the_class_not_ready(key: str) -> None:
    with pytest.raises(NodeClassNotReady, match=key):
        tags(own={"team": "a", key: "b"})


@pytest.mark.aws("AWS-161", "AWS-195")
@pytest.mark.parametrize("origin", [EC2_NODE_CLASS, AWS_NODE_TEMPLATE, PROVISIONER])
def test_machines_of_every_generation_are_found_again(origin: Kind) -> None:
    machine = Machine(id="i-1", state="running", zone="a", instance_type="m5.large", tags=tags(origin, {"team": "a"}))
    assert is_owned(machine, "shop")


def test_machines_of_older_generations_bear_the_tags_of_their_day_too() -> None:
    template = tags(AWS_NODE_TEMPLATE, {"team": "a"}, everywhere={"team": "all", "cost": "1"})
    assert template == FOUND_BY | {
        "Name": "karpenter.sh/provisioner-name/web",
        "karpenter.sh/provisioner-name": "web",
        "team": "a",
        "cost": "1",
    }
    inline = tags(PROVISIONER, {"Name": "mine"})
    assert inline == FOUND_BY | {"Name": "mine", "karpenter.sh/cluster/shop": "owned"}


@pytest.mark.aws("AWS-161")
def test_machine_volume_and_fleet_are_tagged_and_the_machine_alone_with_its_claim() -> None:
    team, claim = {"Key": "team", "Value": "a"}, {"Key": "karpenter.sh/nodeclaim", "Value": "web-1"}
    assert tag_specifications({"team": "a"}, "web-1") == [
        {"ResourceType": "instance", "Tags": [claim, team]},
        {"ResourceType": "volume", "Tags": [team]},
        {"ResourceType": "fleet", "Tags": [team]},
    ]
