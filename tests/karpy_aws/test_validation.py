"""A class whose things were all found is tried out before it counts as ready."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import ProviderError
from tests.karpy_aws.providerworld import Setup, node_class

TRIALS = ("CreateLaunchTemplate", "CreateFleet", "RunInstances")


def trials(setup: Setup) -> list[str]:
    return [call.operation for call in setup.fake.calls if call.operation in TRIALS]


@pytest.mark.aws("AWS-078")
@pytest.mark.parametrize("call", TRIALS)
def test_a_permission_that_launches_need_is_missed_before_the_first_launch(call: str) -> None:
    setup = Setup.of()
    setup.world.denied.add(f"ec2:{call}")
    found = setup.provider.resolve(node_class())
    assert (found.ready, found.reason) == (False, f"{call}AuthCheckFailed")
    assert found.message.startswith(f"Controller isn't authorized to call ec2:{call}: ec2:{call}")
    assert "no identity-based policy allows the action" in found.message
    assert found.status["subnets"]


def test_trials_launch_nothing() -> None:
    setup = Setup.of()
    setup.resolved()
    assert trials(setup) == list(TRIALS)
    assert not setup.world.instances
    assert all(request["DryRun"] for call in TRIALS[1:] for request in setup.fake.requests(call))


def test_the_machine_that_is_tried_is_what_a_launch_would_be() -> None:
    setup = Setup.of()
    setup.resolved()
    (tried,) = setup.fake.requests("RunInstances")
    (template,) = setup.world.launch_templates.values()
    assert tried["LaunchTemplate"]["LaunchTemplateName"] == template["LaunchTemplateName"]
    assert [(each["SubnetId"], each["Groups"]) for each in tried["NetworkInterfaces"]] == [("subnet-a", ["sg-1"])]
    assert {each["ResourceType"] for each in tried["TagSpecifications"]} == {"instance", "volume"}


@pytest.mark.aws("AWS-079")
def test_one_subnet_that_will_do_is_enough() -> None:
    setup = Setup.of()
    setup.world.fail("RunInstances", "InternalError", "no", status=500)
    assert setup.provider.resolve(node_class()).ready
    assert trials(setup) == [*TRIALS, "RunInstances"]


@pytest.mark.aws("AWS-079")
@pytest.mark.parametrize(("code", "status"), [("InternalError", 500), ("RequestLimitExceeded", 503)])
def test_a_failure_of_ec2_says_nothing_of_the_class(code: str, status: int) -> None:
    setup = Setup.of()
    setup.world.fail("CreateFleet", code, status=status)
    with pytest.raises(ProviderError, match=code):
        setup.provider.resolve(node_class())
    assert setup.provider.resolve(node_class()).ready


@pytest.mark.aws("AWS-080")
def test_a_profile_of_the_users_that_is_not_there_is_told() -> None:
    found = Setup.of().provider.resolve(node_class(role=None, instanceProfile="none"))
    assert (found.ready, found.reason) == (False, "InstanceProfileNotFound")
    assert "none" in found.message


@pytest.mark.aws("AWS-080")
def test_a_profile_that_karpy_has_just_made_may_not_be_known_everywhere_yet() -> None:
    setup = Setup.of()
    refused = (
        "InvalidParameterValue",
        "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
    )
    setup.world.fail("RunInstances", *refused, times=2)
    with pytest.raises(ProviderError, match="Invalid IAM Instance Profile name"):
        setup.provider.resolve(node_class())
    assert setup.provider.resolve(node_class()).ready


@pytest.mark.aws("AWS-082")
def test_al2023_needs_the_range_of_the_services_addresses() -> None:
    setup = Setup.of()
    del setup.world.clusters["mine"]["kubernetesNetworkConfig"]
    assert setup.provider.resolve(node_class()).reason == "ClusterCIDRResolutionFailed"
    setup.world.clusters["mine"]["kubernetesNetworkConfig"] = {"serviceIpv6Cidr": "fd00::/108"}
    setup.clock.advance(300)
    assert setup.provider.resolve(node_class()).ready


@pytest.mark.aws("AWS-083")
@pytest.mark.parametrize(
    ("message", "reason"),
    [("User data is limited to 16384 bytes", "UserDataSizeLimitExceeded"), ("Bad encoding", "ValidationFailed")],
)
def test_user_data_that_ec2_does_not_take_is_told(message: str, reason: str) -> None:
    setup = Setup.of()
    setup.world.fail("RunInstances", "InvalidUserData.Malformed", message, times=2)
    assert setup.provider.resolve(node_class()).reason == reason


def test_user_data_that_is_too_long_in_the_end_is_told() -> None:
    text = "\n".join(f"echo {number}" for number in range(3000))
    found = Setup.of().provider.resolve(node_class(userData=f"#!/bin/bash\n{text}"))
    assert found.reason == "UserDataSizeLimitExceeded"


@pytest.mark.aws("AWS-084")
def test_what_is_tried_is_a_usual_machine() -> None:
    setup = Setup.of()
    setup.world.on_demand_prices["m5.xlarge"] = 0.001
    setup.world.instance_types["m5.xlarge"]["GpuInfo"] = {
        "Gpus": [{"Name": "T4", "Manufacturer": "NVIDIA", "Count": 1, "MemoryInfo": {"SizeInMiB": 16384}}]
    }
    setup.resolved()
    (tried,) = setup.fake.requests("RunInstances")
    assert tried["InstanceType"] == "m7g.large"


@pytest.mark.aws("AWS-086")
def test_a_class_that_is_fine_is_not_tried_again_for_a_while_unless_it_changes() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    setup.fake.calls.clear()
    setup.world.subnets["subnet-b"]["AvailableIpAddressCount"] = 200  # what changes by itself does not count
    setup.clock.advance(300)
    assert setup.provider.resolve(raw).ready
    assert trials(setup) == []
    annotated = {**raw, "metadata": {**raw["metadata"], "annotations": {"look": "again"}}}
    assert setup.provider.resolve(annotated).ready
    assert "CreateFleet" in trials(setup)
    setup.fake.calls.clear()
    setup.clock.advance(1800)
    assert setup.provider.resolve(annotated).ready
    assert "CreateFleet" in trials(setup)


def test_one_that_is_not_is_ready_as_soon_as_somebody_has_helped() -> None:
    setup = Setup.of()
    setup.world.denied.add("ec2:CreateFleet")
    assert not setup.provider.resolve(node_class()).ready
    setup.world.denied.clear()
    assert setup.provider.resolve(node_class()).ready


@pytest.mark.aws("AWS-086")
def test_nothing_is_tried_where_that_is_switched_off() -> None:
    setup = Setup.of(disable_dry_run=True)
    setup.resolved()
    assert trials(setup) == []


@pytest.mark.parametrize(
    ("kubelet", "reason"),
    [
        ({"maxPods": -1}, "InvalidKubeletConfiguration"),
        ({"maxPods": "{{ vcpus * 10 }}"}, "KubeletExpressionsDisabled"),
    ],
)
def test_the_kubelet_block_is_looked_at_first(kubelet: dict[str, Any], reason: str) -> None:
    setup = Setup.of()
    found = setup.provider.resolve(node_class(kubelet=kubelet))
    assert (found.ready, found.reason) == (False, reason)
    assert trials(setup) == []


@pytest.mark.aws("AWS-058")
def test_expressions_wait_for_the_instance_types() -> None:
    setup = Setup.of(node_class_cel=True)
    setup.world.fail("DescribeInstanceTypes", "InternalError", status=500)
    raw = node_class(kubelet={"maxPods": "vcpus * 10"})
    with pytest.raises(ProviderError):
        setup.provider.resolve(raw)
    setup.clock.advance(60)
    assert setup.provider.resolve(raw).ready


@pytest.mark.aws("AWS-081")
def test_tags_that_only_karpy_may_set_are_told() -> None:
    setup = Setup.of()
    found = setup.provider.resolve(node_class(tags={"karpenter.sh/nodepool": "theirs", "team": "a"}))
    assert (found.ready, found.reason) == (False, "ValidationFailed")
    assert "spec.tags: tag 'karpenter.sh/nodepool' is set by karpy itself" in found.message
    assert trials(setup) == []
