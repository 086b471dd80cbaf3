from __future__ import annotations

from typing import Any

import pytest

from karpy.cloud.provider import HookAnswer, RegistrationHook
from karpy.errors import ProviderError
from karpy.labels import INSTANCE_TYPE
from karpy.objects.meta import ObjectMeta
from karpy.objects.node import Node, NodeStatus
from karpy_aws.machines import instance_id
from tests.karpy_aws.providerworld import POOL, Setup, claim, launched

PARTITION = "karpenter.k8s.aws/placement-group-partition"
GROUP = {"GroupId": "pg-1", "GroupName": "apart", "Strategy": "partition", "State": "available", "PartitionCount": 3}


def hook(setup: Setup, name: str) -> RegistrationHook:
    (found,) = (each for each in setup.provider.registration_hooks if each.name == name)
    return found


def node(memory: str = "7Gi") -> Node:
    return Node(ObjectMeta(name="ip-10-0-0-1"), status=NodeStatus(capacity={"memory": memory}))


def tags(setup: Setup, provider_id: str) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in setup.world.instances[instance_id(provider_id)]["Tags"]}


# Tags


@pytest.mark.aws("AWS-232")
def test_a_machine_is_named_after_its_node_and_its_claim() -> None:
    setup = Setup.of()
    instance = setup.launch(setup.resolved())
    answer = hook(setup, "NodeClaimTagging").registered(launched(claim(), instance), node())
    assert answer == HookAnswer()
    named = tags(setup, instance.provider_id)
    assert (named["Name"], named["karpenter.sh/nodeclaim"]) == ("ip-10-0-0-1", "claim-1")
    assert named["eks:eks-cluster-name"] == "mine"


@pytest.mark.aws("AWS-232")
def test_a_name_of_the_users_stays_and_a_machine_that_has_all_tags_is_left_alone() -> None:
    setup = Setup.of()
    instance = setup.launch(setup.resolved(tags={"Name": "theirs"}))
    tagging, mine = hook(setup, "NodeClaimTagging"), launched(claim(), instance)
    tagging.registered(mine, node())
    assert tags(setup, instance.provider_id)["Name"] == "theirs"
    asked = len(setup.fake.requests("CreateTags"))
    tagging.registered(mine, node())
    assert len(setup.fake.requests("CreateTags")) == asked


@pytest.mark.aws("AWS-232")
def test_no_node_is_kept_waiting_for_tags_that_may_not_be_written() -> None:
    setup = Setup.of()
    mine = launched(claim(), setup.launch(setup.resolved()))
    setup.world.denied.add("ec2:CreateTags")
    assert hook(setup, "NodeClaimTagging").registered(mine, node()).is_done
    assert any("tagging" in entry["event"] and "ec2:CreateTags" in entry["error"] for entry in setup.logged)


def test_tags_that_are_written_too_fast_are_written_a_little_later() -> None:
    setup = Setup.of()
    instance = setup.launch(setup.resolved())
    mine, tagging = launched(claim(), instance), hook(setup, "NodeClaimTagging")
    setup.world.fail("CreateTags", "RequestLimitExceeded", status=503)
    assert tagging.registered(mine, node()) == HookAnswer(is_done=False, retry_after_s=1.0)
    assert tagging.registered(mine, node()).is_done
    assert "Name" in tags(setup, instance.provider_id)


# Partitions


def grouped(**group: Any) -> tuple[Setup, Any]:
    setup = Setup.of()
    setup.world.load(placement_groups=[{**GROUP, **group}])
    return setup, setup.launch(setup.resolved(placementGroupSelector={"name": "apart"}))


@pytest.mark.aws("AWS-235")
def test_a_node_waits_until_ec2_tells_its_partition() -> None:
    setup, instance = grouped()
    machine, waiting = setup.world.instances[instance_id(instance.provider_id)], launched(claim(), instance)
    number = machine["Placement"].pop("PartitionNumber")
    partition = hook(setup, "PlacementGroupRegistrationHook")
    assert partition.registered(waiting, node()) == HookAnswer(is_done=False, retry_after_s=1.0)
    machine["Placement"]["PartitionNumber"] = number
    assert partition.registered(waiting, node()) == HookAnswer(labels={PARTITION: str(number)})


@pytest.mark.aws("AWS-235")
def test_nobody_waits_for_a_partition_that_is_known_or_that_there_is_none_of() -> None:
    setup, instance = grouped()
    partition, asked = hook(setup, "PlacementGroupRegistrationHook"), len(setup.fake.calls)
    assert partition.registered(launched(claim(), instance, **{PARTITION: "2"}), node()) == HookAnswer()
    assert len(setup.fake.calls) == asked
    alone, instance = grouped(Strategy="cluster", PartitionCount=0)
    assert hook(alone, "PlacementGroupRegistrationHook").registered(launched(claim(), instance), node()) == HookAnswer()
    without = Setup.of()
    mine = launched(claim(), without.launch(without.resolved()))
    assert hook(without, "PlacementGroupRegistrationHook").registered(mine, node()) == HookAnswer()


@pytest.mark.aws("AWS-235")
def test_a_partition_that_ec2_does_not_tell_of_keeps_the_node_closed() -> None:
    setup, instance = grouped()
    setup.world.fail("DescribeInstances", "InternalError", status=500, times=3)
    with pytest.raises(ProviderError, match="ec2:DescribeInstances"):
        hook(setup, "PlacementGroupRegistrationHook").registered(launched(claim(), instance), node())


# Memory


def test_the_memory_of_a_node_counts_for_the_next_of_its_type() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    mine = launched(claim(), setup.launch(raw))
    types = setup.provider.instance_types(POOL, raw)
    hook(setup, "DiscoveredCapacity").registered(mine, node("6Gi"))
    after = setup.provider.instance_types(POOL, raw)
    changed = {each.name for each, was in zip(after, types, strict=True) if each is not was}
    assert changed == {mine.labels[INSTANCE_TYPE]}
    assert after.by_name(mine.labels[INSTANCE_TYPE]).capacity["memory"] == 6 * 2**30
