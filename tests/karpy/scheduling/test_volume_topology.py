"""Where the disks of a pod are, or may be made, says where the pod goes: for disks of claims and for ephemeral ones alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from karpy import labels
from karpy.scheduling.plan import Plan
from karpy.testing import make_node, make_nodepool, make_pod, selector
from tests.judge import plan_of
from tests.karpy.scheduling.test_volumes import claim, storage_class, using, volume, zone

Json = dict[str, Any]
Disk = Callable[..., tuple[Json, str]]

LOCAL, HOST_PATH = {"local": {"path": "/x"}}, {"hostPath": {"path": "/x"}}


def of_a_claim(**spec: Any) -> tuple[Json, str]:
    """A pod that uses a claim, and the name of the claim."""
    return using("data", spec=spec), "data"


def ephemeral(**spec: Any) -> tuple[Json, str]:
    """A pod with a disk of its own, and the name of the claim that is made for it."""
    template = {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}
    disk = {"name": "scratch", "ephemeral": template}
    return make_pod("pod", spec={"volumes": [disk], **spec}), "pod-scratch"


both_kinds = pytest.mark.parametrize("disk", [of_a_claim, ephemeral])


def affinity(*terms: Json) -> Json:
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def zones(plan: Plan) -> set[str]:
    """The zones that the pod's machine may be in; none when the pod waits."""
    return set().union(*(launch.requirements[labels.ZONE].values for launch in plan.launches))


# A class that says where its disks are made


@pytest.mark.core("CORE-380")
@both_kinds
def test_a_disk_that_is_still_to_be_made(disk: Disk) -> None:
    pod, name = disk()
    unbound = [claim(name)] if disk is of_a_claim else []
    made_in = storage_class("fast", {labels.ZONE: ["zone-b"]})
    assert zones(plan_of(make_nodepool(), made_in, *unbound, pod)) == {"zone-b"}
    # Kubernetes has made the claim of an ephemeral disk by the time the pod waits; that changes nothing.
    assert zones(plan_of(make_nodepool(), made_in, claim(name), pod)) == {"zone-b"}


@pytest.mark.core("CORE-381")
@both_kinds
def test_a_disk_that_can_only_be_made_where_the_pod_cannot_go(disk: Disk) -> None:
    nowhere = storage_class("fast", {labels.ZONE: ["elsewhere"]})
    there = storage_class("fast", {labels.ZONE: ["zone-b"]})
    pod, name = disk()
    assert plan_of(make_nodepool(), nowhere, claim(name), pod).placed == 0
    pod, name = disk(nodeSelector={labels.ZONE: "zone-a"})
    assert plan_of(make_nodepool(), there, claim(name), pod).placed == 0
    elsewhere = make_nodepool(requirements=[zone("zone-a", "zone-c")])
    pod, name = disk()
    assert plan_of(elsewhere, there, claim(name), pod).placed == 0


# A disk that is there


@pytest.mark.core("CORE-382")
@both_kinds
def test_a_disk_that_is_there_draws_its_pod_to_it_whatever_its_class_says(disk: Disk) -> None:
    pod, name = disk()
    other = storage_class("fast", {labels.ZONE: ["zone-a"]})
    plan = plan_of(make_nodepool(), other, claim(name, volume="v"), volume("v", [zone("zone-c")]), pod)
    assert zones(plan) == {"zone-c"}


@pytest.mark.core("CORE-385")
@both_kinds
def test_a_disk_that_is_where_the_pod_cannot_go(disk: Disk) -> None:
    for away, spec in (("elsewhere", {}), ("zone-c", {"nodeSelector": {labels.ZONE: "zone-a"}})):
        pod, name = disk(**spec)
        objects = [storage_class(), claim(name, volume="v"), volume("v", [zone(away)])]
        assert plan_of(make_nodepool(), *objects, pod).placed == 0


def test_a_node_without_a_zone_is_no_way_out_for_a_pod_and_a_disk_that_are_apart() -> None:
    objects = [make_nodepool(), make_node("bare"), claim(volume="v"), volume("v", [zone("zone-c")])]
    assert plan_of(*objects, using("data", spec={"nodeSelector": {labels.ZONE: "zone-a"}})).placed == 0


