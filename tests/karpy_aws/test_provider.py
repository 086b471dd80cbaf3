"""EC2 as the core sees it: from a node class to machines that run, drift, are warned of and end."""

from __future__ import annotations

import json
from typing import Any

import pytest

import karpy_aws
from karpy.clock import format_time
from karpy.cloud.notices import GivingNotice, NoticeKind
from karpy.cloud.provider import (
    CloudProvider,
    Defaulting,
    ProviderContext,
    Repairing,
    WithRegistrationHooks,
)
from karpy.errors import (
    CreateFailed,
    InsufficientCapacity,
    NodeClaimNotFound,
    NodeClassNotReady,
    PluginError,
    ProviderError,
)
from karpy.labels import CAPACITY_TYPE, INSTANCE_TYPE, ON_DEMAND, SPOT, ZONE
from karpy.requirements import Requirement
from karpy_aws.machines import instance_id
from tests.karpy_aws.providerworld import POOL, Setup, claim, launched, node_class

WANTS_SPOT = Requirement.in_(CAPACITY_TYPE, SPOT)


def test_it_is_a_provider_with_all_that_the_core_can_use() -> None:
    provider = Setup.of().provider
    for protocol in (CloudProvider, Defaulting, GivingNotice, Repairing, WithRegistrationHooks):
        assert isinstance(provider, protocol)
    assert provider.name == "aws"
    assert [kind.kind for kind in provider.node_classes] == ["EC2NodeClass", "AWSNodeTemplate", "Provisioner"]


def test_making_one_asks_aws_nothing() -> None:
    assert Setup.of().fake.calls == []


# Instance types


def test_types_are_the_same_object_while_nothing_changes() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    types = setup.provider.instance_types(POOL, raw)
    asked = len(setup.fake.calls)
    assert setup.provider.instance_types(POOL, raw) is types
    assert setup.provider.instance_types(POOL, node_class(raw["status"])) is types
    assert len(setup.fake.calls) == asked


def test_another_order_of_subnets_changes_no_type() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    types = setup.provider.instance_types(POOL, raw)
    setup.world.subnets["subnet-b"]["AvailableIpAddressCount"] = 200
    setup.clock.advance(300)
    after = setup.provider.resolve(raw).status
    assert after["subnets"][0]["id"] == "subnet-b"
    assert setup.provider.instance_types(POOL, node_class(after)) is types


@pytest.mark.aws("AWS-062")
def test_nothing_is_sold_until_ec2_has_told_all_of_it() -> None:
    setup = Setup.of()
    raw = node_class(Setup.of().resolved()["status"])
    setup.world.page_size = 1
    setup.world.fail("DescribeInstanceTypeOfferings", "InternalError", "later", status=500)
    with pytest.raises(ProviderError, match=r"not known yet what EC2 sells: ec2:DescribeInstanceTypeOfferings.*later"):
        setup.provider.instance_types(POOL, raw)
    setup.clock.advance(60)
    assert len(setup.provider.instance_types(POOL, raw)) == 3


@pytest.mark.aws("AWS-155")
def test_slow_calls_ask_again_when_it_is_time_and_failures_change_nothing() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    types = setup.provider.instance_types(POOL, raw)
    setup.fake.calls.clear()
    setup.clock.advance(3600)
    setup.world.fail("DescribeSpotPriceHistory", "InternalError", "later", status=500)
    setup.provider.list()
    assert setup.provider.instance_types(POOL, raw) is types
    setup.world.spot_prices["m5.large", "us-west-2a"].append((setup.clock.now(), 0.5))
    setup.clock.advance(60)
    setup.provider.list()
    (changed,) = [
        each.price
        for each in setup.provider.instance_types(POOL, raw).by_name("m5.large").offerings
        if (each.zone, each.capacity_type) == ("us-west-2a", SPOT)
    ]
    assert changed == 0.5
    assert len(setup.fake.requests("DescribeInstanceTypes")) == 0
    setup.clock.advance(12 * 3600)
    setup.provider.list()
    assert len(setup.fake.requests("DescribeInstanceTypes")) == 1


def test_what_ran_out_is_unavailable_at_once_and_for_three_minutes() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    setup.world.stock["on-demand", "m5.large", "us-west-2a"] = 0
    setup.launch(raw, "claim-1", Requirement.in_(CAPACITY_TYPE, ON_DEMAND), types="m5.large")

    def zones() -> set[str]:
        offerings = setup.provider.instance_types(POOL, raw).by_name("m5.large").offerings
        return {each.zone[-1] for each in offerings if each.available and each.capacity_type == ON_DEMAND}

    assert zones() == {"b"}
    setup.clock.advance(180)
    assert zones() == {"a", "b"}


