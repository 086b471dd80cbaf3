"""karpy's provider for EC2 in a simulated world: what is launched joins, what befalls it is told, what goes is gone."""

from __future__ import annotations

from karpy.objects.kinds import NODE_CLAIM
from karpy.sim.region.mishaps import Mishap, Stray
from karpy.sim.region.shortages import Shortage
from karpy.sim.region.troubles import Trouble
from karpy.sim.region.where import Where
from karpy.sim.weather import Weather
from tests.karpy_aws.testing.standinworld import AWS, bought_as, come, go, instances, nodes, phase, pool, running, world

SPOT = pool(bought_as("spot"))


def test_an_instance_becomes_a_node_with_the_labels_and_taints_of_its_user_data() -> None:
    it = world(pool_=pool(bought_as("on-demand"), startupTaints=[{"key": "warm", "effect": "NoSchedule"}]))
    come(it)
    it.run(60)
    (node,) = nodes(it)
    (instance,) = running(it)
    zone = instance["Placement"]["AvailabilityZone"]
    assert node["metadata"]["name"] == instance["PrivateDnsName"]
    assert node["spec"]["providerID"] == f"aws:///{zone}/{instance['InstanceId']}"
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == instance["InstanceType"]
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == zone
    assert node["metadata"]["labels"]["karpenter.sh/capacity-type"] == "on-demand"
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["warm"], "karpy has taken its own away"


def test_pods_run_and_what_is_empty_is_terminated() -> None:
    it = world()
    come(it)
    it.run(60)
    assert phase(it) == "Running"
    assert len(it.site.machines) == it.site.launches == 1
    assert it.site.cost_per_hour() > 0
    go(it)
    it.run(120)
    assert (running(it), nodes(it), it.site.machines, it.site.cost_per_hour()) == ([], [], (), 0)
    assert it.check() == ()


def test_an_interruption_goes_through_the_queue_and_the_pod_has_a_new_node_before_the_old_one_ends() -> None:
    it = world(weather=Weather(mishaps=(Mishap("interruption", at_s=100.0, for_s=120.0),)), pool_=SPOT)
    come(it)
    it.run(90)
    (before,) = it.site.machines
    it.run(60)  # the notice came, and the machine still has its time
    assert "TerminateInstances" in {call.operation for call in it.site.backend.fake.calls}
    assert before.provider_id not in {node["spec"]["providerID"] for node in nodes(it)}
    queue = it.site.backend.fake.requests("DeleteMessage")
    assert queue, "what was dealt with is deleted"


def test_a_machine_that_ends_by_itself_ends_at_ec2_too() -> None:
    it = world(weather=Weather(mishaps=(Mishap("vanishing", at_s=100.0),)))
    come(it)
    it.run(90)
    (first,) = running(it)
    it.run(60)
    assert first["InstanceId"] not in {each["InstanceId"] for each in running(it)}


def test_a_stopped_machine_is_stopped_at_ec2_and_given_up() -> None:
    it = world(weather=Weather(mishaps=(Mishap("stop", at_s=100.0),)))
    come(it)
    it.run(96)
    assert [each["State"]["Name"] for each in instances(it)] == ["stopped"]
    it.run(300)
    assert [each["State"]["Name"] for each in instances(it)] == ["terminated"]


def test_a_machine_of_an_earlier_life_is_found_and_ended_and_somebody_elses_is_left_alone() -> None:
    strays = (Stray(at_s=10.0), Stray(at_s=10.0, is_ours=False))
    it = world(weather=Weather(strays=strays))
    it.run(20)
    assert len(running(it)) == 2
    it.run(600)
    (left,) = running(it)
    assert {"Key": "stray", "Value": "somebody else's"} in left["Tags"]
    assert nodes(it) == []


def test_a_shortage_is_learned_from_the_fleets_errors() -> None:
    short = Shortage(Where(zone=f"{AWS.zones[0]}|{AWS.zones[1]}"))
    it = world(weather=Weather(shortages=(short,)))
    come(it)
    it.run(60)
    (instance,) = running(it)
    assert instance["Placement"]["AvailabilityZone"] == AWS.zones[2]


def test_of_a_launch_whose_answer_was_lost_there_is_one_machine() -> None:
    it = world(weather=Weather(troubles=(Trouble("answer-lost", launches=(1,)),)))
    come(it)
    it.run(60)
    assert len(it.site.backend.fake.requests("CreateFleet")) == 2, "one was the trial that launches nothing"
    assert len(running(it)) == 1
    assert phase(it) == "Running"


def test_a_machine_that_never_joins_is_replaced() -> None:
    it = world(weather=Weather(troubles=(Trouble("never-joins", launches=(1,)),)))
    come(it)
    it.run(1200)
    assert phase(it) == "Running"
    assert (it.site.launches, len(running(it)), len(it.api.list(NODE_CLAIM).items)) == (2, 1, 1)
