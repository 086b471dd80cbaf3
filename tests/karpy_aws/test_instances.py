from __future__ import annotations

import attrs
import pytest

from karpy.errors import NodeClaimNotFound, ProviderError
from karpy.testing.clock import FakeClock
from karpy_aws.errors import AWSError
from karpy_aws.instances import Instances, list_request
from karpy_aws.machines import Machine
from karpy_aws.testing import FakeAWS
from tests.karpy_aws.testing.worlds import fleet, launch_template, override, region

A, B = "us-west-2a", "us-west-2b"
OWNED = {
    "karpenter.sh/nodepool": "default",
    "karpenter.k8s.aws/ec2nodeclass": "default",
    "eks:eks-cluster-name": "mine",
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeAWS:
    fake = FakeAWS(region(clock), clock=clock, check_answers=True)
    launch_template(fake)
    return fake


@pytest.fixture
def instances(fake: FakeAWS, clock: FakeClock) -> Instances:
    return Instances(fake.apis.ec2, "mine", clock=clock)


def launched(fake: FakeAWS, count: int = 1, zone: str = A, tags: dict[str, str] | None = None) -> list[str]:
    """The provider ids of machines that are there for an hour already."""
    wanted = fleet(override(zone=zone), count=count, tags=list((OWNED if tags is None else tags).items()))
    [entry] = fake.apis.ec2.create_fleet(wanted)["Instances"]
    fake._clock.advance(3_600)  # type: ignore[attr-defined]  # it is the fixture's
    return [f"aws:///{zone}/{id_}" for id_ in entry["InstanceIds"]]


def asked(fake: FakeAWS) -> list[str]:
    """The calls since the last time, without those that launch."""
    found = [call.operation for call in fake.calls if call.operation not in ("CreateLaunchTemplate", "CreateFleet")]
    fake.calls.clear()
    return found


@pytest.mark.aws("AWS-195")
def test_all_machines_of_the_cluster_are_listed_page_by_page(instances: Instances, fake: FakeAWS) -> None:
    mine = launched(fake, 3)
    launched(fake, tags=OWNED | {"eks:eks-cluster-name": "another"})
    launched(fake, tags={})
    fake.world.page_size = 2
    assert [machine.provider_id for machine in instances.list()] == sorted(mine)
    assert asked(fake) == ["DescribeInstances"] * 2


@pytest.mark.aws("AWS-195")
def test_machines_of_older_generations_are_listed_by_their_tags(fake: FakeAWS) -> None:
    [old] = launched(fake, tags={"karpenter.sh/provisioner-name": "default", "kubernetes.io/cluster/mine": "owned"})
    launched(fake)
    assert [machine.provider_id for machine in Instances(fake.apis.ec2, "mine", legacy=True).list()] == [old]


@pytest.mark.aws("AWS-250")
def test_what_a_filter_should_have_kept_out_is_left_out(fake: FakeAWS) -> None:
    """Some stand-ins for EC2 ignore filters."""
    [mine] = launched(fake)
    launched(fake, tags={})

    class Careless:
        def describe_instances(self, request: dict[str, object]) -> dict[str, object]:
            return fake.apis.ec2.describe_instances({})

    found = Instances(Careless(), "mine").list()  # type: ignore[arg-type]  # it is asked for nothing else
    assert [machine.provider_id for machine in found] == [mine]


def test_a_terminating_machine_is_listed_and_one_that_is_gone_is_not(
    instances: Instances, fake: FakeAWS, clock: FakeClock
) -> None:
    fake.world.shutdown_s = 60
    [id_] = launched(fake)
    instances.delete(id_)
    [machine] = instances.list()
    assert machine.is_terminating
    assert machine.instance().is_terminating
    clock.advance(60)
    assert instances.list() == ()


def test_a_machine_that_was_listed_is_not_asked_for_again(instances: Instances, fake: FakeAWS) -> None:
    [id_] = launched(fake)
    instances.list()
    asked(fake)
    assert instances.get(id_).provider_id == id_
    assert asked(fake) == []
    assert instances.get(id_, fresh=True).provider_id == id_
    assert asked(fake) == ["DescribeInstances"]


def test_a_machine_that_is_gone_is_told_to_be(instances: Instances, fake: FakeAWS) -> None:
    with pytest.raises(NodeClaimNotFound, match="instance i-0 is gone"):
        instances.get("aws:///us-west-2a/i-0")
    [id_] = launched(fake)
    instances.list()
    instances.delete(id_)
    with pytest.raises(NodeClaimNotFound):
        instances.delete(id_)
    with pytest.raises(NodeClaimNotFound):
        instances.get(id_)


def test_ending_is_asked_for_once_and_looked_at_until_it_happened(
    instances: Instances, fake: FakeAWS, clock: FakeClock
) -> None:
    fake.world.shutdown_s = 60
    [id_] = launched(fake)
    for _ in range(3):
        instances.delete(id_)
    assert asked(fake) == ["DescribeInstances", "TerminateInstances", "DescribeInstances", "DescribeInstances"]
    clock.advance(60)
    with pytest.raises(NodeClaimNotFound):
        instances.delete(id_)


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "RequestLimitExceeded", "InternalError", "ExpiredToken"])
def test_a_call_that_fails_makes_nothing_gone(instances: Instances, fake: FakeAWS, code: str) -> None:
    [id_] = launched(fake)
    instances.list()
    for operation, call in (
        ("DescribeInstances", lambda: instances.get(id_, fresh=True)),
        ("DescribeInstances", instances.list),
        ("TerminateInstances", lambda: instances.delete(id_)),
    ):
        fake.world.fail(operation, code)
        with pytest.raises(AWSError, match=code):
            call()  # type: ignore[no-untyped-call]
    assert instances.get(id_).state == "running"


