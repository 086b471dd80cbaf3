"""karpy dies, or is not answered, at each call by which a machine of EC2 comes and goes: none is left behind, none is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from karpy.sim.faults import Fault
from karpy.sim.world import World
from karpy.testing import KILLS, Act, Story, points, sweep
from tests.karpy_aws.testing.standinworld import come, go, instances, nodes, phase, running, world

IDLE = frozenset({"sqs:ReceiveMessage", "ec2:DescribeInstanceStatus"})
"""Asked again and again, whatever happens."""


def missing(it: World) -> Iterator[str]:
    if phase(it) != "Running":
        yield f"the pod is {phase(it)}"
    if len(running(it)) != 1:
        yield f"{len(running(it))} instances run for it"


def left(it: World) -> Iterator[str]:
    if running(it) or nodes(it):
        yield f"{len(running(it))} instances and {len(nodes(it))} nodes are left"


STORY = Story("one pod on EC2", world, (Act("it comes", come, 300.0, missing), Act("it goes", go, 400.0, left)))


@pytest.mark.parametrize("fault", [*KILLS, Fault.LOST], ids=str)
def test_whatever_call_of_a_launch_and_its_end_fails_no_instance_is_leaked(fault: Fault) -> None:
    undisturbed, wrong = STORY.play()
    assert wrong == ()
    assert len(list(instances(undisturbed))) == 1
    calls = {call.number: call for call in undisturbed.trace if call.is_of_cloud and call.name not in IDLE}
    tried = [point for point in points(undisturbed, (fault,)) if point.planned.number in calls]
    assert {"CreateFleet", "TerminateInstances"} <= {calls[point.planned.number].verb for point in tried}
    assert sweep(STORY, tried) == ()