# Machines


def test_a_machine_is_launched_for_a_claim_once() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    first = setup.launch(raw)
    assert setup.launch(raw).provider_id == first.provider_id
    assert len(setup.world.instances) == 1
    assert first.claim == "claim-1"
    assert first.labels[INSTANCE_TYPE] == "m7g.large"
    assert first.capacity["cpu"] == 2_000


def test_a_machine_that_was_launched_before_karpy_stopped_is_found_again() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    first = setup.launch(raw)
    assert Setup.on(setup.fake, setup.clock).launch(raw).provider_id == first.provider_id


def test_nothing_is_launched_from_a_class_that_was_found_wanting_though_its_object_does_not_say_so_yet() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    first = setup.launch(raw)
    setup.world.denied.add("ec2:CreateFleet")
    annotated = {**raw, "metadata": {**raw["metadata"], "annotations": {"look": "again"}}}
    assert not setup.provider.resolve(annotated).ready
    choices = setup.choices(annotated)
    with pytest.raises(NodeClassNotReady, match="ec2:CreateFleet"):
        setup.provider.create(claim("claim-2"), annotated, choices)
    assert setup.provider.create(claim("claim-1"), annotated, choices).provider_id == first.provider_id


def test_machines_are_read_listed_and_ended_until_they_are_gone() -> None:
    setup = Setup.of()
    setup.world.shutdown_s = 30
    instance = setup.launch(setup.resolved())
    assert [each.provider_id for each in setup.provider.list()] == [instance.provider_id]
    assert setup.provider.get(instance.provider_id).labels[ZONE] == instance.labels[ZONE]
    setup.provider.delete(instance.provider_id)
    assert setup.provider.get(instance.provider_id).is_terminating
    setup.clock.advance(120)
    with pytest.raises(NodeClaimNotFound):
        setup.provider.delete(instance.provider_id)
    assert setup.provider.list() == ()


def test_a_reservation_has_room_again_when_its_machine_is_gone() -> None:
    setup = Setup.of()
    setup.world.load(
        reservations=[
            {"CapacityReservationId": "cr-1", "InstanceType": "m5.large", "AvailabilityZone": "us-west-2a"}
            | {"State": "active", "OwnerId": "1", "AvailableInstanceCount": 1, "TotalInstanceCount": 1}
        ]
    )
    raw = setup.resolved(capacityReservationSelectorTerms=[{"id": "cr-1"}])

    def left() -> list[int]:
        offerings = setup.provider.instance_types(POOL, raw).by_name("m5.large").offerings
        return [each.reservation_capacity for each in offerings if each.reservation_id]

    instance = setup.launch(raw, "claim-1", Requirement.in_(CAPACITY_TYPE, "reserved"))
    assert instance.labels[CAPACITY_TYPE] == "reserved"
    assert left() == [0]
    setup.provider.delete(instance.provider_id)
    setup.clock.advance(120)
    with pytest.raises(NodeClaimNotFound):
        setup.provider.delete(instance.provider_id)
    assert left() == [1]


def test_errors_of_launches_are_those_of_the_tree() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    for zone in setup.world.zones:
        setup.world.stock["on-demand", "m5.large", zone] = 0
    with pytest.raises(InsufficientCapacity):
        setup.launch(raw, types="m5.large")
    setup.world.denied.add("ec2:CreateFleet")
    with pytest.raises(CreateFailed, match="ec2:CreateFleet") as raised:
        setup.launch(raw, types="m7g.large")
    assert raised.value.reason == "Unauthorized"
    choices = setup.choices(raw)
    with pytest.raises(NodeClassNotReady, match="role"):
        setup.provider.create(claim(), node_class(role=None), choices)


def test_the_core_hears_of_what_cannot_be_read_as_it_hears_of_everything_else() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    mine = launched(claim(), setup.launch(raw))
    unreadable = node_class(role=None)
    with pytest.raises(NodeClassNotReady, match="neither role nor instanceProfile"):
        setup.provider.instance_types(POOL, unreadable)
    with pytest.raises(ProviderError, match="neither role nor instanceProfile"):
        setup.provider.drift_reason(mine, POOL, unreadable)
    for ask in (setup.provider.get, setup.provider.delete):
        with pytest.raises(NodeClaimNotFound, match="found 'gce:///a'"):
            ask("gce:///a")


# Drift


