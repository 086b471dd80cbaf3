from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import WatchEvent
from karpy.sim.podfacts import is_active, is_ready
from karpy.sim.workloads.deploymentsets import HASH_LABEL, REVISION
from karpy.sim.world import World
from tests.karpy.sim.manifests import (
    deployment,
    event_reasons,
    phases,
    pods,
    status,
    template,
    workload,
    world_with_nodes,
)


def replica_sets(world: World) -> list[Any]:
    return list(world.api.list(kinds.REPLICA_SET).items)


def conditions(world: World, name: str = "web") -> dict[str, tuple[str, str]]:
    found = status(world, kinds.DEPLOYMENT, name)["conditions"]
    return {each["type"]: (each["status"], each["reason"]) for each in found}


def change(world: World, **spec: Any) -> None:
    world.api.patch(kinds.DEPLOYMENT, "web", {"spec": spec}, "default")


def test_it_makes_a_replica_set_of_its_template() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=3)])
    world.run(10)
    (made,) = replica_sets(world)
    mark = made["metadata"]["labels"][HASH_LABEL]
    assert made["metadata"]["name"] == f"web-{mark}"
    assert made["spec"]["selector"]["matchLabels"] == {"app": "web", HASH_LABEL: mark}
    assert made["metadata"]["annotations"][REVISION] == "1"
    assert all(pod["metadata"]["labels"][HASH_LABEL] == mark for pod in pods(world))
    assert event_reasons(world, "web") == ["ScalingReplicaSet"]


def test_its_status_says_when_it_is_complete() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=3)])
    world.run(0)
    assert conditions(world)["Available"] == ("False", "MinimumReplicasUnavailable")
    assert conditions(world)["Progressing"] == ("True", "ReplicaSetUpdated")
    world.run(10)
    found = status(world, kinds.DEPLOYMENT, "web")
    counts = {key: found.get(key) for key in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")}
    assert set(counts.values()) == {3}
    assert "unavailableReplicas" not in found
    assert found["observedGeneration"] == world.api.get(kinds.DEPLOYMENT, "web", "default")["metadata"]["generation"]
    assert conditions(world) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


def test_scaling_scales_the_replica_set() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=1)])
    world.run(5)
    for size in (6, 0, 2):
        change(world, replicas=size)
        world.run(10)
        assert len(pods(world)) == size
    assert len(replica_sets(world)) == 1


def test_a_new_template_rolls_out_within_surge_and_unavailability() -> None:
    world = world_with_nodes(3)
    world.apply([deployment(replicas=8)])
    world.run(20)
    seen: list[tuple[int, int]] = []

    def watch(_: WatchEvent) -> None:
        active = [pod for pod in pods(world) if is_active(pod)]
        seen.append((len(active), sum(1 for pod in active if is_ready(pod))))

    world.subscribe(kinds.POD, watch)
    seen.clear()
    change(world, template=template("web", "200m"))
    world.run(120)
    assert max(total for total, _ in seen) <= 10
    assert min(ready for _, ready in seen) >= 6
    assert phases(world) == {"Running": 8}
    old, new = sorted(replica_sets(world), key=lambda each: int(each["metadata"]["annotations"][REVISION]))
    assert (old["spec"]["replicas"], new["spec"]["replicas"]) == (0, 8)


def test_rolling_back_takes_the_old_replica_set_up_again_under_a_new_revision() -> None:
    world = world_with_nodes(3)
    world.apply([deployment(replicas=2)])
    world.run(20)
    (first,) = replica_sets(world)
    change(world, template=template("web", "200m"))
    world.run(60)
    change(world, template=template("web"))
    world.run(60)
    again = world.api.get(kinds.REPLICA_SET, first["metadata"]["name"], "default")
    assert again["spec"]["replicas"] == 2
    assert again["metadata"]["annotations"][REVISION] == "3"
    assert len(replica_sets(world)) == 2


def test_recreate_ends_all_old_pods_before_the_first_new_one() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=3, strategy={"type": "Recreate"})])
    world.run(10)
    together = []
    world.subscribe(kinds.POD, lambda _: together.append({p["metadata"]["labels"][HASH_LABEL] for p in pods(world)}))
    change(world, template=template("web", "200m"))
    world.run(30)
    assert all(len(marks) <= 1 for marks in together)
    assert phases(world) == {"Running": 3}


def test_a_paused_deployment_scales_but_does_not_roll() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=2)])
    world.run(10)
    change(world, paused=True, replicas=4, template=template("web", "200m"))
    world.run(30)
    assert len(replica_sets(world)) == 1
    assert phases(world) == {"Running": 4}
    change(world, paused=None)
    world.run(60)
    assert len(replica_sets(world)) == 2


def test_a_rollout_that_does_not_progress_is_called_so() -> None:
    world = world_with_nodes(1)
    world.apply([deployment(replicas=1, progressDeadlineSeconds=60, template=template("web", "64"))])
    world.run(30)
    assert conditions(world)["Progressing"] == ("True", "ReplicaSetUpdated")
    world.run(60)
    assert conditions(world)["Progressing"] == ("False", "ProgressDeadlineExceeded")


