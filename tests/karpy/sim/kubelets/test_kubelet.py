from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.kubelets.nodes import KUBELET_VERSION, SILENT_RENEWAL
from karpy.sim.kubelets.podlife import EXIT_CODE, READY_SECONDS, RUN_SECONDS, STOP_SECONDS
from karpy.sim.world import World
from tests.karpy.sim.manifests import NODE_CLASS, QUICK, bare_pod, event_reasons, phases, pods, world_with_nodes


def test_a_machine_joins_after_its_boot_and_turns_ready_later() -> None:
    world = World(timing=QUICK)
    world.cloud.add_machine("s-4x-amd64", "sim-1b", NODE_CLASS, "worker")
    world.run(0.5)
    assert world.api.list(kinds.NODE).items == ()
    world.run(1.0)
    node = world.api.get(kinds.NODE, "worker")
    assert {taint["key"] for taint in node["spec"]["taints"]} == {"node.kubernetes.io/not-ready"}
    world.run(2.0)
    node = world.api.get(kinds.NODE, "worker")
    assert "taints" not in node["spec"]
    assert event_reasons(world, "worker") == ["Starting", "NodeReady"]


def test_a_node_tells_what_its_machine_is() -> None:
    world = world_with_nodes(1)
    node = world.api.get(kinds.NODE, "node-1")
    marks = node["metadata"]["labels"]
    assert marks[labels.INSTANCE_TYPE] == "s-4x-amd64"
    assert marks[labels.ZONE] == "sim-1a"
    assert marks[labels.REGION] == "sim-1"
    assert (marks[labels.ARCH], marks[labels.OS]) == ("amd64", "linux")
    assert marks[labels.HOSTNAME] == "node-1"
    assert node["spec"]["providerID"] == "sim:///sim-1a/i-00000001"
    assert node["status"]["capacity"]["cpu"] == "4"
    assert node["status"]["allocatable"]["cpu"] == "3900m"
    assert node["status"]["nodeInfo"]["kubeletVersion"] == KUBELET_VERSION


def test_a_lease_says_that_its_renewals_are_not_written() -> None:
    world = world_with_nodes(1)
    lease = world.api.get(kinds.LEASE, "node-1", "kube-node-lease")
    assert SILENT_RENEWAL in lease["metadata"]["annotations"]
    before = world.api.store.revision
    world.run(1000)
    assert world.api.store.revision == before


def test_with_heartbeats_the_lease_is_renewed_every_ten_seconds() -> None:
    world = world_with_nodes(1, heartbeats=True)
    told = []
    world.subscribe(kinds.LEASE, lambda event: told.append(event.object["spec"]["renewTime"]))
    world.run(60)
    assert len(set(told)) == 7


def test_a_bound_pod_is_created_then_runs_with_an_address() -> None:
    world = world_with_nodes(1)
    seen = []
    world.subscribe(kinds.POD, lambda event: seen.append(event.object["status"]))
    world.apply([bare_pod("a")])
    world.run(10)
    waiting = [each for each in seen if each.get("containerStatuses") and each["phase"] == "Pending"]
    assert waiting[0]["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert seen[-1]["phase"] == "Running"
    assert seen[-1]["podIP"]
    assert event_reasons(world, "a") == ["Scheduled", "Started"]


def test_every_container_is_told_of_when_it_starts() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a", containers=[{"name": name, "image": "i"} for name in ("web", "side")])])
    world.run(10)
    started = [event["message"] for event in world.api.list(kinds.EVENT).items if event["reason"] == "Started"]
    assert sorted(started) == ["Started container side", "Started container web"]


def test_a_deleted_pod_stops_gracefully_and_is_gone() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a")])
    world.run(10)
    world.api.delete(kinds.POD, "a", "default")
    world.run(0.1)
    assert phases(world) == {"Terminating": 1}
    world.run(3)
    assert pods(world) == []


def test_pods_of_a_dead_machine_are_left_as_they_are() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a")])
    world.run(10)
    world.cloud.kill("sim:///sim-1a/i-00000001")
    world.api.delete(kinds.POD, "a", "default")
    world.run(100)
    assert phases(world) == {"Terminating": 1}


def test_a_stillborn_machine_never_becomes_a_node() -> None:
    world = World(timing=QUICK)
    world.cloud.launch_stillborn()
    world.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS)
    world.run(3600)
    assert world.api.list(kinds.NODE).items == ()


def test_a_node_that_was_deleted_does_not_come_back() -> None:
    world = world_with_nodes(1)
    world.api.delete(kinds.NODE, "node-1")
    world.run(600)
    with pytest.raises(KubeError):
        world.api.get(kinds.NODE, "node-1")
    with pytest.raises(KubeError):
        world.api.get(kinds.LEASE, "node-1", "kube-node-lease")


def test_a_pod_on_the_host_network_has_the_address_of_its_node() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a", hostNetwork=True)])
    world.run(10)
    found = world.api.get(kinds.POD, "a", "default")["status"]
    assert found["podIP"] == found["hostIP"]


def test_a_machine_that_takes_the_name_of_one_that_ended_joins_too() -> None:
    world = world_with_nodes(0)
    first = world.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS, "worker")
    world.run(10)
    world.cloud.vanish(first.provider_id)
    world.run(100)
    second = world.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS, "worker")
    world.run(10)
    assert world.api.get(kinds.NODE, "worker")["spec"]["providerID"] == second.provider_id


def joining(**faults: Any) -> World:
    """A world with one machine to which something happens."""
    world = World(timing=QUICK)
    made = world.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS, "worker")
    machine = world.cloud.machine(made.provider_id)
    assert machine is not None
    for name, value in faults.items():
        setattr(machine, name, value)
    return world


