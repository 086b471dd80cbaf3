from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from karpy.sim.world import World
from tests.karpy.sim.manifests import pods, status, template, workload, world_with_nodes


def stateful(replicas: int = 3, **spec: Any) -> dict[str, Any]:
    return workload(kinds.STATEFUL_SET, "db", replicas=replicas, serviceName="db", **spec)


def names(world: World) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in pods(world))


def test_pods_come_one_after_the_other_each_ready_before_the_next() -> None:
    world = world_with_nodes(3)
    world.apply([stateful()])
    world.run(0.5)
    assert names(world) == ["db-0"]
    world.run(20)
    assert names(world) == ["db-0", "db-1", "db-2"]
    assert status(world, kinds.STATEFUL_SET, "db")["readyReplicas"] == 3


def test_parallel_pods_come_all_at_once() -> None:
    world = world_with_nodes(3)
    world.apply([stateful(podManagementPolicy="Parallel")])
    world.run(0)
    assert names(world) == ["db-0", "db-1", "db-2"]


def test_the_highest_goes_first() -> None:
    world = world_with_nodes(3)
    world.apply([stateful()])
    world.run(30)
    told: list[tuple[str, str]] = []
    world.subscribe(kinds.POD, lambda event: told.append((event.object["metadata"]["name"], event.type.name)))
    told.clear()  # what was there already is told first
    world.api.patch(kinds.STATEFUL_SET, "db", {"spec": {"replicas": 1}}, "default")
    world.run(20)
    assert names(world) == ["db-0"]
    assert told == [("db-2", "MODIFIED"), ("db-2", "DELETED"), ("db-1", "MODIFIED"), ("db-1", "DELETED")]


def test_a_lost_pod_returns_under_its_name() -> None:
    world = world_with_nodes(3)
    world.apply([stateful()])
    world.run(30)
    lost = world.api.get(kinds.POD, "db-1", "default")["metadata"]["uid"]
    world.api.delete(kinds.POD, "db-1", "default")
    world.run(20)
    assert world.api.get(kinds.POD, "db-1", "default")["metadata"]["uid"] != lost


def test_a_new_template_replaces_pods_from_the_highest_down() -> None:
    world = world_with_nodes(3)
    world.apply([stateful()])
    world.run(30)
    gone: list[str] = []

    def watch(event: Any) -> None:
        if event.type.value == "DELETED":
            gone.append(event.object["metadata"]["name"])

    world.subscribe(kinds.POD, watch)
    world.api.patch(kinds.STATEFUL_SET, "db", {"spec": {"template": template("db", "200m")}}, "default")
    world.run(60)
    assert gone == ["db-2", "db-1", "db-0"]
    found = status(world, kinds.STATEFUL_SET, "db")
    assert found["currentRevision"] == found["updateRevision"]
    assert found["updatedReplicas"] == 3


def test_pods_carry_their_name_and_number() -> None:
    world = world_with_nodes(1)
    world.apply([stateful(1)])
    world.run(5)
    pod = world.api.get(kinds.POD, "db-0", "default")
    assert pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "db-0"
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "0"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-0", "db")