@pytest.mark.aws("AWS-217", "AWS-219", "AWS-220")
def test_a_machine_drifts_when_its_class_means_something_else() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    now = launched(claim(), setup.launch(raw))

    def reason(**spec: Any) -> str | None:
        changed = node_class(raw["status"], **spec)
        changed["status"] = setup.provider.resolve(changed).status
        return setup.provider.drift_reason(now, POOL, changed)

    assert reason() is None
    assert reason(detailedMonitoring=True) == "NodeClassDrift"
    assert reason(subnetSelectorTerms=[{"id": "subnet-b"}]) == "SubnetDrift"
    setup.world.security_groups["sg-2"] = {**setup.world.security_groups["sg-1"], "GroupId": "sg-2"}
    setup.clock.advance(60)
    assert reason() == "SecurityGroupDrift"
    setup.world.images["ami-new"] = {**setup.world.images["ami-arm64"], "ImageId": "ami-new"}
    assert reason(amiSelectorTerms=[{"id": "ami-new"}], amiFamily="AL2023") == "AMIDrift"


def test_drift_cannot_be_told_of_a_machine_that_ec2_does_not_tell_of() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    now = launched(claim(), setup.launch(raw))
    again = Setup.on(setup.fake, setup.clock)
    setup.world.fail("DescribeInstances", "InternalError", status=500, times=9)
    with pytest.raises(ProviderError, match="ec2:DescribeInstances"):
        again.provider.drift_reason(now, POOL, raw)


@pytest.mark.aws("AWS-224")
def test_machines_of_a_template_drift_by_their_image_alone() -> None:
    setup = Setup.of(default_instance_profile="nodes")
    setup.world.knows_every_profile = True
    setup.world.clusters["mine"]["version"] = "1.24"
    path = "/aws/service/eks/optimized-ami/1.24/amazon-linux-2/recommended/image_id"
    setup.world.parameters[path] = "ami-x86_64"
    raw = {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": "default", "uid": "t-1"},
        "spec": {"subnetSelector": {"team": "a"}, "securityGroupSelector": {"karpenter.sh/discovery": "mine"}},
    }
    setup.provider.resolve(raw)
    now = launched(claim(), setup.launch(raw, types="m5.large"))
    setup.world.security_groups["sg-2"] = {**setup.world.security_groups["sg-1"], "GroupId": "sg-2"}
    setup.clock.advance(60)
    setup.provider.resolve(raw)
    assert setup.provider.drift_reason(now, POOL, raw) is None
    setup.world.images["ami-new"] = {**setup.world.images["ami-x86_64"], "ImageId": "ami-new"}
    setup.world.parameters[path] = "ami-new"
    setup.clock.advance(24 * 3600)
    setup.provider.resolve(raw)
    assert setup.provider.drift_reason(now, POOL, raw) == "AMIDrift"


# Notices


def warning(setup: Setup, provider_id: str, kind: str = "EC2 Spot Instance Interruption Warning") -> None:
    body = {"version": "0", "source": "aws.ec2", "detail-type": kind, "time": format_time(setup.clock.now())}
    detail = {"instance-id": instance_id(provider_id), "state": "stopping"}
    setup.world.send("queue", json.dumps({**body, "detail": detail}), setup.clock.now())


@pytest.mark.aws("AWS-225", "AWS-227")
def test_a_machine_that_is_taken_back_is_told_of_and_no_more_of_its_like_is_asked_for() -> None:
    setup = Setup.of(interruption_queue="queue")
    setup.world.queues["queue"] = []
    raw = setup.resolved()
    instance = setup.launch(raw, "claim-1", WANTS_SPOT)
    warning(setup, instance.provider_id)
    (notice,) = setup.provider.messages()
    assert (notice.kind, notice.provider_id) == (NoticeKind.SPOT_INTERRUPTION, instance.provider_id)
    setup.provider.acknowledge(notice)
    setup.clock.advance(60)
    assert setup.provider.messages() == []
    offerings = setup.provider.instance_types(POOL, raw).by_name(instance.labels[INSTANCE_TYPE]).offerings
    gone = {(each.zone, each.capacity_type) for each in offerings if not each.available}
    assert gone == {(instance.labels[ZONE], SPOT)}


def test_after_a_restart_machines_are_known_by_their_ids_and_those_of_others_are_not() -> None:
    setup = Setup.of(interruption_queue="queue")
    setup.world.queues["queue"] = []
    instance = setup.launch(setup.resolved())
    again = Setup.on(setup.fake, setup.clock, interruption_queue="queue")
    warning(setup, instance.provider_id)
    warning(setup, "aws:///us-west-2a/i-0fffffffffffffff0")
    found = again.provider.messages()
    assert [notice.provider_id for notice in found] == [instance.provider_id, ""]
    assert len(setup.fake.requests("DescribeInstances")) <= 2


