"""Each call to AWS crosses the process's gate, and what it meets there looks like AWS's own doing."""

from __future__ import annotations

import pytest

from karpy.sim.clock import VirtualClock
from karpy.sim.faults import Fault, Faults, Planned
from karpy.sim.processes.boundary import Boundary
from karpy.sim.processes.gate import Crashed, Gate
from karpy.sim.weather import Weather
from karpy_aws.errors import TIMED_OUT, AWSError, AWSThrottled
from karpy_aws.testing import FakeAWS, World
from karpy_aws.testing.gatedtransport import GatedTransport
from tests.karpy_aws.testing.standinworld import AWS, come, phase, world

FLEET_OF_WEB = {
    "LaunchTemplateConfigs": [{"LaunchTemplateSpecification": {"LaunchTemplateName": "t"}}],
    "TargetCapacitySpecification": {"TotalTargetCapacity": 1},
    "TagSpecifications": [
        {"ResourceType": "instance", "Tags": [{"Key": "karpenter.sh/nodeclaim", "Value": "web"}]},
    ],
}


class Setup:
    def __init__(self, *faults: Fault) -> None:
        planned = tuple(Planned(number, fault) for number, fault in enumerate(faults, 1))
        clock = VirtualClock()
        self.fake = FakeAWS(World(), clock=clock)
        self.boundary = Boundary(clock, Faults(planned))
        self.transport = GatedTransport(self.fake, Gate(self.boundary, "karpy"))

    def make_profile(self, name: str = "a") -> None:
        self.transport.call("iam", "CreateInstanceProfile", {"InstanceProfileName": name})

    @property
    def profiles(self) -> int:
        return len(self.fake.world.profiles)


def test_calls_are_counted_reads_as_reads_and_writes_by_what_they_are_about() -> None:
    it = Setup()
    it.make_profile()
    it.transport.call("ec2", "DescribeSubnets", {})
    with pytest.raises(AWSError):
        it.transport.call("ec2", "CreateFleet", FLEET_OF_WEB)
    made, read, launched = it.boundary.trace
    assert (made.verb, made.object, made.is_write) == ("CreateInstanceProfile", "cloud/a", True)
    assert (read.verb, read.object, read.is_write) == ("get", "cloud/ec2:DescribeSubnets", False)
    assert (launched.verb, launched.object) == ("CreateFleet", "cloud/web")


def test_what_is_refused_at_the_gate_never_reaches_aws() -> None:
    it = Setup(Fault.THROTTLED, Fault.ERROR)
    with pytest.raises(AWSThrottled, match="iam:CreateInstanceProfile: RequestLimitExceeded"):
        it.make_profile()
    with pytest.raises(AWSError) as raised:
        it.make_profile()
    assert (raised.value.code, it.profiles) == (TIMED_OUT, 0)


def test_an_answer_that_is_lost_leaves_what_the_call_did() -> None:
    it = Setup(Fault.LOST)
    with pytest.raises(AWSError) as raised:
        it.make_profile()
    assert (raised.value.code, it.profiles) == (TIMED_OUT, 1)


@pytest.mark.parametrize(("fault", "made"), [(Fault.CRASH_BEFORE, 0), (Fault.CRASH_AFTER, 1)])
def test_a_process_may_die_at_a_call_to_aws(fault: Fault, made: int) -> None:
    it = Setup(fault)
    with pytest.raises(Crashed):
        it.make_profile()
    assert it.profiles == made


def test_what_aws_itself_refuses_comes_through_as_it_is() -> None:
    it = Setup()
    it.make_profile()
    with pytest.raises(AWSError, match="EntityAlreadyExists"):
        it.make_profile()


def test_a_process_that_aws_answers_nothing_for_a_minute_gets_on_afterwards() -> None:
    faults = Faults.parse("error:0.9 until:60 seed:1")
    it = world(faults=faults)
    come(it)
    it.run(300)
    assert phase(it) == "Running"
    assert it.boundary.injected[Fault.ERROR] > 20
    assert AWS.world(1, Faults(), Weather()).boundary.calls == 0, "worlds share nothing"
