from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from karpy.sim.cache import ClusterCache
from karpy.sim.housekeeping.ownergarbage import owner_garbage
from karpy.sim.world import World
from tests.karpy.sim.manifests import bare_pod, workload


def reference(kind: str, api_version: str, name: str, uid: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}


def owned(name: str, *references: dict[str, Any]) -> dict[str, Any]:
    pod = bare_pod(name)
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": list(references)}}


def world_with_collectors() -> World:
    world = World(actors=False)
    for collector in owner_garbage(world.api, ClusterCache(world.loop)):
        world.add(collector)
    return world


def names(world: World) -> set[str]:
    return {pod["metadata"]["name"] for pod in world.api.list(kinds.POD).items}


def test_what_has_no_living_owner_goes_and_the_rest_stays() -> None:
    world = world_with_collectors()
    (living,) = world.apply([workload(kinds.REPLICA_SET, "rs", replicas=0)])
    here = reference("ReplicaSet", "apps/v1", "rs", living["metadata"]["uid"])
    world.apply(
        [
            bare_pod("free"),
            owned("held", here),
            owned("lost", reference("ReplicaSet", "apps/v1", "gone", "1")),
            owned("of-a-namesake", reference("ReplicaSet", "apps/v1", "rs", "1")),
            owned("half-lost", here, reference("Job", "batch/v1", "gone", "1")),
            owned("of-something-else", reference("Thing", "example.com/v1", "gone", "1")),
        ]
    )
    world.run(5)
    assert names(world) == {"free", "held", "half-lost", "of-something-else"}
