from __future__ import annotations

import json
import re
from typing import Any

import attrs
import pytest

from karpy.errors import InvalidObject
from karpy.testing.clock import FakeClock
from karpy_aws.api import SERVICES
from karpy_aws.errors import permissions
from karpy_aws.iampolicy import GENERATIONS, PolicyScope, actions_of, partition_of, policies
from karpy_aws.launchtemplates import LaunchTemplate
from karpy_aws.profiles import Profiles, WantedProfile
from karpy_aws.templatecache import LaunchTemplateCache
from karpy_aws.testing import World
from tests.karpy_aws.iam import Question, WatchedAWS, allows, facts, refused

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
    newer = {"CapacityReservations", "PlacementGroups", "ManagedResource", "InstanceProfile"}
    assert all(any(name in action for name in newer) for action in needed - allowed)
    assert {"iam:ListInstanceProfiles", "ec2:DescribeInstanceStatus"} <= allowed  # of what is there, whoever made it


def is_allowed(action: str, arn: str, **context: Any) -> bool:
    return allows(policies(SCOPE).values(), Question(action, arn, facts(**context)))


def ec2(resource: str) -> str:
    return f"arn:aws:ec2:us-west-2:111122223333:{resource}"


def test_machines_are_launched_with_the_clusters_tags_only() -> None:
    for action in ("ec2:CreateFleet", "ec2:RunInstances"):
        assert is_allowed(action, ec2("instance/i-1"), request=OWNED)
        assert not is_allowed(action, ec2("instance/i-1"), request=OWNED | {"eks:eks-cluster-name": "another"})
        assert not is_allowed(action, ec2("instance/i-1"))
        assert is_allowed(action, "arn:aws:ec2:us-west-2::image/ami-1")
        assert is_allowed(action, ec2("launch-template/lt-1"), resource=OWNED)
        assert not is_allowed(action, ec2("launch-template/lt-1"), resource={})


def test_only_the_clusters_own_is_ended() -> None:
    for action, resource in (
        ("ec2:TerminateInstances", "instance/i-1"),
        ("ec2:DeleteLaunchTemplate", "launch-template/lt-1"),
    ):
        assert is_allowed(action, ec2(resource), resource=OWNED)
        assert not is_allowed(action, ec2(resource), resource={"kubernetes.io/cluster/another": "owned"})


def test_tags_are_given_at_birth_and_three_of_them_later() -> None:
    machine = ec2("instance/i-1")
    assert is_allowed("ec2:CreateTags", machine, request=OWNED, CreateAction="CreateFleet")
    later = {"Name": "node", "karpenter.sh/nodeclaim": "claim", "eks:eks-cluster-name": "mine"}
    assert is_allowed("ec2:CreateTags", machine, request=later, resource=OWNED)
    assert is_allowed("ec2:CreateTags", machine, request={"Name": "node"}, resource=OWNED)
    assert not is_allowed("ec2:CreateTags", machine, request={"other": "tag"}, resource=OWNED)
    assert not is_allowed("ec2:CreateTags", machine, request=later, resource={})


def test_profiles_are_the_clusters_own() -> None:
    profile = "arn:aws:iam::111122223333:instance-profile/karpenter/us-west-2/mine/uid/mine_1"
    assert is_allowed("iam:CreateInstanceProfile", profile, request=PROFILE)
    assert not is_allowed("iam:CreateInstanceProfile", profile, request={})
    for action in ("iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"):
        assert is_allowed(action, profile, resource=PROFILE)
        assert not is_allowed(action, profile, resource={})
    assert is_allowed("iam:TagInstanceProfile", profile, request=PROFILE, resource=PROFILE)
    assert is_allowed("iam:GetInstanceProfile", profile)


def test_the_life_of_a_profile_is_allowed() -> None:
    fake = WatchedAWS(World(roles={"KarpenterNodeRole-mine", "other"}), clock=FakeClock())
    profiles = Profiles(fake.apis.iam, "mine", "us-west-2", clock=FakeClock())
    wanted = WantedProfile(class_name="default", class_uid="uid", role="KarpenterNodeRole-mine")
    profiles.ensure(wanted)
    profiles.collect_garbage((), ())
    profiles.delete_of_class("uid")
    assert refused(fake.questions, policies(SCOPE).values()) == []
    fake.questions.clear()
    profiles.ensure(WantedProfile(class_name="default", class_uid="uid", role="other"))
    assert [each.action for each in refused(fake.questions, policies(SCOPE).values())] == ["iam:PassRole"]


def test_the_life_of_a_launch_template_is_allowed_with_the_clusters_tags_only() -> None:
    def life(tags: dict[str, str]) -> WatchedAWS:
        clock = FakeClock()
        fake = WatchedAWS(clock=clock)
        cache = LaunchTemplateCache(fake.apis.ec2, clock, cluster="mine", idle_s=1.0)
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        request = {"LaunchTemplateName": "template", "LaunchTemplateData": {"ImageId": "ami-1"}}
        marked = {**request, "TagSpecifications": [{"ResourceType": "launch-template", "Tags": pairs}]}
        with cache.using([LaunchTemplate(name="template", types=(), request=marked)]):
            pass
        clock.advance(2.0)
        assert cache.collect() == ("template",)
        return fake

    assert refused(life(OWNED).questions, policies(SCOPE).values()) == []
    strange = refused(life({"team": "a"}).questions, policies(SCOPE).values())
    assert [each.action for each in strange] == [
        "ec2:CreateLaunchTemplate",
        "ec2:CreateTags",
        "ec2:DeleteLaunchTemplate",
    ]


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


def test_all_documents_fit_into_one_role() -> None:
    longest = PolicyScope(cluster="c" * 100, region="ap-southeast-2", account="1" * 12, node_role="r" * 64)
    assert sum(len(json.dumps(each, separators=(",", ":"))) for each in policies(longest).values()) <= 10_240


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("us-west-2", "aws"),
        ("cn-northwest-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
        ("eusc-de-east-1", "aws-eusc"),
    ],
)
def test_a_region_tells_its_partition(region: str, partition: str) -> None:
    assert partition_of(region) == partition
    policies(PolicyScope(cluster="mine", region=region))


@pytest.mark.parametrize(
    ("field", "value"),
    [("cluster", "*"), ("cluster", "a/b"), ("region", "here"), ("account", "1"), ("node_role", "a b"), ("queue", "q*")],
)
def test_what_iam_would_read_as_something_else_is_refused(field: str, value: str) -> None:
    with pytest.raises(InvalidObject, match=rf"{field}: found '{re.escape(value)}' \(accepted: "):
        policies(attrs.evolve(SCOPE, **{field: value}))


def test_a_generation_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidObject, match=r"generation: found 'v2' \(accepted: v1, v1beta1, v1alpha1, v1alpha5\)"):
        policies(SCOPE, "v2")