def test_disks_that_are_apart_keep_their_pod_from_everywhere_and_are_named() -> None:
    disks = [claim(n, volume=f"v-{n}") for n in "ab"] + [volume(f"v-{n}", [zone(f"zone-{n}")]) for n in "ab"]
    plan = plan_of(make_nodepool(), make_node("bare"), *disks, using("a", "b"))
    (part,) = plan.unschedulable
    assert part.reason == "no node can reach all of its volumes (PersistentVolumeClaims=default/a, default/b)"


@pytest.mark.core("CORE-383")
@both_kinds
@pytest.mark.parametrize("source", [LOCAL, HOST_PATH])
@pytest.mark.parametrize(
    ("terms", "reached"),
    [
        ([[selector(labels.HOSTNAME, "In", "gone")]], None),
        ([[selector(labels.HOSTNAME, "In", "gone"), zone("zone-b")]], {"zone-b"}),
        ([[selector(labels.HOSTNAME, "NotIn", "gone"), zone("zone-b", "zone-c")]], {"zone-b", "zone-c"}),
    ],
)
def test_the_host_of_a_disk_that_is_on_one_host_is_overlooked(
    disk: Disk, source: Json, terms: list[list[Json]], reached: set[str] | None
) -> None:
    pod, name = disk()
    plan = plan_of(make_nodepool(), storage_class(), claim(name, volume="v"), volume("v", *terms, **source), pod)
    (launch,) = plan.launches
    held = launch.requirements.get(labels.ZONE)
    assert (None if held is None else held.values) == reached


@pytest.mark.core("CORE-384")
@both_kinds
def test_the_host_of_any_other_disk_is_kept_to(disk: Disk) -> None:
    pod, name = disk()
    objects = [storage_class(), claim(name, volume="v"), volume("v", [selector(labels.HOSTNAME, "In", "there")]), pod]
    assert plan_of(make_nodepool(), make_node("other"), *objects).placed == 0
    plan = plan_of(make_nodepool(), make_node("other"), make_node("there"), *objects)
    assert [nomination.node for nomination in plan.nominations] == ["there"]


# What is wrong, and what is not


@pytest.mark.core("CORE-375", "CORE-377")
@pytest.mark.parametrize("named", [None, "", "gone"])
def test_the_class_of_a_disk_that_is_there_does_not_matter(named: str | None) -> None:
    objects = [claim(of=named, volume="v"), volume("v", [zone("zone-b")]), using("data")]
    assert zones(plan_of(make_nodepool(), *objects)) == {"zone-b"}


@pytest.mark.core("CORE-379")
@pytest.mark.parametrize(
    "wrong",
    [
        [],
        [claim("bad", of="gone")],
        [claim("bad", of=None)],
        [claim("bad", volume="gone")],
    ],
)
def test_pods_whose_disks_are_in_order_go_on_beside_one_whose_is_not(wrong: list[Json]) -> None:
    fine = [storage_class(), claim("good"), claim("bound", volume="v"), volume("v", [zone("zone-b")])]
    pods = [using("bad", name="bad"), using("good", name="p"), using("bound", name="q"), using("good", "bad", name="r")]
    plan = plan_of(make_nodepool(), *fine, *wrong, *pods)
    assert sorted(pod for part in plan.unschedulable for pod in part.pods) == ["default/bad", "default/r"]
    assert plan.placed == 2


@pytest.mark.core("CORE-386")
@pytest.mark.parametrize(
    "wishes",
    [
        affinity(selector("unheard-of", "Exists"), selector(labels.ARCH, "In", "amd64")),
        {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 9, "preference": {"matchExpressions": [zone("zone-a")]}},
                    {"weight": 1, "preference": {"matchExpressions": [selector("unheard-of", "Exists")]}},
                ]
            }
        },
    ],
)
@both_kinds
def test_where_the_disk_is_is_never_given_up(disk: Disk, wishes: Json) -> None:
    pod, name = disk(affinity=wishes)
    objects = [storage_class(), claim(name, volume="v"), volume("v", [zone("zone-c")])]
    assert zones(plan_of(make_nodepool(), *objects, pod)) == {"zone-c"}