def new_machine(provider: str, clock: FakeClock) -> Machine:
    return Machine(
        id=provider.rpartition("/")[2],
        state="pending",
        zone=A,
        instance_type="m5.large",
        launched=clock.now(),
        tags=OWNED,
    )


def test_a_machine_that_ec2_does_not_list_yet_is_there(instances: Instances, fake: FakeAWS, clock: FakeClock) -> None:
    [id_] = launched(fake)
    fake.world.found_at[id_.rpartition("/")[2]] = clock.now() + 30
    with pytest.raises(NodeClaimNotFound):
        instances.get(id_)
    instances.remember(new_machine(id_, clock))
    assert [machine.provider_id for machine in instances.list()] == [id_]
    assert instances.get(id_, fresh=True).state == "pending"
    with pytest.raises(ProviderError, match=r"yet: .*InvalidInstanceID\.NotFound") as raised:
        instances.delete(id_)  # it would leak if this were taken for its end
    assert raised.value.retryable
    clock.advance(30)
    assert instances.get(id_, fresh=True).state == "running"


def test_a_machine_that_never_came_is_gone_after_a_minute(instances: Instances, clock: FakeClock) -> None:
    id_ = "aws:///us-west-2a/i-0"
    instances.remember(new_machine(id_, clock))
    clock.advance(59)
    assert instances.list()
    clock.advance(1)
    assert instances.list() == ()
    with pytest.raises(NodeClaimNotFound):
        instances.get(id_)


@pytest.mark.aws("AWS-232")
def test_tags_are_added_and_remembered(instances: Instances, fake: FakeAWS) -> None:
    [id_] = launched(fake)
    instances.list()
    instances.tag(id_, {"Name": "node"})
    assert instances.get(id_).tags["Name"] == instances.get(id_, fresh=True).tags["Name"] == "node"
    with pytest.raises(NodeClaimNotFound):
        instances.tag("aws:///us-west-2a/i-0", {"Name": "node"})


