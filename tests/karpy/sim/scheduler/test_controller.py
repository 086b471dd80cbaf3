from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.objects import kinds
from karpy.sim.world import World
from tests.karpy.sim.manifests import NODE_CLASS, bare_pod, deployment, event_reasons, pods, world_with_nodes


def scheduled(world: World, name: str) -> Mapping[str, Any]:
    conditions = world.api.get(kinds.POD, name, "default")["status"].get("conditions", ())
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


def node_of(world: World, name: str) -> str:
    found: str = world.api.get(kinds.POD, name, "default")["spec"].get("nodeName", "")
    return found


def big(name: str, cpu: str = "3", **spec: Any) -> dict[str, Any]:
    return bare_pod(name, cpu=cpu, **spec)


def test_a_pod_that_fits_is_bound_and_told_so() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a")])
    world.run(0)
    assert node_of(world, "a") == "node-1"
    assert event_reasons(world, "a") == ["Scheduled"]


def test_a_pod_that_does_not_fit_says_why_in_its_condition_and_an_event() -> None:
    world = world_with_nodes(3)
    world.apply([big("a", "16")])
    world.run(1)
    condition = scheduled(world, "a")
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert condition["message"] == (
        "0/3 nodes are available: 3 Insufficient cpu. "
        "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."
    )
    assert event_reasons(world, "a") == ["FailedScheduling"]


def test_a_waiting_pod_gets_its_node_when_one_joins() -> None:
    world = world_with_nodes(1)
    world.apply([big("a"), big("b")])
    world.run(5)
    world.cloud.add_machine("s-4x-amd64", "sim-1b", NODE_CLASS)
    world.run(15)
    assert {node_of(world, "a"), node_of(world, "b")} == {"node-1", "node-2"}


def test_a_waiting_pod_gets_the_room_of_one_that_ends() -> None:
    world = world_with_nodes(1)
    world.apply([big("a")])
    world.run(5)
    world.apply([big("b")])
    world.run(5)
    assert node_of(world, "b") == ""
    world.api.delete(kinds.POD, "a", "default", grace_period_s=0)
    world.run(15)
    assert node_of(world, "b") == "node-1"


def test_the_more_important_pod_is_placed_first() -> None:
    world = world_with_nodes(1)
    world.apply([big("a"), big("b", priorityClassName="system-cluster-critical")])
    world.run(5)
    assert node_of(world, "b") == "node-1"
    assert node_of(world, "a") == ""


def test_gated_pods_and_pods_of_other_schedulers_are_left_alone() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("gated", schedulingGates=[{"name": "wait"}]), bare_pod("other", schedulerName="mine")])
    world.run(60)
    assert node_of(world, "gated") == node_of(world, "other") == ""
    (why,) = world.api.get(kinds.POD, "gated", "default")["status"]["conditions"]
    assert (why["reason"], why["message"]) == (
        "SchedulingGated",
        "Scheduling is blocked due to non-empty scheduling gates",
    )
    world.api.patch(kinds.POD, "gated", {"spec": {"schedulingGates": None}}, "default")
    world.run(1)
    assert node_of(world, "gated") == "node-1"


def test_a_condition_that_says_the_same_is_not_written_again() -> None:
    world = world_with_nodes(1)
    world.apply([big("a", "16")])
    world.run(1)
    version = world.api.get(kinds.POD, "a", "default")["metadata"]["resourceVersion"]
    world.run(1200)
    assert world.api.get(kinds.POD, "a", "default")["metadata"]["resourceVersion"] == version


def test_pods_of_one_workload_are_spread_over_nodes_and_zones_by_default() -> None:
    world = world_with_nodes(6)
    world.apply([deployment(replicas=6)])
    world.run(5)
    assert len({pod["spec"]["nodeName"] for pod in pods(world)}) == 6


def test_pods_that_fail_alike_are_worked_out_once_but_all_told() -> None:
    world = world_with_nodes(1)
    world.apply([deployment(replicas=20, template=bare_template("16"))])
    world.run(2)
    messages = {scheduled(world, pod["metadata"]["name"])["message"] for pod in pods(world)}
    assert len(messages) == 1


def bare_template(cpu: str) -> dict[str, Any]:
    made = bare_pod("web", cpu=cpu)
    return {"metadata": {"labels": {"app": "web"}}, "spec": made["spec"]}


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    api = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**api, "metadata": {"name": name}, "value": value, **more}


def test_an_important_pod_drives_out_a_lesser_one_gracefully_and_takes_its_place() -> None:
    world = world_with_nodes(1)
    world.apply([priority_class("vip", 1000), big("low")])
    world.run(5)
    told = []
    world.subscribe(kinds.POD, lambda event: told.append((event.type.value, event.object)))
    world.apply([big("vip", priorityClassName="vip")])
    world.run(0.1)
    vip = world.api.get(kinds.POD, "vip", "default")
    assert vip["status"]["nominatedNodeName"] == "node-1"
    assert scheduled(world, "vip")["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    low = world.api.get(kinds.POD, "low", "default")
    assert low["metadata"]["deletionGracePeriodSeconds"] == 30
    disrupted = next(each for each in low["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert (disrupted["status"], disrupted["reason"]) == ("True", "PreemptionByScheduler")
    assert disrupted["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    assert "Preempted" in event_reasons(world, "low")
    world.run(20)
    assert node_of(world, "vip") == "node-1"
    assert event_reasons(world, "vip")[:2] == ["FailedScheduling", "Scheduled"]


def test_the_room_is_kept_for_the_pod_that_made_it() -> None:
    world = world_with_nodes(1)
    world.apply([priority_class("vip", 1000), big("low", terminationGracePeriodSeconds=2)])
    world.run(5)
    world.apply([big("vip", priorityClassName="vip")])
    world.run(0.1)
    world.apply([big("thief")])
    world.run(30)
    assert node_of(world, "vip") == "node-1"
    assert node_of(world, "thief") == ""


def test_a_still_more_important_pod_takes_the_nomination_over() -> None:
    world = world_with_nodes(1)
    world.apply([priority_class("vip", 1000), priority_class("king", 2000), big("low")])
    world.run(5)
    world.apply([big("vip", priorityClassName="vip")])
    world.run(0.1)
    world.apply([big("king", priorityClassName="king")])
    world.run(0.1)
    assert "nominatedNodeName" not in world.api.get(kinds.POD, "vip", "default")["status"]
    world.run(30)
    assert node_of(world, "king") == "node-1"
    assert node_of(world, "vip") == ""


def test_a_polite_pod_waits_however_important() -> None:
    world = world_with_nodes(1)
    world.apply([priority_class("polite", 1000, preemptionPolicy="Never"), big("low")])
    world.run(5)
    world.apply([big("polite", priorityClassName="polite")])
    world.run(5)
    assert scheduled(world, "polite")["message"] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    )
    assert node_of(world, "low") == "node-1"


def test_a_pod_that_asks_for_something_else_is_tried_again_soon() -> None:
    world = world_with_nodes(1)
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]}})
    world.apply([bare_pod("a")])
    world.run(30)
    assert node_of(world, "a") == ""
    world.api.patch(kinds.POD, "a", {"spec": {"tolerations": [{"key": "team", "operator": "Exists"}]}}, "default")
    world.run(2)
    assert node_of(world, "a") == "node-1"
