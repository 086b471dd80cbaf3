from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping
from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy_aws.api import SERVICES
from karpy_aws.errors import permissions
from karpy_aws.iampolicy import GENERATIONS, PolicyScope, actions_of, policies

SCOPE = PolicyScope(cluster="mine", region="us-west-2", account="111122223333")
OWNED = {"kubernetes.io/cluster/mine": "owned", "eks:eks-cluster-name": "mine", "karpenter.sh/nodepool": "default"}
PROFILE = {
    "kubernetes.io/cluster/mine": "owned",
    "eks:eks-cluster-name": "mine",
    "topology.kubernetes.io/region": "us-west-2",
    "karpenter.k8s.aws/ec2nodeclass": "default",
}
LONGEST = 6_144  # letters that IAM takes in one managed policy, without blanks


def calls() -> set[str]:
    """Every call that karpy can make."""
    return {
        f"{service}:{''.join(word.capitalize() for word in name.split('_'))}"
        for service, protocol in SERVICES.items()
        for name in vars(protocol)
        if not name.startswith("_")
    }


def test_todays_policies_allow_what_karpy_calls_and_nothing_else() -> None:
    needed = {action for call in calls() for action in permissions(call)}
    assert actions_of(policies(SCOPE).values()) == needed


@pytest.mark.parametrize("generation", ["v1alpha1", "v1alpha5"])
def test_older_policies_lack_what_came_later(generation: str) -> None:
    allowed = actions_of(policies(SCOPE, generation).values())
    needed = {action for call in calls() for action in permissions(call)}
    assert allowed < needed
    newer = {"CapacityReservations", "PlacementGroups", "InstanceStatus", "ManagedResource", "InstanceProfile"}
    assert all(any(name in action for name in newer) for action in needed - allowed)


def is_allowed(action: str, resource: str, *, generation: str = "v1", **context: Mapping[str, str] | str) -> bool:
    """As IAM decides: one statement must have action and resource, and all of its conditions must hold."""
    facts: dict[str, Any] = {}
    for name, value in context.items():
        key = f"aws:{name}"
        facts |= {f"{key}/{tag}": text for tag, text in value.items()} if isinstance(value, Mapping) else {key: value}
    if isinstance(context.get("RequestTag"), Mapping):
        facts["aws:TagKeys"] = list(context["RequestTag"])
    if "CreateAction" in context:
        facts["ec2:CreateAction"] = context["CreateAction"]
    return any(
        action in statement["Action"]
        and any(fnmatch.fnmatchcase(resource, pattern) for pattern in statement["Resource"])
        and all(holds(operator, wanted, facts) for operator, wanted in statement.get("Condition", {}).items())
        for document in policies(SCOPE, generation).values()
        for statement in document["Statement"]
    )


