from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from karpy.sim.world import World
from tests.karpy.sim.manifests import NODE_CLASS, event_reasons, pods, status, template, workload, world_with_nodes


def daemon(**pod_spec: Any) -> dict[str, Any]:
    return workload(kinds.DAEMON_SET, "agent", template=template("agent", **pod_spec))


def nodes_of(world: World) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "") for pod in pods(world))


def test_every_node_gets_one_pod_bound_by_the_scheduler() -> None:
    world = world_with_nodes(3)
    world.apply([daemon()])
    world.run(10)
    assert nodes_of(world) == ["node-1", "node-2", "node-3"]
    found = status(world, kinds.DAEMON_SET, "agent")
    assert (found["desiredNumberScheduled"], found["numberReady"], found["numberAvailable"]) == (3, 3, 3)
    assert "numberUnavailable" not in found


def test_a_node_that_joins_gets_its_pod_and_one_that_leaves_takes_it_along() -> None:
    world = world_with_nodes(1)
    world.apply([daemon()])
    world.run(10)
    world.cloud.add_machine("s-4x-amd64", "sim-1b", NODE_CLASS)
    world.run(20)
    assert nodes_of(world) == ["node-1", "node-2"]
    world.api.delete(kinds.NODE, "node-1")
    world.run(40)
    assert nodes_of(world) == ["node-2"]
    assert status(world, kinds.DAEMON_SET, "agent")["desiredNumberScheduled"] == 1


def test_nodes_that_it_does_not_choose_or_bear_get_none() -> None:
    world = world_with_nodes(3)
    world.api.patch(kinds.NODE, "node-1", {"metadata": {"labels": {"gpu": "yes"}}})
    taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
    world.api.patch(kinds.NODE, "node-2", {"metadata": {"labels": {"gpu": "yes"}}, "spec": {"taints": [taint]}})
    world.apply([daemon(nodeSelector={"gpu": "yes"})])
    world.run(10)
    assert nodes_of(world) == ["node-1"]


def test_a_taint_that_drives_out_ends_the_pod_and_its_end_brings_it_back() -> None:
    world = world_with_nodes(1)
    world.apply([daemon()])
    world.run(10)
    taint = {"key": "team", "value": "a", "effect": "NoExecute"}
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": [taint]}})
    world.run(10)
    assert pods(world) == []
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": None}})
    world.run(10)
    assert nodes_of(world) == ["node-1"]


def test_its_pods_run_on_cordoned_nodes_too() -> None:
    world = world_with_nodes(1)
    world.api.patch(kinds.NODE, "node-1", {"spec": {"unschedulable": True}})
    world.apply([daemon()])
    world.run(10)
    assert nodes_of(world) == ["node-1"]


def test_a_new_template_replaces_pods_one_at_a_time() -> None:
    world = world_with_nodes(3)
    world.apply([daemon()])
    world.run(10)
    ready: list[int] = []
    world.subscribe(kinds.DAEMON_SET, lambda event: ready.append(event.object["status"].get("numberReady", 0)))
    ready.clear()
    world.api.patch(kinds.DAEMON_SET, "agent", {"spec": {"template": template("agent", "200m")}}, "default")
    world.run(60)
    assert status(world, kinds.DAEMON_SET, "agent")["updatedNumberScheduled"] == 3
    assert min(ready) == 2
    assert nodes_of(world) == ["node-1", "node-2", "node-3"]


def test_a_pod_that_does_not_fit_its_node_waits_there() -> None:
    world = world_with_nodes(1)
    world.apply([daemon(cpu="64")])
    world.run(10)
    assert nodes_of(world) == [""]
    assert status(world, kinds.DAEMON_SET, "agent")["numberUnavailable"] == 1


def rolled(world: World, **rolling: Any) -> list[int]:
    """Gives a DaemonSet that has settled a new template, and lets that roll out; how many were ready all the while."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    world.apply([{**daemon(), "spec": {**daemon()["spec"], "updateStrategy": strategy}}])
    world.run(10)
    ready: list[int] = []
    world.subscribe(kinds.DAEMON_SET, lambda event: ready.append(event.object["status"].get("numberReady", 0)))
    ready.clear()
    world.api.patch(kinds.DAEMON_SET, "agent", {"spec": {"template": template("agent", "200m")}}, "default")
    world.run(90)
    assert status(world, kinds.DAEMON_SET, "agent")["updatedNumberScheduled"] == 4
    assert len(pods(world)) == 4
    return ready


def test_a_share_of_the_nodes_may_be_without_a_pod_rounded_up() -> None:
    assert min(rolled(world_with_nodes(4), maxUnavailable="30%")) == 2


def test_with_a_surge_the_new_pod_is_there_before_the_old_one_goes() -> None:
    world = world_with_nodes(4)
    most = [0]
    world.subscribe(
        kinds.POD, lambda _: most.append(len([p for p in pods(world) if "deletionTimestamp" not in p["metadata"]]))
    )
    ready = rolled(world, maxSurge=1, maxUnavailable=0)
    assert min(ready) == 4
    assert max(most) == 5


def test_on_delete_keeps_old_pods_until_somebody_deletes_them() -> None:
    world = world_with_nodes(2)
    world.apply([{**daemon(), "spec": {**daemon()["spec"], "updateStrategy": {"type": "OnDelete"}}}])
    world.run(10)
    world.api.patch(kinds.DAEMON_SET, "agent", {"spec": {"template": template("agent", "200m")}}, "default")
    world.run(30)
    assert "updatedNumberScheduled" not in status(world, kinds.DAEMON_SET, "agent")
    world.api.delete(kinds.POD, pods(world)[0]["metadata"]["name"], "default")
    world.run(30)
    assert status(world, kinds.DAEMON_SET, "agent")["updatedNumberScheduled"] == 1


def test_a_pod_that_failed_is_ended_and_made_again() -> None:
    world = world_with_nodes(1)
    world.apply([daemon()])
    world.run(10)
    name = pods(world)[0]["metadata"]["name"]
    world.api.patch(kinds.POD, name, {"status": {"phase": "Failed"}}, "default", subresource="status")
    world.run(20)
    assert [pod["status"]["phase"] for pod in pods(world)] == ["Running"]
    assert pods(world)[0]["metadata"]["name"] != name
    assert "FailedDaemonPod" in event_reasons(world, "agent")


def test_what_has_no_pod_available_long_enough_is_not_available() -> None:
    world = world_with_nodes(1)
    world.apply([{**daemon(), "spec": {**daemon()["spec"], "minReadySeconds": 60}}])
    world.run(30)
    found = status(world, kinds.DAEMON_SET, "agent")
    assert (found["numberReady"], found.get("numberAvailable", 0), found["numberUnavailable"]) == (1, 0, 1)
    world.run(60)
    assert status(world, kinds.DAEMON_SET, "agent")["numberAvailable"] == 1