@pytest.mark.aws("AWS-236")
def test_a_shifted_zone_is_left_alone(fake: FakeAWS, clock: FakeClock) -> None:
    [here], [there] = launched(fake, zone=A), launched(fake, zone=B)
    shifted: set[str] = set()
    instances = Instances(fake.apis.ec2, "mine", is_shifted=shifted.__contains__, clock=clock)
    instances.list()
    shifted.add(B)
    fake.world.instances.clear()
    asked(fake)
    assert instances.get(there, fresh=True).provider_id == there
    for call in (lambda: instances.delete(there), lambda: instances.tag(there, {"Name": "node"})):
        with pytest.raises(ProviderError, match=f"traffic was shifted away from zone {B}") as caught:
            call()
        assert caught.value.retryable
    assert asked(fake) == []
    assert [machine.provider_id for machine in instances.list()] == [there]
    with pytest.raises(NodeClaimNotFound):
        instances.get(here)


@pytest.mark.aws("AWS-236")
def test_a_machine_of_a_shifted_zone_that_is_not_known_is_asked_for(fake: FakeAWS) -> None:
    [there] = launched(fake, zone=B)
    assert Instances(fake.apis.ec2, "mine", is_shifted=lambda _zone: True).get(there).zone == B


def test_lists_leave_out_what_is_terminated() -> None:
    for legacy in (False, True):
        [states] = [
            filters["Values"]
            for filters in list_request("mine", legacy=legacy)["Filters"]
            if filters["Name"] == "instance-state-name"
        ]
        assert states == ["pending", "running", "stopping", "stopped", "shutting-down"]


# What was launched for a claim


FOR_WEB = OWNED | {"karpenter.sh/nodeclaim": "web-1"}


def test_what_an_earlier_life_launched_for_a_claim_is_found_by_its_tag_and_looked_up_once(
    instances: Instances, fake: FakeAWS
) -> None:
    [id_] = launched(fake, tags=FOR_WEB)
    assert instances.launched_for("web-2") is None
    assert asked(fake) == ["DescribeInstances"]
    assert instances.launched_for("web-2") is None
    assert asked(fake) == []
    found = instances.launched_for("web-1")
    assert found is not None
    assert found.provider_id == id_


def test_what_was_launched_just_now_is_known_before_ec2_knows_it(instances: Instances, clock: FakeClock) -> None:
    new = Machine(
        id="i-0", state="pending", zone=A, instance_type="m5.large", launched=clock.now(), launched_for="web-1"
    )
    instances.remember(new)
    assert instances.launched_for("web-1") == new
    assert new.instance().claim == "web-1"


def test_for_whom_a_machine_was_launched_is_known_though_ec2_was_not_told(
    instances: Instances, fake: FakeAWS, clock: FakeClock
) -> None:
    [id_] = launched(fake)
    instances.remember(attrs.evolve(instances.get(id_), launched_for="web-1"))
    for machine in (*instances.list(), instances.get(id_, fresh=True)):
        assert machine.claim == "web-1"
        assert "karpenter.sh/nodeclaim" not in machine.tags


def test_a_machine_that_is_ending_or_gone_is_not_the_claims_any_more(instances: Instances, fake: FakeAWS) -> None:
    ending, gone = launched(fake, 2, tags=FOR_WEB)
    instances.list()
    fake.world.shutdown_s = 60
    fake.apis.ec2.terminate_instances({"InstanceIds": [ending.rpartition("/")[2]]})
    del fake.world.instances[gone.rpartition("/")[2]]
    assert instances.launched_for("web-1") is None


def test_after_a_launch_with_an_unknown_end_ec2_is_asked_again(instances: Instances, fake: FakeAWS) -> None:
    assert instances.launched_for("web-1") is None
    [id_] = launched(fake, tags=FOR_WEB)
    assert instances.launched_for("web-1") is None
    instances.doubt()
    found = instances.launched_for("web-1")
    assert found is not None
    assert found.provider_id == id_


def test_nothing_is_said_of_claims_while_ec2_does_not_say_what_there_is(instances: Instances, fake: FakeAWS) -> None:
    fake.world.fail("DescribeInstances", "InternalError", status=500)
    with pytest.raises(AWSError):
        instances.launched_for("web-1")
    assert instances.launched_for("web-1") is None
