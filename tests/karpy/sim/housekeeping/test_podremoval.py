from __future__ import annotations

from karpy.objects import kinds
from karpy.sim.housekeeping.podremoval import ORPHANED_S
from karpy.sim.world import World
from tests.karpy.sim.manifests import NODE_CLASS, bare_pod, event_reasons, phases, pods, world_with_nodes

TAINT = {"key": "team", "value": "a", "effect": "NoExecute"}


def tolerating(name: str, seconds: int | None = None) -> dict[str, object]:
    toleration: dict[str, object] = {"key": "team", "operator": "Exists"}
    if seconds is not None:
        toleration |= {"effect": "NoExecute", "tolerationSeconds": seconds}
    return bare_pod(name, tolerations=[toleration])


def test_pods_that_do_not_tolerate_a_no_execute_taint_are_driven_out() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a"), tolerating("b")])
    world.run(10)
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": [TAINT]}})
    world.run(5)
    assert [pod["metadata"]["name"] for pod in pods(world)] == ["b"]
    assert "TaintManagerEviction" in event_reasons(world, "a")


def test_a_toleration_with_seconds_runs_out() -> None:
    world = world_with_nodes(1)
    world.apply([tolerating("a", 60)])
    world.run(10)
    at = world.clock.now()
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": [TAINT]}})
    assert world.run_until(lambda: phases(world).get("Terminating") == 1, 300)
    assert 55 <= world.clock.now() - at <= 65


def test_patience_is_each_pods_own_and_begins_anew_when_the_taint_comes_back() -> None:
    world = world_with_nodes(1)
    world.apply([tolerating("a", 60)])
    world.run(10)
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": [TAINT]}})
    world.run(40)
    world.apply([tolerating("late", 60)])
    world.run(30)
    assert [pod["metadata"]["name"] for pod in pods(world)] == ["late"]
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": None}})
    world.run(10)
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": [TAINT]}})
    world.run(50)
    assert [pod["metadata"]["name"] for pod in pods(world)] == ["late"]
    world.run(20)
    assert pods(world) == []


def test_pods_of_a_node_that_is_gone_are_removed_after_a_while() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a")])
    world.run(10)
    world.api.delete(kinds.NODE, "node-1")
    world.run(ORPHANED_S - 1)
    assert len(pods(world)) == 1
    world.run(2)
    assert pods(world) == []


def test_a_pod_that_names_a_node_which_never_was_is_removed() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a", nodeName="nowhere")])
    world.run(ORPHANED_S + 1)
    assert pods(world) == []


def test_a_pod_that_says_nothing_bears_an_unreachable_node_for_five_minutes() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a"), bare_pod("b", tolerations=[{"operator": "Exists"}])])
    world.run(10)
    world.cloud.add_machine("s-4x-amd64", "sim-1b", NODE_CLASS)
    world.run(10)
    world.cloud.kill("sim:///sim-1a/i-00000001")
    world.run(40 + 290)
    assert "Terminating" not in phases(world)
    world.run(20)
    assert phases(world) == {"Running": 1, "Terminating": 1}


def disruption(world: World, name: str) -> str:
    conditions = world.api.get(kinds.POD, name, "default")["status"]["conditions"]
    return str(next((each["reason"] for each in conditions if each["type"] == "DisruptionTarget"), ""))


def test_a_pod_that_a_taint_drives_out_is_told_so() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a")])
    world.run(10)
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": [{"key": "out", "effect": "NoExecute"}]}})
    world.run(0.1)
    assert disruption(world, "a") == "DeletionByTaintManager"


def test_a_pod_held_by_a_finalizer_fails_when_its_node_is_gone() -> None:
    world = world_with_nodes(1)
    held = bare_pod("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    world.apply([held])
    world.run(10)
    world.api.delete(kinds.NODE, "node-1")
    world.run(60)
    assert disruption(world, "a") == "DeletionByPodGC"
    assert world.api.get(kinds.POD, "a", "default")["status"]["phase"] == "Failed"


def test_pods_on_their_way_out_go_at_once_when_their_node_is_out_of_service() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a"), bare_pod("b")])
    world.run(10)
    world.cloud.kill("sim:///sim-1a/i-00000001")
    world.api.delete(kinds.POD, "a", "default")
    world.run(60)
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoSchedule"}
    kept = world.api.get(kinds.NODE, "node-1")["spec"]["taints"]
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": [*kept, taint]}})
    world.run(1)
    assert [pod["metadata"]["name"] for pod in pods(world)] == ["b"]


def test_a_pod_deleted_before_it_had_a_node_does_not_linger() -> None:
    world = world_with_nodes(1)
    waiting = bare_pod("a", cpu="100")
    waiting["metadata"]["finalizers"] = ["example.com/hold"]
    world.apply([waiting])
    world.run(1)
    world.api.delete(kinds.POD, "a", "default")
    world.run(1)
    assert world.api.get(kinds.POD, "a", "default")["status"]["phase"] == "Failed"
