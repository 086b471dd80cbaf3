"""What pods take on their node: it is read off the pods that are there, so it is right whatever happened in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from karpy import labels
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.resources import Resources
from karpy.scheduling.scheduler import solve
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import NodeView
from karpy.testing import make_catalog, make_claim, make_machine, make_node, make_nodepool, make_pod

Json = dict[str, Any]
KINDS = {kind.kind: kind for kind in ClusterState.KINDS}
DRIVER = "disks.example.com"


def told(state: ClusterState, *objects: Json, type_: EventType = EventType.MODIFIED) -> None:
    for obj in objects:
        state.apply(WatchEvent(type_, KINDS[obj["kind"]], obj))


def placed_on_nodes(state: ClusterState) -> list[str]:
    """The pods that wait and for which a node is found that is there already."""
    snapshot = state.snapshot()
    plan = solve(snapshot, make_catalog(snapshot))
    return sorted(key for nomination in plan.nominations for key in nomination.pods)


def only(state: ClusterState) -> NodeView:
    (view,) = state.snapshot().nodes
    return view


# Disks and ports


def disks(most: int) -> list[Json]:
    storage = "storage.k8s.io/v1"
    head = {"apiVersion": storage, "kind": "StorageClass", "metadata": {"name": "fast"}}
    limit = {"drivers": [{"name": DRIVER, "nodeID": "m", "allocatable": {"count": most}}]}
    claims = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"storageClassName": "fast"},
        }
        for name in ("first", "second")
    ]
    return [
        {**head, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"},
        {"apiVersion": storage, "kind": "CSINode", "metadata": {"name": "m"}, "spec": limit},
        *claims,
    ]


def with_disk(name: str, claim: str, **more: Any) -> Json:
    return make_pod(name, spec={"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": claim}}]}, **more)


def with_port(name: str, **more: Any) -> Json:
    ports = [{"containerPort": 80, "hostPort": 80}]
    return make_pod(name, spec={"containers": [{"name": "main", "image": "pause", "ports": ports}]}, **more)


def told_again(state: ClusterState, machine: Sequence[Json], running: Json) -> None:
    """Whatever may be told of a machine, and of a pod on it, while nothing that counts changes."""
    claim, node = machine
    told(state, node, claim, running, {**running, "status": {"phase": "Running"}}, node, running, claim)
    told(state, node, type_=EventType.DELETED)
    told(state, node)


@pytest.mark.core("CORE-468", "CORE-469")
def test_a_disk_that_is_in_use_counts_once_however_often_its_pod_is_told_of() -> None:
    machine, running = make_machine("m"), with_disk("running", "first", node="m")
    state = ClusterState.of([make_nodepool(), *machine, running, *disks(most=2), with_disk("waits", "second")])
    told_again(state, machine, running)
    assert placed_on_nodes(state) == ["default/waits"]
    told(state, disks(most=1)[1])
    told_again(state, machine, running)
    assert placed_on_nodes(state) == []
    told(state, running, type_=EventType.DELETED)
    assert placed_on_nodes(state) == ["default/waits"]


@pytest.mark.core("CORE-470")
def test_a_port_that_is_taken_stays_taken_until_its_pod_is_gone_and_never_clashes_with_itself() -> None:
    machine, running = make_machine("m"), with_port("running", node="m")
    state = ClusterState.of([make_nodepool(), *machine, running, with_port("waits"), make_pod("other")])
    assert placed_on_nodes(state) == ["default/other"]
    told_again(state, machine, running)
    assert placed_on_nodes(state) == ["default/other"]
    told(state, running, type_=EventType.DELETED)
    assert placed_on_nodes(state) == ["default/other", "default/waits"]


# Who keeps apart


@pytest.mark.core("CORE-482")
def test_pods_that_keep_apart_are_known_by_their_node_if_they_insist_on_it() -> None:
    term = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": "a"}}}
    insists = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    wishes = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}

    def pod(name: str, rule: Json, **more: Any) -> Json:
        return make_pod(name, node="m", spec={"affinity": {"podAntiAffinity": rule}}, **more)

    state = ClusterState.of([*make_machine("m"), pod("insists", insists), pod("wishes", wishes)])
    assert [each.key for each in only(state).keeping_apart] == ["default/insists"]
    told(state, pod("insists", insists), type_=EventType.DELETED)
    assert only(state).keeping_apart == ()
    told(state, pod("finished", insists, status={"phase": "Succeeded"}))
    assert only(state).keeping_apart == ()


# In flight


@pytest.mark.core("CORE-478", "CORE-486")
def test_a_machine_that_is_coming_up_has_room_from_the_moment_its_claim_exists() -> None:
    """What it was planned for, then what the cloud promised, then what its node says; what that leaves out is filled in."""
    young = make_claim("m", reached=())
    young["spec"]["resources"]["requests"] = {"cpu": "2"}
    state = ClusterState.of([young])
    assert (only(state).allocatable["cpu"], only(state).capacity["nodes"]) == (2000, 1)
    claim, node = make_machine("m", reached=("Launched", "Registered"))
    told(state, claim)
    assert (only(state).allocatable["cpu"], only(state).capacity["nodes"]) == (4000, 1)
    node["status"]["allocatable"] = {"cpu": "3", "memory": "0"}
    told(state, node)
    assert (only(state).allocatable["cpu"], only(state).allocatable["memory"]) == (3000, 16 << 30)


@pytest.mark.core("CORE-481")
def test_of_several_nodes_with_one_provider_id_the_first_by_name_is_the_claims() -> None:
    claim, node = make_machine("m")
    twin = {**node, "metadata": {**node["metadata"], "name": "a-twin"}}
    pods = [make_pod("p", node="a-twin", requests={"cpu": "1"}), make_pod("q", node="m", requests={"cpu": "2"})]
    for objects in ([claim, node, twin, *pods], [*pods, twin, node, claim]):
        state = ClusterState.of(objects)
        assert (len(state.snapshot().nodes), only(state).name, only(state).used["cpu"]) == (1, "a-twin", 1000)
        told(state, twin, type_=EventType.DELETED)
        assert (only(state).name, only(state).used["cpu"]) == ("m", 2000)


@pytest.mark.core("CORE-471")
def test_a_node_and_a_claim_of_one_name_that_are_not_one_machine_are_two() -> None:
    claim, node = make_claim("same"), make_node("same", provider_id="test:///other")
    state = ClusterState.of([claim, node])
    assert [view.is_managed for view in state.snapshot().nodes] == [False, True]
    told(state, claim, type_=EventType.DELETED)
    assert not only(state).is_managed
    told(state, node, type_=EventType.DELETED)
    assert state.snapshot().nodes == ()


# When something changed


@pytest.mark.core("CORE-492")
def test_whatever_may_change_a_decision_makes_another_version_and_nothing_else_does() -> None:
    claim, node = make_machine("m")
    state = ClusterState.of([make_nodepool(), claim, node])
    seen = state.snapshot().version

    def is_newer() -> bool:
        nonlocal seen
        before, seen = seen, state.snapshot().version
        return seen > before

    assert not is_newer()
    state.held_by("default")
    assert state.machine("m") is not None
    assert not is_newer()
    state.mark_for_deletion(["m"])
    assert is_newer()
    state.unmark_for_deletion(["m"])
    assert is_newer()
    for obj in (make_nodepool(weight=7), node, claim, make_pod("p", node="m"), make_node("new")):
        told(state, obj)
        assert is_newer()
    told(state, make_pod("p", node="m"), type_=EventType.DELETED)
    assert is_newer()
    assert only_used(state) == Resources()


def only_used(state: ClusterState) -> Resources:
    view = state.machine("m")
    assert view is not None
    return view.used
