"""Volumes are attached where their pods run, and taken off when nobody uses them."""

from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from karpy.sim.world import World
from tests.karpy.sim.manifests import bare_pod, world_with_nodes


def with_volume(name: str = "db") -> list[dict[str, Any]]:
    """A pod, its claim, and a class that makes volumes where the pod runs."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "disks",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    disks = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "disks"},
        "provisioner": "disk.csi.karpy.dev",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    return [disks, claim, bare_pod(name, volumes=volumes)]


def attached(world: World) -> list[tuple[str, str, bool]]:
    """Volume, node, and whether it is attached."""
    found = world.api.list(kinds.VOLUME_ATTACHMENT).items
    return [
        (each["spec"]["source"]["persistentVolumeName"], each["spec"]["nodeName"], each["status"]["attached"])
        for each in found
    ]


def test_a_volume_is_attached_to_the_node_of_its_pod() -> None:
    world = world_with_nodes(2)
    world.apply([*with_volume(), bare_pod("other")])
    world.run(20)
    node = world.api.get(kinds.POD, "db", "default")["spec"]["nodeName"]
    (volume,) = world.api.list(kinds.PERSISTENT_VOLUME).items
    assert attached(world) == [(volume["metadata"]["name"], node, True)]


def test_it_is_taken_off_a_little_after_its_pod_has_ended() -> None:
    world = world_with_nodes(1)
    world.apply(with_volume())
    world.run(20)
    world.api.delete(kinds.POD, "db", "default", grace_period_s=0)
    world.run(2)
    assert attached(world)
    world.run(2)
    assert not attached(world)


def test_a_pod_that_comes_back_in_time_keeps_it() -> None:
    world = world_with_nodes(1)
    world.apply(with_volume())
    world.run(20)
    (before,) = world.api.list(kinds.VOLUME_ATTACHMENT).items
    world.api.delete(kinds.POD, "db", "default", grace_period_s=0)
    world.run(1)
    world.apply(with_volume()[2:])
    world.run(30)
    (after,) = world.api.list(kinds.VOLUME_ATTACHMENT).items
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_it_is_taken_off_a_node_that_is_gone() -> None:
    world = world_with_nodes(1)
    world.apply(with_volume())
    world.run(20)
    world.api.delete(kinds.NODE, "node-1")
    world.run(120)
    assert not attached(world)
