from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.scheduler.volumes import ClaimPlan
from tests.karpy.sim.scheduler.scenes import Scene, node, pod

ZONE = labels.ZONE
Json = dict[str, Any]


def claim(name: str = "c", *, storage_class: str = "late", volume: str = "", size: str = "1Gi", **spec: Any) -> Json:
    marks = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    marks.update(spec.pop("annotations", {}))
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "annotations": marks},
        "spec": {
            "storageClassName": storage_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            **({"volumeName": volume} if volume else {}),
            **spec,
        },
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def volume(name: str, zone: str = "", *, size: str = "1Gi", storage_class: str = "late", **more: Any) -> Json:
    spec: Json = {
        "capacity": {"storage": size},
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "d", "volumeHandle": name},
    }
    if zone:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return {"metadata": {"name": name, **more}, "spec": spec, "status": {"phase": "Available"}}


def storage_class(name: str = "late", mode: str = "WaitForFirstConsumer", **more: Any) -> Json:
    return {"metadata": {"name": name}, "volumeBindingMode": mode, "provisioner": "d", **more}


def csi_node(name: str, count: int) -> Json:
    return {"metadata": {"name": name}, "spec": {"drivers": [{"name": "d", "allocatable": {"count": count}}]}}


def scene(*objects: tuple[Kind, Json]) -> Scene:
    made = Scene(node("a1", "a"), node("b1", "b"))
    for kind, obj in objects:
        made.storage.take(WatchEvent(EventType.ADDED, kind, obj))
    return made


CLAIM, VOLUME, CLASS = kinds.PERSISTENT_VOLUME_CLAIM, kinds.PERSISTENT_VOLUME, kinds.STORAGE_CLASS


def user(name: str = "p", *claims: str, **spec: Any) -> Json:
    mounted = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims or ("c",)]
    return pod(name, volumes=[*mounted, *spec.pop("volumes", [])], **spec)


def test_a_bound_volume_pins_its_pod_to_its_place() -> None:
    there = scene((CLAIM, claim(volume="v")), (VOLUME, volume("v", "b")))
    assert there.best(user()) == ("b1",)
    nowhere = scene((CLAIM, claim(volume="v")), (VOLUME, volume("v", "z")))
    assert nowhere.message(user()) == "0/2 nodes are available: 2 node(s) had volume node affinity conflict."


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        ([(CLAIM, claim(storage_class=""))], "pod has unbound immediate PersistentVolumeClaims"),
        (
            [(CLAIM, claim()), (CLASS, storage_class(mode="Immediate"))],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            [(CLAIM, {**claim(volume="v"), "status": {"phase": "Lost"}})],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
        ),
    ],
)
def test_claims_that_no_node_can_help_are_named_once(objects: list[tuple[Kind, Json]], why: str) -> None:
    there = scene(*objects)
    assert there.message(user()) == f"0/2 nodes are available: {why}."
    assert there.room_for(user()).message == "0/2 nodes are available: 2 Preemption is not helpful for scheduling."


def test_a_claim_of_its_own_that_is_not_there_yet_is_waited_for() -> None:
    own = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    assert scene().message(pod("p", volumes=[own])) == (
        "0/2 nodes are available: waiting for ephemeral volume controller to create the persistentvolumeclaim "
        '"p-scratch".'
    )


def test_a_waiting_claim_takes_the_smallest_volume_that_can_be_reached_else_a_new_one() -> None:
    there = scene(
        (CLASS, storage_class()),
        (CLAIM, claim(size="2Gi")),
        (VOLUME, volume("small", "a", size="1Gi")),
        (VOLUME, volume("large", "a", size="8Gi")),
        (VOLUME, volume("right", "a", size="3Gi")),
    )
    outcome = there.place(user())
    assert outcome.rules is not None
    assert outcome.rules.volumes is not None
    plans = {each.name: outcome.rules.volumes.plan(each) for each in there.nodes}
    assert plans == {
        "a1": (ClaimPlan(("default", "c"), "right"),),
        "b1": (ClaimPlan(("default", "c"), ""),),
    }


def test_without_a_provisioner_only_volumes_that_exist_will_do() -> None:
    fixed = storage_class(provisioner="kubernetes.io/no-provisioner")
    there = scene((CLASS, fixed), (CLAIM, claim()), (VOLUME, volume("v", "b")))
    assert there.best(user()) == ("b1",)
    two = scene((CLASS, fixed), (CLAIM, claim()), (CLAIM, claim("d")), (VOLUME, volume("v", "b")))
    assert two.message(user("p", "c", "d")) == (
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
    )


def test_a_class_may_be_at_home_in_some_zones_only() -> None:
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    there = scene((CLASS, storage_class(allowedTopologies=topologies)), (CLAIM, claim()))
    assert there.best(user()) == ("b1",)


def test_a_claim_that_has_its_node_stays_there() -> None:
    marked = claim(annotations={"volume.kubernetes.io/selected-node": "a1"})
    assert scene((CLASS, storage_class()), (CLAIM, marked)).best(user()) == ("a1",)


def test_a_node_holds_only_so_many_volumes_of_a_driver_and_one_that_it_holds_already_is_free() -> None:
    there = scene(
        (CLAIM, claim("c", volume="v")),
        (CLAIM, claim("d", volume="w")),
        (VOLUME, volume("v")),
        (VOLUME, volume("w")),
        (kinds.CSI_NODE, csi_node("a1", 1)),
        (kinds.CSI_NODE, csi_node("b1", 0)),
    ).holds("a1", user("other", "d"))
    assert there.message(user("p", "c")) == "0/2 nodes are available: 2 node(s) exceed max volume count."
    assert there.best(user("p", "d")) == ("a1",)


def test_a_claim_for_one_pod_is_used_by_one_pod_and_preemption_may_free_it() -> None:
    alone = claim("c", volume="v", accessModes=["ReadWriteOncePod"])
    there = scene((CLAIM, alone), (VOLUME, volume("v"))).holds("a1", user("other"))
    assert there.message(user()) == (
        "0/2 nodes are available: 2 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod "
        "access mode."
    )
    assert [each.node for each in there.room_for(user(priority=5)).candidates] == ["a1"]


def test_the_zone_that_a_volume_is_labelled_with_counts() -> None:
    there = scene((CLAIM, claim(volume="v")), (VOLUME, volume("v", labels={ZONE: "a__c"})))
    assert there.best(user()) == ("a1",)
    there = scene((CLAIM, claim(volume="v")), (VOLUME, volume("v", labels={ZONE: "c"})))
    assert there.message(user()) == "0/2 nodes are available: 2 node(s) had no available volume zone."


def test_a_disk_is_mounted_once_unless_all_only_read_it() -> None:
    def on(disk: Json) -> Json:
        return pod(volumes=[{"name": "d", **disk}])

    ebs, reading = {"awsElasticBlockStore": {"volumeID": "1"}}, {"gcePersistentDisk": {"pdName": "1", "readOnly": True}}
    assert scene().holds("a1", on(ebs)).best(on(ebs)) == ("b1",)
    assert scene().holds("a1", on(reading)).holds("b1", on(reading)).best(on(reading)) == ("a1", "b1")
    writing = {"gcePersistentDisk": {"pdName": "1"}}
    assert scene().holds("a1", on(reading)).best(on(writing)) == ("b1",)