def ready(world: World, kind: Kind = kinds.NODE, name: str = "worker") -> str:
    found = world.api.get(kind, name, "default" if kind.namespaced else "")
    return str(next(each["status"] for each in found["status"]["conditions"] if each["type"] == "Ready"))


def test_a_machine_may_have_less_memory_than_its_type_promises() -> None:
    world = joining(memory_factor=0.75)
    world.run(10)
    found = world.api.get(kinds.NODE, "worker")["status"]
    assert found["capacity"]["memory"] == "12Gi"
    assert found["allocatable"]["memory"] == "12032Mi"


def test_devices_may_appear_after_the_node_is_ready() -> None:
    world = joining(late_resources_s={"cpu": 60.0})
    world.run(10)
    assert ready(world) == "True"
    assert "cpu" not in world.api.get(kinds.NODE, "worker")["status"]["allocatable"]
    world.run(60)
    assert world.api.get(kinds.NODE, "worker")["status"]["allocatable"]["cpu"] == "3900m"


def test_a_machine_may_never_join() -> None:
    world = joining(joins=False)
    world.run(3600)
    assert world.api.list(kinds.NODE).items == ()


@pytest.mark.parametrize("heartbeats", [False, True])
def test_a_kubelet_that_dies_is_noticed_and_welcomed_back(heartbeats: bool) -> None:
    world = world_with_nodes(1, heartbeats=heartbeats)
    machine = world.cloud.machine("sim:///sim-1a/i-00000001")
    assert machine is not None
    world.apply([bare_pod("a")])
    world.run(10)
    world.cloud.befall(machine.provider_id, "silence", for_s=120)
    world.run(60)
    assert ready(world, name="node-1") == "Unknown"
    assert ready(world, kinds.POD, "a") == "False"
    world.run(120)
    assert ready(world, name="node-1") == "True"
    assert ready(world, kinds.POD, "a") == "True"
    assert "taints" not in world.api.get(kinds.NODE, "node-1")["spec"]


def test_a_kubelet_dies_at_its_hour() -> None:
    world = World(timing=QUICK)
    made = world.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS, "worker")
    machine = world.cloud.machine(made.provider_id)
    assert machine is not None
    machine.dies_at = world.clock.now() + 300
    world.run(330)
    assert ready(world) == "True"
    world.run(30)
    assert ready(world) == "Unknown"


def test_a_pod_is_ready_when_its_probes_succeed() -> None:
    world = world_with_nodes(1)
    slow = bare_pod("a")
    slow["metadata"]["annotations"] = {READY_SECONDS: "60"}
    world.apply([slow])
    world.run(30)
    assert phases(world) == {"Running": 1}
    assert ready(world, kinds.POD, "a") == "False"
    world.run(60)
    assert ready(world, kinds.POD, "a") == "True"


def test_a_pod_that_ignores_the_request_to_stop_is_killed_when_its_grace_is_over() -> None:
    world = world_with_nodes(1)
    deaf = bare_pod("a", terminationGracePeriodSeconds=20)
    deaf["metadata"]["annotations"] = {STOP_SECONDS: "inf"}
    world.apply([deaf])
    world.run(10)
    world.api.delete(kinds.POD, "a", "default")
    world.run(19)
    assert phases(world) == {"Terminating": 1}
    world.run(2)
    assert phases(world) == {}


def test_a_container_that_keeps_crashing_is_restarted_ever_later() -> None:
    world = world_with_nodes(1)
    frail = bare_pod("a")
    frail["metadata"]["annotations"] = {RUN_SECONDS: "5", EXIT_CODE: "1"}
    world.apply([frail])
    restarts = []
    for _ in range(4):
        world.run(60)
        restarts.append(world.api.get(kinds.POD, "a", "default")["status"]["containerStatuses"][0]["restartCount"])
    assert restarts == sorted(restarts)
    assert 4 <= restarts[-1] <= 7
    assert "BackOff" in event_reasons(world, "a")


def test_a_pod_that_is_active_for_too_long_fails() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a", activeDeadlineSeconds=60)])
    world.run(50)
    assert phases(world) == {"Running": 1}
    world.run(20)
    status = world.api.get(kinds.POD, "a", "default")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


def test_room_that_pods_give_back_is_there_for_those_that_name_the_node() -> None:
    world = world_with_nodes(1)
    for name in ("first", "second", "third"):
        if name == "third":
            world.api.delete(kinds.POD, "first", "default")
            world.run(60)
        world.apply([bare_pod(name, cpu="3", nodeName="node-1")])
        world.run(10)
    told = {pod["metadata"]["name"]: pod["status"]["phase"] for pod in pods(world)}
    assert told == {"second": "Failed", "third": "Running"}


def test_a_pod_that_names_a_node_where_it_does_not_fit_is_rejected() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("first", cpu="3", nodeName="node-1")])
    world.run(5)
    world.apply(
        [bare_pod("second", cpu="3", nodeName="node-1"), bare_pod("picky", nodeName="node-1", nodeSelector={"a": "b"})]
    )
    world.run(10)
    told = {pod["metadata"]["name"]: (pod["status"]["phase"], pod["status"].get("reason")) for pod in pods(world)}
    assert told == {"first": ("Running", None), "second": ("Failed", "OutOfcpu"), "picky": ("Failed", "NodeAffinity")}
    text = world.api.get(kinds.POD, "second", "default")["status"]["message"]
    assert text.startswith("Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 3000")
    assert "OutOfcpu" in event_reasons(world, "second")
