"""Room for pods that are still to come: planned after the pods that are there, and told apart from them."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import BufferOutcome, Plan
from karpy.scheduling.scheduler import solve
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    make_buffer,
    make_catalog,
    make_claim,
    make_node,
    make_nodepool,
    make_pod,
    make_pod_template,
    make_workload,
    selector,
)

EVERY_KIND = (*ClusterState.KINDS, *ClusterState.BUFFER_KINDS)
ONE_CPU, TWO_CPUS = {"cpu": "1"}, {"cpu": "2"}
CHUNK = make_pod_template("chunk", requests=TWO_CPUS)


def plan(*objects: dict[str, Any], packing: Packing | None = None) -> Plan:
    snapshot = Snapshot.from_objects(objects)
    return solve(snapshot, make_catalog(snapshot), packing=packing)


def only(found: Plan) -> BufferOutcome:
    (outcome,) = found.buffers
    return outcome


def node(name: str, cpu: str) -> dict[str, Any]:
    return make_node(name, room={"cpu": cpu, "memory": "64Gi", "pods": "110"})


def real_pods(found: Plan) -> set[str]:
    return {pod for part in (*found.launches, *found.nominations, *found.unschedulable) for pod in part.pods}


# Where it is


@pytest.mark.core("CORE-447")
def test_the_room_of_a_buffer_is_on_nodes_on_new_machines_or_nowhere() -> None:
    pool = make_nodepool(limits={"cpu": "4"}, requirements=[selector(labels.INSTANCE_TYPE, "In", "c4")])
    found = only(plan(pool, node("n", "3"), CHUNK, make_buffer("b", template="chunk", replicas=6)))
    assert found.buffer == "default/b"
    assert (found.existing, found.launched, found.unplaced, found.wanted) == (1, 2, 3, 6)
    assert "limit of cpu" in found.reason


@pytest.mark.core("CORE-452")
def test_nodes_are_counted_one_by_one_and_new_machines_are_none() -> None:
    nodes = [node("a", "5"), node("b", "3"), node("c", "1")]
    found = only(plan(make_nodepool(), *nodes, CHUNK, make_buffer(template="chunk", replicas=5)))
    assert found.on_nodes == {"a": 2, "b": 1}
    assert found.launched == 2


@pytest.mark.core("CORE-448")
def test_buffers_of_one_name_in_two_namespaces_are_two() -> None:
    objects = [
        part
        for namespace, replicas in (("a", 1), ("b", 2))
        for part in (
            make_pod_template("chunk", requests=TWO_CPUS, namespace=namespace),
            make_buffer("same", template="chunk", replicas=replicas, namespace=namespace),
        )
    ]
    found = plan(make_nodepool(), *objects)
    assert [(outcome.buffer, outcome.launched) for outcome in found.buffers] == [("a/same", 1), ("b/same", 2)]
    assert [{name: len(uids) for name, uids in launch.headroom.items()} for launch in found.launches] == [
        {"a/same": 1, "b/same": 2}
    ]


def test_a_machine_is_launched_for_room_alone_and_says_so() -> None:
    (launch,) = plan(make_nodepool(), CHUNK, make_buffer("b", template="chunk", replicas=3)).launches
    assert (launch.pods, launch.pod_uids) == ((), ())
    assert launch.planned_uids == tuple(f"default-b-uid-{number}" for number in (1, 2, 3))
    assert launch.requests["cpu"] == 6000
    assert launch.explain().startswith("3 of capacity buffer default/b asking for cpu: 6, pods: 3 fit 4 of 10")


def test_what_a_template_asks_of_its_node_holds_for_the_room() -> None:
    picky = make_pod_template("chunk", requests=ONE_CPU, spec={"nodeSelector": {labels.ZONE: "zone-b"}})
    found = plan(make_nodepool(), node("n", "64"), picky, make_buffer(template="chunk", replicas=2))
    assert only(found).on_nodes == {}
    assert found.launches[0].requirements[labels.ZONE].values == {"zone-b"}


def test_room_is_spread_as_the_pods_of_the_workload_would_be() -> None:
    apart = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": labels.ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    }
    web = make_workload(replicas=3, requests=ONE_CPU, labels={"app": "web"}, spec=apart)
    found = plan(make_nodepool(), web, make_buffer(workload="web", percentage=100))
    zones = [zone for launch in found.launches for zone in launch.requirements[labels.ZONE].values]
    assert sorted(zones) == ["zone-a", "zone-b", "zone-c"]


# Real pods beside it


@pytest.mark.core("CORE-453")
def test_nothing_that_is_said_about_pods_is_about_virtual_ones() -> None:
    pool = make_nodepool(limits={"cpu": "16"})
    pods = [
        make_pod("fits", requests=ONE_CPU),
        make_pod("new", requests=TWO_CPUS),
        make_pod("huge", requests={"cpu": "99"}),
    ]
    found = plan(pool, node("n", "4"), CHUNK, *pods, make_buffer(template="chunk", replicas=50))
    assert real_pods(found) == {"default/fits", "default/new", "default/huge"}
    assert [part.pods for part in found.unschedulable] == [("default/huge",)]
    assert all(nomination.pods and len(nomination.pods) == len(nomination.pod_uids) for nomination in found.nominations)
    assert found.placed == 2
    assert found.outcome("default/capacity-buffer-buffer-1") is None


@pytest.mark.core("CORE-453")
def test_pods_are_no_part_of_a_buffers_count() -> None:
    alike = [make_pod(f"p{number}", requests=TWO_CPUS) for number in range(4)]
    found = only(plan(make_nodepool(), node("n", "8"), CHUNK, *alike, make_buffer(template="chunk", replicas=2)))
    assert (found.on_nodes, found.launched, found.unplaced) == ({}, 2, 0)


def test_pods_have_their_places_before_room_is_kept_however_small_they_are() -> None:
    pods = [make_pod(f"p{number}", requests=ONE_CPU) for number in range(2)]
    found = plan(
        make_nodepool(limits={"cpu": "0"}), node("n", "2"), CHUNK, *pods, make_buffer(template="chunk", replicas=1)
    )
    assert [nomination.pods for nomination in found.nominations] == [("default/p0", "default/p1")]
    assert only(found).unplaced == 1


def test_a_plan_for_pods_is_the_same_with_and_without_buffers_where_they_share_no_machine() -> None:
    pods = [make_pod(f"p{number}", requests={"cpu": "15"}) for number in range(3)]
    without, beside = (
        plan(make_nodepool(), *pods),
        plan(make_nodepool(), *pods, CHUNK, make_buffer(template="chunk", replicas=1)),
    )
    assert [launch.pods for launch in without.launches] == [launch.pods for launch in beside.launches if launch.pods]
    assert without.buffers == ()


def test_a_pod_that_wants_to_be_near_others_is_not_near_virtual_ones() -> None:
    near = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": labels.ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
    lonely = make_pod("lonely", requests=ONE_CPU, spec={"affinity": near})
    template = make_pod_template("chunk", requests=ONE_CPU, labels={"app": "web"})
    found = plan(make_nodepool(), template, lonely, make_buffer(template="chunk", replicas=1))
    assert [part.pods for part in found.unschedulable] == [("default/lonely",)]
    assert only(found).launched == 1


def test_room_takes_what_pods_leave_free_on_their_new_machines() -> None:
    pod = make_pod("p", requests={"cpu": "3"})
    found = plan(make_nodepool(), CHUNK, pod, make_buffer(template="chunk", replicas=2), packing=Packing.THRIFTY)
    (launch,) = found.launches
    assert launch.pods == ("default/p",)
    assert len(launch.planned_uids) == 3
    assert launch.explain().startswith("1 pod(s) and 2 of capacity buffer default/buffer asking for cpu: 7")


def test_room_stays_with_the_machine_that_was_launched_for_it() -> None:
    """Two machines are on their way; without the memory of it the first by name would be filled."""
    claims = [make_claim(name, reached=("Launched",), room={"cpu": "4", "pods": "110"}) for name in ("a", "b")]
    state = ClusterState.of([make_nodepool(), CHUNK, make_buffer("b", template="chunk", replicas=2), *claims])
    state.nominate("b", ("default-b-uid-1", "default-b-uid-2"), until=0.0)
    snapshot = state.snapshot()
    found = solve(snapshot, make_catalog(snapshot))
    assert only(found).on_nodes == {"b": 2}


@pytest.mark.core("CORE-504")
def test_where_room_is_kept_is_what_the_last_plan_says_and_nothing_of_those_before() -> None:
    objects = [make_nodepool(), node("a", "3"), node("full", "1"), CHUNK]
    state = ClusterState.of([*objects, make_buffer(template="chunk", replicas=1)])

    def on_nodes(*told: tuple[EventType, dict[str, Any]]) -> list[dict[str, int]]:
        for type_, obj in told:
            state.apply(WatchEvent(type_, next(k for k in EVERY_KIND if k.kind == obj["kind"]), obj))
        snapshot = state.snapshot()
        return [dict(each.on_nodes) for each in solve(snapshot, make_catalog(snapshot)).buffers]

    assert on_nodes() == [{"a": 1}]  # nothing is said of a node that keeps none
    assert on_nodes((EventType.MODIFIED, node("b", "3")), (EventType.DELETED, node("a", "3"))) == [{"b": 1}]
    assert on_nodes((EventType.DELETED, node("b", "3"))) == [{}]
    assert on_nodes((EventType.DELETED, make_buffer(template="chunk", replicas=1))) == []


@pytest.mark.core("CORE-504")
def test_a_buffer_of_nothing_has_no_outcome() -> None:
    assert plan(make_nodepool(), CHUNK, make_buffer(template="chunk", replicas=0)).buffers == ()
    assert plan(make_nodepool(), make_buffer(template="lost", replicas=1)).buffers == ()