def holds(operator: str, wanted: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    def one(key: str, accepted: str | list[str]) -> bool:
        values = [accepted] if isinstance(accepted, str) else accepted
        if key not in facts:
            return operator.endswith("IfExists") or operator.startswith("ForAllValues")
        found = facts[key] if isinstance(facts[key], list) else [facts[key]]
        if "StringLike" in operator:
            return all(any(fnmatch.fnmatchcase(text, value) for value in values) for text in found)
        return all(text in values for text in found)

    return all(one(key, accepted) for key, accepted in wanted.items())


def ec2(resource: str) -> str:
    return f"arn:aws:ec2:us-west-2:111122223333:{resource}"


def test_machines_are_launched_with_the_clusters_tags_only() -> None:
    for action in ("ec2:CreateFleet", "ec2:RunInstances"):
        assert is_allowed(action, ec2("instance/i-1"), RequestTag=OWNED)
        assert not is_allowed(action, ec2("instance/i-1"), RequestTag=OWNED | {"eks:eks-cluster-name": "another"})
        assert not is_allowed(action, ec2("instance/i-1"))
        assert is_allowed(action, "arn:aws:ec2:us-west-2::image/ami-1")
        assert is_allowed(action, ec2("launch-template/lt-1"), ResourceTag=OWNED)
        assert not is_allowed(action, ec2("launch-template/lt-1"), ResourceTag={})


def test_only_the_clusters_own_is_ended() -> None:
    for action, resource in (
        ("ec2:TerminateInstances", "instance/i-1"),
        ("ec2:DeleteLaunchTemplate", "launch-template/lt-1"),
    ):
        assert is_allowed(action, ec2(resource), ResourceTag=OWNED)
        assert not is_allowed(action, ec2(resource), ResourceTag={"kubernetes.io/cluster/another": "owned"})


def test_tags_are_given_at_birth_and_three_of_them_later() -> None:
    machine = ec2("instance/i-1")
    assert is_allowed("ec2:CreateTags", machine, RequestTag=OWNED, CreateAction="CreateFleet")
    later = {"Name": "node", "karpenter.sh/nodeclaim": "claim", "eks:eks-cluster-name": "mine"}
    assert is_allowed("ec2:CreateTags", machine, RequestTag=later, ResourceTag=OWNED)
    assert is_allowed("ec2:CreateTags", machine, RequestTag={"Name": "node"}, ResourceTag=OWNED)
    assert not is_allowed("ec2:CreateTags", machine, RequestTag={"other": "tag"}, ResourceTag=OWNED)
    assert not is_allowed("ec2:CreateTags", machine, RequestTag=later, ResourceTag={})


def test_profiles_are_the_clusters_own() -> None:
    profile = "arn:aws:iam::111122223333:instance-profile/karpenter/us-west-2/mine/uid/mine_1"
    assert is_allowed("iam:CreateInstanceProfile", profile, RequestTag=PROFILE)
    assert not is_allowed("iam:CreateInstanceProfile", profile, RequestTag={})
    for action in ("iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"):
        assert is_allowed(action, profile, ResourceTag=PROFILE)
        assert not is_allowed(action, profile, ResourceTag={})
    assert is_allowed("iam:TagInstanceProfile", profile, RequestTag=PROFILE, ResourceTag=PROFILE)
    assert is_allowed("iam:GetInstanceProfile", profile)


def test_what_exists_is_read_in_its_region() -> None:
    assert is_allowed("ec2:DescribeInstances", "*", RequestedRegion="us-west-2")
    assert not is_allowed("ec2:DescribeInstances", "*", RequestedRegion="eu-west-1")
    assert is_allowed("ssm:GetParameter", "arn:aws:ssm:us-west-2::parameter/aws/service/eks/optimized-ami/image_id")
    assert is_allowed("eks:DescribeCluster", "arn:aws:eks:us-west-2:111122223333:cluster/mine")
    assert not is_allowed("eks:DescribeCluster", "arn:aws:eks:us-west-2:111122223333:cluster/another")
    assert is_allowed("sqs:ReceiveMessage", "arn:aws:sqs:us-west-2:111122223333:mine")


def test_names_are_those_of_the_guides_unless_given() -> None:
    [statement] = [
        found
        for found in policies(SCOPE)["IAMIntegrationPolicy"]["Statement"]
        if found["Sid"] == "AllowPassingInstanceRole"
    ]
    assert statement["Resource"] == ["arn:aws:iam::111122223333:role/KarpenterNodeRole-mine"]
    china = PolicyScope(cluster="mine", region="cn-north-1", partition="aws-cn", node_role="own", queue="q")
    documents = policies(china)
    assert documents["InterruptionPolicy"]["Statement"][0]["Resource"] == ["arn:aws-cn:sqs:cn-north-1:*:q"]
    assert documents["IAMIntegrationPolicy"]["Statement"][0]["Resource"] == ["arn:aws-cn:iam::*:role/own"]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_document_fits_into_a_managed_policy(generation: str) -> None:
    longest = PolicyScope(cluster="c" * 100, region="ap-southeast-2", account="1" * 12, node_role="r" * 64)
    for document in policies(longest, generation).values():
        assert len(json.dumps(document, separators=(",", ":"))) <= LONGEST
        sids = [statement["Sid"] for statement in document["Statement"]]
        assert len(sids) == len(set(sids))


def test_a_generation_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidObject, match=r"generation: found 'v2' \(accepted: v1, v1beta1, v1alpha1, v1alpha5\)"):
        policies(SCOPE, "v2")
