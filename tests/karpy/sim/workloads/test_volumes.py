from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.objects import kinds
from karpy.sim.world import World
from tests.karpy.sim.manifests import bare_pod, event_reasons, world_with_nodes

Json = dict[str, Any]


def storage_class(mode: str = "WaitForFirstConsumer", **more: Any) -> Json:
    metadata = {"name": "disk"}
    api = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    return {**api, "metadata": metadata, "provisioner": "disk.example", "volumeBindingMode": mode, **more}


def claim(name: str = "data", storage_class: str = "disk") -> Json:
    spec = {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def volume(name: str, zone: str = "", **more: Any) -> Json:
    spec: Json = {
        "storageClassName": "disk",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "2Gi"},
        "csi": {"driver": "disk.example", "volumeHandle": name},
        **more,
    }
    if zone:
        term = {"matchExpressions": [{"key": labels.ZONE, "operator": "In", "values": [zone]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def user(name: str = "app", claim_name: str = "data", **spec: Any) -> Json:
    mounted = {"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}
    return bare_pod(name, volumes=[mounted], **spec)


def found(world: World, name: str = "data") -> Json:
    return dict(world.api.get(kinds.PERSISTENT_VOLUME_CLAIM, name, "default"))


def node_of(world: World, name: str = "app") -> str:
    bound: str = world.api.get(kinds.POD, name, "default")["spec"].get("nodeName", "")
    return bound


def test_a_claim_waits_for_its_pod_and_gets_a_volume_in_the_zone_of_the_pods_node() -> None:
    world = world_with_nodes(3)
    world.apply([storage_class(), claim()])
    world.run(10)
    assert found(world)["status"]["phase"] == "Pending"
    assert event_reasons(world, "data") == ["WaitForFirstConsumer"]
    world.apply([user(nodeSelector={labels.ZONE: "sim-1b"})])
    world.run(10)
    assert node_of(world) == "node-2"
    bound = found(world)
    assert bound["status"]["phase"] == "Bound"
    made = world.api.get(kinds.PERSISTENT_VOLUME, bound["spec"]["volumeName"])
    (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": labels.ZONE, "operator": "In", "values": ["sim-1b"]}]
    assert made["status"]["phase"] == "Bound"


def test_the_next_pod_of_a_claim_follows_its_volume() -> None:
    world = world_with_nodes(3)
    world.apply([storage_class(), claim(), user(nodeSelector={labels.ZONE: "sim-1c"})])
    world.run(10)
    world.api.delete(kinds.POD, "app", "default", grace_period_s=0)
    world.apply([user("next")])
    world.run(10)
    assert node_of(world, "next") == "node-3"


def test_an_immediate_claim_gets_its_volume_at_once_and_its_pod_goes_there() -> None:
    world = world_with_nodes(3)
    world.apply([storage_class("Immediate"), claim()])
    world.run(1)
    assert found(world)["status"]["phase"] == "Bound"
    world.apply([user()])
    world.run(10)
    zone = world.api.get(kinds.PERSISTENT_VOLUME, found(world)["spec"]["volumeName"])["spec"]["nodeAffinity"]
    node = world.api.get(kinds.NODE, node_of(world))
    wanted = zone["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"]
    assert node["metadata"]["labels"][labels.ZONE] in wanted


def test_a_volume_that_exists_is_taken_before_one_is_made() -> None:
    world = world_with_nodes(3)
    world.apply([storage_class(provisioner="kubernetes.io/no-provisioner"), volume("old", "sim-1b"), claim(), user()])
    world.run(10)
    assert found(world)["spec"]["volumeName"] == "old"
    assert node_of(world) == "node-2"


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_a_volume_goes_with_its_claim_or_stays_released(policy: str) -> None:
    world = world_with_nodes(1)
    world.apply([storage_class("Immediate", reclaimPolicy=policy), claim()])
    world.run(1)
    name = found(world)["spec"]["volumeName"]
    world.api.delete(kinds.PERSISTENT_VOLUME_CLAIM, "data", "default")
    world.run(1)
    left = {each["metadata"]["name"]: each["status"]["phase"] for each in world.api.list(kinds.PERSISTENT_VOLUME).items}
    assert left == ({} if policy == "Delete" else {name: "Released"})


def test_a_claim_without_its_volume_is_lost() -> None:
    world = world_with_nodes(1)
    world.apply([storage_class("Immediate", reclaimPolicy="Retain"), claim()])
    world.run(1)
    world.api.delete(kinds.PERSISTENT_VOLUME, found(world)["spec"]["volumeName"])
    world.run(1)
    assert found(world)["status"]["phase"] == "Lost"


def test_a_volume_that_is_kept_for_a_claim_of_no_namespace_is_left_alone() -> None:
    world = world_with_nodes(1)
    world.apply([storage_class("Immediate"), volume("odd", claimRef={"name": "data"}), claim()])
    world.run(10)
    assert found(world)["spec"]["volumeName"] != "odd"
    assert world.api.get(kinds.PERSISTENT_VOLUME, "odd")["status"]["phase"] == "Pending"