@pytest.mark.aws("AWS-228")
def test_a_queue_that_is_missing_is_an_error_that_names_it() -> None:
    with pytest.raises(ProviderError, match="sqs:GetQueueUrl of queue"):
        Setup.of(interruption_queue="queue").provider.messages()


@pytest.mark.aws("AWS-229")
def test_a_machine_that_fails_ec2s_checks_is_told_of_once_until_it_was_well_again() -> None:
    setup = Setup.of()
    instance = setup.launch(setup.resolved())
    events = [{"Code": "instance-retirement", "Description": "soon"}]
    setup.world.statuses[instance_id(instance.provider_id)] = {"Events": events}
    setup.provider.get(instance.provider_id)
    (notice,) = setup.provider.messages()
    assert (notice.kind, notice.provider_id) == (NoticeKind.SCHEDULED_CHANGE, instance.provider_id)
    assert list(setup.provider.messages()) == [notice]  # it was not dealt with yet
    setup.provider.acknowledge(notice)
    setup.clock.advance(60)
    assert setup.provider.messages() == []
    setup.world.statuses.clear()
    setup.clock.advance(60)
    setup.provider.messages()
    setup.world.statuses[instance_id(instance.provider_id)] = {"Events": events}
    setup.clock.advance(60)
    assert len(setup.provider.messages()) == 1


def test_checks_that_may_not_be_read_are_not_asked_for_again() -> None:
    setup = Setup.of()
    setup.world.denied.add("ec2:DescribeInstanceStatus")
    for _ in range(3):
        assert setup.provider.messages() == []
        setup.clock.advance(60)
    assert len(setup.fake.requests("DescribeInstanceStatus")) == 1
    assert any("checking the status" in entry["event"] for entry in setup.logged)


# What is cleared away


@pytest.mark.aws("AWS-072")
def test_templates_and_profiles_that_nobody_needs_go() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    instance = setup.launch(raw)
    old = raw["status"]["instanceProfile"]
    changed = node_class(raw["status"], role="other")
    setup.world.roles = None
    new = setup.provider.resolve(changed).status["instanceProfile"]
    assert new != old
    for _ in range(20):
        setup.clock.advance(300)
        setup.provider.resolve(changed)
        setup.provider.list()
    assert setup.world.launch_templates == {}
    assert set(setup.world.profiles) == {old, new}  # a machine was launched with it
    setup.provider.delete(instance.provider_id)
    for _ in range(20):
        setup.clock.advance(300)
        setup.provider.resolve(changed)
        setup.provider.list()
    assert set(setup.world.profiles) == {new}


# Zonal shift


@pytest.mark.aws("AWS-236")
def test_nothing_is_launched_or_ended_in_a_zone_that_traffic_was_shifted_away_from() -> None:
    setup = Setup.of(enable_zonal_shift=True)
    arn = setup.world.clusters["mine"]["arn"]
    setup.world.managed_resources[arn] = {}
    raw = setup.resolved()
    instance = setup.launch(raw, types="m5.large")
    zone = instance.labels[ZONE]
    setup.world.managed_resources[arn] = {
        "zonalShifts": [
            {"appliedStatus": "APPLIED", "zonalShiftId": "shift-1", "resourceIdentifier": arn, "comment": ""}
            | {"awayFrom": setup.world.zones[zone], "expiryTime": "2026-01-06T09:00:00Z"}
            | {"startTime": "2026-01-05T09:00:00Z"}
        ]
    }
    setup.clock.advance(30)
    types = setup.provider.instance_types(POOL, raw)
    assert zone not in {each.zone for type_ in types for each in type_.offerings if each.available}
    with pytest.raises(ProviderError, match="traffic was shifted away"):
        setup.provider.delete(instance.provider_id)


# Starting


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that knows nothing of AWS."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "CLUSTER_NAME", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    return monkeypatch


def test_a_missing_cluster_name_is_told(nowhere: pytest.MonkeyPatch) -> None:
    with pytest.raises(PluginError, match=r"cloud provider 'aws'.*CLUSTER_NAME: is required"):
        karpy_aws.create_provider(ProviderContext())


def test_a_missing_region_is_told(nowhere: pytest.MonkeyPatch) -> None:
    with pytest.raises(PluginError, match=r"cloud provider 'aws'.*set AWS_REGION"):
        karpy_aws.create_provider(ProviderContext(cluster_name="mine"))


def test_missing_credentials_are_told(nowhere: pytest.MonkeyPatch) -> None:
    nowhere.setenv("AWS_REGION", "us-west-2")
    with pytest.raises(PluginError, match=r"cloud provider 'aws'.*the controller needs valid credentials"):
        karpy_aws.create_provider(ProviderContext(cluster_name="mine"))