def test_old_replica_sets_beyond_the_history_are_dropped() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=1, revisionHistoryLimit=1)])
    for step in range(1, 4):
        world.run(30)
        change(
            world, template={**template("web", f"{step}00m"), "metadata": {"labels": {"app": "web", "v": str(step)}}}
        )
    world.run(60)
    assert len(replica_sets(world)) == 2


def test_a_replica_set_left_behind_is_adopted_again() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=2)])
    world.run(10)
    before = {pod["metadata"]["uid"] for pod in pods(world)}
    world.api.delete(kinds.DEPLOYMENT, "web", "default", propagation="Orphan")
    world.run(10)
    world.apply([deployment(replicas=2)])
    world.run(10)
    assert len(replica_sets(world)) == 1
    assert {pod["metadata"]["uid"] for pod in pods(world)} == before


def test_deleting_it_takes_everything_along() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=2), workload(kinds.DEPLOYMENT, "other", replicas=1)])
    world.run(10)
    world.api.delete(kinds.DEPLOYMENT, "web", "default")
    world.run(10)
    assert [each["metadata"]["labels"]["app"] for each in pods(world)] == ["other"]


def sizes(world: World) -> list[int]:
    """Of all sets, oldest revision first."""
    by_revision = sorted(replica_sets(world), key=lambda each: int(each["metadata"]["annotations"][REVISION]))
    return [each["spec"]["replicas"] for each in by_revision]


STUCK = template("web", "64")
"""Asks for more than any node has."""


def test_in_the_middle_of_a_rollout_a_new_size_is_shared_in_proportion() -> None:
    world = world_with_nodes(4)
    world.apply([deployment(replicas=10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})])
    world.run(30)
    change(world, template=STUCK)
    world.run(30)
    assert sizes(world) == [8, 5]
    change(world, replicas=15)
    world.run(30)
    assert sizes(world) == [11, 7]
    change(world, replicas=5)
    world.run(30)
    assert sum(sizes(world)) == 8


def test_what_recreates_is_available_only_with_all_its_pods() -> None:
    world = world_with_nodes(1)
    world.apply([deployment(replicas=4, strategy={"type": "Recreate"})])
    world.run(30)
    world.api.patch(kinds.NODE, "node-1", {"spec": {"unschedulable": True}})
    world.api.delete(kinds.POD, pods(world)[0]["metadata"]["name"], "default")
    world.run(30)
    assert conditions(world)["Available"] == ("False", "MinimumReplicasUnavailable")


def test_a_pod_lost_after_the_rollout_is_no_new_rollout() -> None:
    world = world_with_nodes(1)
    world.apply([deployment(replicas=4, progressDeadlineSeconds=60)])
    world.run(30)
    world.api.patch(kinds.NODE, "node-1", {"spec": {"unschedulable": True}})
    world.api.delete(kinds.POD, pods(world)[0]["metadata"]["name"], "default")
    world.run(120)
    assert conditions(world)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_while_it_is_paused_no_time_is_counted() -> None:
    world = world_with_nodes(1)
    world.apply([deployment(replicas=1, progressDeadlineSeconds=60, template=STUCK)])
    world.run(30)
    change(world, paused=True)
    world.run(300)
    assert conditions(world)["Progressing"] == ("Unknown", "DeploymentPaused")
    change(world, paused=None)
    world.run(30)
    assert conditions(world)["Progressing"] == ("Unknown", "DeploymentResumed")
    world.run(60)
    assert conditions(world)["Progressing"] == ("False", "ProgressDeadlineExceeded")


def test_its_annotations_go_to_the_present_set_and_old_revisions_are_remembered() -> None:
    world = world_with_nodes(2)
    cause = "kubernetes.io/change-cause"
    world.apply([deployment(replicas=1)])
    world.api.patch(kinds.DEPLOYMENT, "web", {"metadata": {"annotations": {cause: "first"}}}, "default")
    world.run(20)
    change(world, template=template("web", "200m"))
    world.api.patch(kinds.DEPLOYMENT, "web", {"metadata": {"annotations": {cause: "second"}}}, "default")
    world.run(30)
    told = {each["metadata"]["annotations"][cause]: each["metadata"]["name"] for each in replica_sets(world)}
    assert set(told) == {"first", "second"}
    change(world, template=template("web"))
    world.run(30)
    again = world.api.get(kinds.REPLICA_SET, told["first"], "default")["metadata"]["annotations"]
    assert (again[REVISION], again["deployment.kubernetes.io/revision-history"]) == ("3", "1")


def test_how_long_pods_must_be_ready_follows_without_a_rollout() -> None:
    world = world_with_nodes(1)
    world.apply([deployment(replicas=1)])
    world.run(20)
    change(world, minReadySeconds=30)
    world.run(5)
    (only,) = replica_sets(world)
    assert only["spec"]["minReadySeconds"] == 30


def test_it_says_when_its_pods_are_refused() -> None:
    world = world_with_nodes(1)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    world.apply([quota])
    world.run(5)
    world.apply([deployment(replicas=1)])
    world.run(30)
    assert conditions(world)["ReplicaFailure"] == ("True", "FailedCreate")
    world.api.delete(Kind("", "v1", "ResourceQuota", "resourcequotas"), "none", "default")
    world.run(120)
    assert "ReplicaFailure" not in conditions(world)
