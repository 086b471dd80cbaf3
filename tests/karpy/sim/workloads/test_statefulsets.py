from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from karpy.sim.workloads.revisions import CONTROLLER_REVISION
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


def cpu_of(world: World, name: str) -> str:
    container = world.api.get(kinds.POD, name, "default")["spec"]["containers"][0]
    return str(container["resources"]["requests"]["cpu"])


def roll(world: World) -> None:
    world.api.patch(kinds.STATEFUL_SET, "db", {"spec": {"template": template("db", "200m")}}, "default")


def test_below_the_partition_pods_keep_the_old_template_even_when_they_are_lost() -> None:
    world = world_with_nodes(3)
    world.apply([stateful(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})])
    world.run(30)
    roll(world)
    world.run(30)
    assert [cpu_of(world, name) for name in names(world)] == ["100m", "100m", "200m"]
    world.api.delete(kinds.POD, "db-0", "default")
    world.run(30)
    assert cpu_of(world, "db-0") == "100m"
    found = status(world, kinds.STATEFUL_SET, "db")
    assert (found["currentReplicas"], found["updatedReplicas"]) == (2, 1)
    assert found["currentRevision"] != found["updateRevision"]


def test_several_may_be_replaced_at_a_time() -> None:
    world = world_with_nodes(3)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    world.apply([stateful(4, podManagementPolicy="Parallel", updateStrategy=strategy)])
    world.run(30)
    fewest = [4]
    world.subscribe(
        kinds.POD, lambda _: fewest.append(sum("deletionTimestamp" not in pod["metadata"] for pod in pods(world)))
    )
    roll(world)
    world.run(60)
    assert min(fewest) == 2
    assert {cpu_of(world, name) for name in names(world)} == {"200m"}


def test_the_next_pod_waits_until_the_one_before_has_been_ready_for_a_while() -> None:
    world = world_with_nodes(3)
    world.apply([stateful(2, minReadySeconds=30)])
    world.run(25)
    assert names(world) == ["db-0"]
    world.run(20)
    assert names(world) == ["db-0", "db-1"]
    found = status(world, kinds.STATEFUL_SET, "db")
    assert (found["readyReplicas"], found["availableReplicas"]) == (2, 1)


def test_numbers_may_start_anywhere() -> None:
    world = world_with_nodes(3)
    world.apply([stateful(2, ordinals={"start": 5})])
    world.run(30)
    assert names(world) == ["db-5", "db-6"]


def claims(world: World) -> list[str]:
    return sorted(each["metadata"]["name"] for each in world.api.list(kinds.PERSISTENT_VOLUME_CLAIM).items)


def with_claims(**policy: str) -> dict[str, Any]:
    spec = {
        "storageClassName": "disk",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    more = {"persistentVolumeClaimRetentionPolicy": policy} if policy else {}
    return stateful(3, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": spec}], **more)


DISK = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "disk"},
    "provisioner": "disk.example",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def test_each_pod_has_its_claims_and_returns_to_them() -> None:
    world = world_with_nodes(3)
    world.apply([DISK, with_claims()])
    world.run(60)
    assert claims(world) == ["data-db-0", "data-db-1", "data-db-2"]
    before = world.api.get(kinds.POD, "db-1", "default")["spec"]["nodeName"]
    world.api.delete(kinds.POD, "db-1", "default")
    world.run(30)
    assert world.api.get(kinds.POD, "db-1", "default")["spec"]["nodeName"] == before
    world.api.patch(kinds.STATEFUL_SET, "db", {"spec": {"replicas": 1}}, "default")
    world.run(30)
    world.api.delete(kinds.STATEFUL_SET, "db", "default")
    world.run(30)
    assert claims(world) == ["data-db-0", "data-db-1", "data-db-2"]


def test_claims_may_go_with_the_pods_that_are_given_up() -> None:
    world = world_with_nodes(3)
    world.apply([DISK, with_claims(whenScaled="Delete", whenDeleted="Retain")])
    world.run(60)
    world.api.patch(kinds.STATEFUL_SET, "db", {"spec": {"replicas": 1}}, "default")
    world.run(30)
    assert claims(world) == ["data-db-0"]
    world.api.delete(kinds.POD, "db-0", "default")
    world.run(30)
    assert claims(world) == ["data-db-0"]


def test_claims_may_go_with_the_set() -> None:
    world = world_with_nodes(3)
    world.apply([DISK, with_claims(whenScaled="Retain", whenDeleted="Delete")])
    world.run(60)
    world.api.patch(kinds.STATEFUL_SET, "db", {"spec": {"replicas": 1}}, "default")
    world.run(30)
    assert len(claims(world)) == 3
    world.api.delete(kinds.STATEFUL_SET, "db", "default")
    world.run(30)
    assert claims(world) == []


def test_its_templates_are_kept_as_revisions_and_the_newest_has_the_highest_number() -> None:
    world = world_with_nodes(3)
    world.apply([stateful(1)])
    world.run(10)
    first = status(world, kinds.STATEFUL_SET, "db")["updateRevision"]
    roll(world)
    world.run(30)
    second = status(world, kinds.STATEFUL_SET, "db")["updateRevision"]
    world.api.patch(kinds.STATEFUL_SET, "db", {"spec": {"template": template("db", "100m")}}, "default")
    world.run(30)
    numbers = {each["metadata"]["name"]: each["revision"] for each in world.api.list(CONTROLLER_REVISION).items}
    assert numbers == {first: 3, second: 2}


def test_claims_that_say_nothing_are_refused_and_nothing_else_stops() -> None:
    world = world_with_nodes(1)
    world.apply([stateful(1, volumeClaimTemplates=[{"metadata": {"name": "data"}}])])
    world.run(60)
    assert world.api.list(kinds.PERSISTENT_VOLUME_CLAIM).items == ()
    world.apply([workload(kinds.STATEFUL_SET, "other", replicas=1, serviceName="other")])
    world.run(60)
    assert "other-0" in names(world)
