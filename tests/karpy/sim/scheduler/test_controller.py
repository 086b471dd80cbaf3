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