def test_settings_that_cannot_be_read_are_all_told(nowhere: pytest.MonkeyPatch) -> None:
    settings = {"RESERVED_ENIS": "-1", "ISOLATED_VPC": "perhaps"}
    with pytest.raises(PluginError, match=r"(?s)RESERVED_ENIS.*ISOLATED_VPC|ISOLATED_VPC.*RESERVED_ENIS"):
        karpy_aws.create_provider(ProviderContext(cluster_name="mine", settings=settings))


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Setup:
    """An account that is reached wherever a provider starts."""
    setup = Setup.of()
    monkeypatch.setattr("karpy_aws.starting.connect", lambda _connection: setup.fake.apis)
    return setup


def test_a_provider_starts_where_ec2_and_the_cluster_can_be_asked(account: Setup) -> None:
    provider = karpy_aws.create_provider(ProviderContext(cluster_name="mine", clock=account.clock))
    assert [call.name for call in account.fake.calls] == ["ec2:DescribeInstanceTypes", "eks:DescribeCluster"]
    assert len(provider.instance_types(POOL, account.resolved())) == 3


@pytest.mark.aws("AWS-239")
@pytest.mark.parametrize("action", ["ec2:DescribeInstanceTypes", "eks:DescribeCluster"])
def test_one_that_may_not_ask_does_not_start_and_says_what_its_role_needs(account: Setup, action: str) -> None:
    account.world.denied.add(action)
    with pytest.raises(PluginError, match=f"the controller's role needs {action}"):
        karpy_aws.create_provider(ProviderContext(cluster_name="mine"))


def test_a_cluster_that_is_not_there_is_told_by_its_name(account: Setup) -> None:
    with pytest.raises(PluginError, match=r"eks:DescribeCluster of theirs: .*No cluster found for name: theirs"):
        karpy_aws.create_provider(ProviderContext(cluster_name="theirs"))


@pytest.mark.aws("AWS-236")
def test_zonal_shift_must_know_the_cluster_from_the_start(account: Setup) -> None:
    context = ProviderContext(cluster_name="mine", settings={"ENABLE_ZONAL_SHIFT": True})
    with pytest.raises(PluginError, match="arc-zonal-shift:GetManagedResource"):
        karpy_aws.create_provider(context)


@pytest.mark.aws("AWS-243")
def test_settings_may_be_those_of_the_config_map_of_025(account: Setup) -> None:
    settings = {"aws.clusterName": "mine", "aws.defaultInstanceProfile": "nodes"}
    provider = karpy_aws.create_provider(ProviderContext(settings=settings, clock=account.clock))
    assert provider.name == "aws"


@pytest.mark.parametrize(
    ("name", "value"), [("FEATURE_GATES", "ReservedCapacity=perhaps"), ("MIN_VALUES_POLICY", "Loose")]
)
def test_settings_of_the_core_that_it_goes_by_are_checked_too(account: Setup, name: str, value: str) -> None:
    with pytest.raises(PluginError, match=r"found '(perhaps|Loose)' \(accepted: "):
        karpy_aws.create_provider(ProviderContext(cluster_name="mine", settings={name: value}))


# Capacity blocks


@pytest.mark.aws("AWS-234")
def test_machines_leave_a_capacity_block_before_ec2_ends_them() -> None:
    setup = Setup.of()
    block = {"InstanceType": "m5.large", "AvailabilityZone": "us-west-2a", "State": "active", "OwnerId": "1"}
    block |= {"AvailableInstanceCount": 1, "TotalInstanceCount": 1, "EndDate": "2026-01-05T10:00:00Z"}
    setup.world.load(
        reservations=[
            {**block, "CapacityReservationId": "cr-1", "ReservationType": "capacity-block"},
            {**block, "CapacityReservationId": "cr-2", "InstanceType": "m5.xlarge"},
        ]
    )
    raw = setup.resolved(capacityReservationSelectorTerms=[{"id": "cr-1"}, {"id": "cr-2"}])
    wanted = Requirement.in_(CAPACITY_TYPE, "reserved")
    instance = setup.launch(raw, "claim-1", wanted, types="m5.large")
    setup.launch(raw, "claim-2", wanted, types="m5.xlarge")
    assert setup.provider.messages() == []
    setup.clock.advance(25 * 60)
    setup.provider.resolve(raw)
    (notice,) = setup.provider.messages()
    assert (notice.kind, notice.provider_id) == (NoticeKind.RESERVATION_INTERRUPTION, instance.provider_id)
    setup.provider.acknowledge(notice)
    assert setup.provider.messages() == []
