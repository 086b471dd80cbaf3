from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.kube.client import PatchType
from karpy.objects import kinds
from karpy.sim.world import World
from tests.karpy.sim.manifests import bare_pod, event_reasons, world_with_nodes

PROVIDER_ID = "sim:///sim-1a/i-00000001"


def node(world: World, name: str = "node-1") -> Mapping[str, Any]:
    return world.api.get(kinds.NODE, name)


def taints(world: World, name: str = "node-1") -> set[tuple[str, str]]:
    return {(each["key"].rpartition("/")[2], each["effect"]) for each in node(world, name)["spec"].get("taints", ())}


def readiness(world: World) -> str:
    return next(each["status"] for each in node(world)["status"]["conditions"] if each["type"] == "Ready")


def test_a_silent_node_is_unreachable_after_forty_seconds() -> None:
    world = world_with_nodes(2)
    world.cloud.kill(PROVIDER_ID)
    world.run(39)
    assert readiness(world) == "True"
    world.run(2)
    assert readiness(world) == "Unknown"
    assert taints(world) == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
    assert event_reasons(world, "node-1")[-1] == "NodeNotReady"


def test_the_same_with_written_heartbeats() -> None:
    world = world_with_nodes(1, heartbeats=True)
    world.run(300)
    assert readiness(world) == "True"
    world.cloud.kill(PROVIDER_ID)
    world.run(51)
    assert readiness(world) == "Unknown"


def test_pods_of_an_unreachable_node_are_not_ready() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a", tolerations=[{"operator": "Exists"}])])
    world.run(10)
    world.cloud.kill(PROVIDER_ID)
    world.run(45)
    conditions = world.api.get(kinds.POD, "a", "default")["status"]["conditions"]
    assert {each["type"]: each["status"] for each in conditions}["Ready"] == "False"


def test_a_cordoned_node_is_tainted_until_it_is_uncordoned() -> None:
    world = world_with_nodes(1)
    world.api.patch(kinds.NODE, "node-1", {"spec": {"unschedulable": True}})
    world.run(1)
    assert taints(world) == {("unschedulable", "NoSchedule")}
    world.api.patch(kinds.NODE, "node-1", {"spec": {"unschedulable": None}})
    world.run(1)
    assert taints(world) == set()


def test_a_node_under_pressure_takes_no_more_pods() -> None:
    world = world_with_nodes(1)

    def say(status: str) -> None:
        condition = {"type": "MemoryPressure", "status": status, "reason": "Test", "message": ""}
        patch = {"status": {"conditions": [condition]}}
        world.api.patch(kinds.NODE, "node-1", patch, patch_type=PatchType.STRATEGIC, subresource="status")
        world.run(1)

    say("True")
    assert taints(world) == {("memory-pressure", "NoSchedule")}
    say("False")
    assert taints(world) == set()


def test_taints_of_others_are_kept() -> None:
    world = world_with_nodes(1)
    own = [{"key": "team", "value": "a", "effect": "NoSchedule"}]
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": own, "unschedulable": True}})
    world.run(1)
    assert taints(world) == {("team", "NoSchedule"), ("unschedulable", "NoSchedule")}


def test_a_node_whose_machine_is_gone_is_removed() -> None:
    world = world_with_nodes(2)
    world.cloud.vanish(PROVIDER_ID)
    world.run(60)
    assert [each["metadata"]["name"] for each in world.api.list(kinds.NODE).items] == ["node-2"]


def test_a_node_made_by_hand_is_left_alone() -> None:
    world = world_with_nodes(1)
    world.apply([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "by-hand"}}])
    world.run(600)
    assert taints(world, "by-hand") == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}


def kill(world: World, *serials: int) -> None:
    for serial in serials:
        world.cloud.kill(f"sim:///sim-1{'abc'[(serial - 1) % 3]}/i-{serial:08}")


DRIVEN_OUT = ("unreachable", "NoExecute")


def test_nodes_of_one_zone_are_given_up_on_one_after_the_other() -> None:
    world = world_with_nodes(9)
    world.run(60)
    kill(world, 1, 4, 2)  # zones a, a and b
    world.run(41)
    given_up = [name for name in ("node-1", "node-4") if DRIVEN_OUT in taints(world, name)]
    assert len(given_up) == 1
    assert DRIVEN_OUT in taints(world, "node-2")
    assert all(("unreachable", "NoSchedule") in taints(world, name) for name in ("node-1", "node-4"))
    world.run(10)
    assert all(DRIVEN_OUT in taints(world, name) for name in ("node-1", "node-4"))


def test_when_every_node_is_silent_none_is_given_up_on() -> None:
    world = world_with_nodes(3)
    world.run(60)
    kill(world, 1)
    world.run(60)
    assert DRIVEN_OUT in taints(world)
    kill(world, 2, 3)
    world.run(60)
    assert [taints(world, f"node-{number}") for number in (1, 2, 3)] == [{("unreachable", "NoSchedule")}] * 3
