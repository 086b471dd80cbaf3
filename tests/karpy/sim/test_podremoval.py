from __future__ import annotations

from karpy.objects import kinds
from karpy.sim.podremoval import ORPHANED_S
from tests.karpy.sim.manifests import bare_pod, event_reasons, phases, pods, world_with_nodes

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
    world.api.patch(kinds.NODE, "node-1", {"spec": {"taints": [{**TAINT, "timeAdded": "2026-01-05T09:00:20Z"}]}})
    assert world.run_until(lambda: phases(world).get("Terminating") == 1, 300)
    assert 55 <= world.clock.now() - at <= 65


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
    world.cloud.kill("sim:///sim-1a/i-00000001")
    world.run(40 + 290)
    assert "Terminating" not in phases(world)
    world.run(20)
    assert phases(world) == {"Running": 1, "Terminating": 1}
