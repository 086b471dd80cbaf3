from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from karpy.resources import Resources
from karpy.state.snapshot import NodeView, Snapshot
from karpy.testing import make_claim, make_condition, make_machine, make_node, make_nodepool, make_pod

LAUNCHED = ("Launched",)
REGISTERED = ("Launched", "Registered")
BOOT = {"key": "boot", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
DEDICATED = {"key": "dedicated", "effect": "NoSchedule"}


def view_of(*objects: dict[str, Any]) -> NodeView:
    (view,) = Snapshot.from_objects(objects).nodes
    return view


# What is known of a machine, as it comes up


@pytest.mark.core("CORE-478")
def test_a_claim_alone_is_a_machine_with_what_it_was_promised() -> None:
    view = view_of(make_claim("c", instance_type="c4", room={"cpu": "4"}, reached=LAUNCHED))
    assert (view.name, view.is_registered, view.is_initialized) == ("c", False, False)
    assert view.allocatable == Resources({"cpu": 4000})
    assert view.capacity == Resources({"cpu": 4000, "nodes": 1})
    assert view.labels["node.kubernetes.io/instance-type"] == "c4"


def test_before_the_launch_only_what_was_planned_is_known() -> None:
    view = view_of(make_claim("c", reached=(), spec={"resources": {"requests": {"cpu": "3"}}}))
    assert view.allocatable == Resources({"cpu": 3000})


def test_until_it_is_registered_the_claim_speaks_for_the_node() -> None:
    claim, node = make_machine("m", reached=LAUNCHED, node_labels={"team": "node"}, labels={"team": "claim"})
    assert view_of(claim, node).labels["team"] == "claim"
    claim, node = make_machine("m", reached=REGISTERED, node_labels={"team": "node"}, labels={"team": "claim"})
    assert view_of(claim, node).labels["team"] == "node"


@pytest.mark.core("CORE-104")
def test_until_it_is_initialized_what_the_node_does_not_report_is_taken_from_the_claim() -> None:
    promised = {"cpu": "4", "nvidia.com/gpu": "1"}
    claim, node = make_machine("m", reached=REGISTERED, room=promised)
    node["status"]["allocatable"] = {"cpu": "3900m", "nvidia.com/gpu": "0"}
    assert view_of(claim, node).allocatable == Resources({"cpu": 3900, "nvidia.com/gpu": 1})

    claim, node = make_machine("m", room=promised)
    node["status"]["allocatable"] = {"cpu": "3900m", "nvidia.com/gpu": "0"}
    assert view_of(claim, node).allocatable == Resources({"cpu": 3900, "nvidia.com/gpu": 0})


@pytest.mark.core("CORE-493", "CORE-086", "CORE-087", "CORE-088")
def test_taints_that_pass_are_overlooked_until_the_node_is_initialized() -> None:
    claim, node = make_machine(
        "m", reached=REGISTERED, spec={"startupTaints": [BOOT]}, taints=[BOOT, NOT_READY, DEDICATED]
    )
    assert [taint.key for taint in view_of(claim, node).taints] == ["dedicated"]


@pytest.mark.core("CORE-494", "CORE-089")
def test_afterwards_all_taints_count() -> None:
    claim, node = make_machine("m", spec={"startupTaints": [BOOT]}, taints=[BOOT, NOT_READY, DEDICATED])
    assert len(view_of(claim, node).taints) == 3


@pytest.mark.core("CORE-495")
def test_on_nodes_of_others_all_taints_count() -> None:
    assert len(view_of(make_node(taints=[NOT_READY])).taints) == 1


def test_a_node_of_others_counts_as_up() -> None:
    view = view_of(make_node("n"))
    assert (view.is_managed, view.is_registered, view.is_initialized) == (False, True, True)


def test_a_node_without_the_hostname_label_still_is_that_host() -> None:
    node = make_node("n")
    del node["metadata"]["labels"]
    assert view_of(node).labels == {"kubernetes.io/hostname": "n"}


# Pods as selectors see them


def test_pods_that_no_selector_tells_apart_are_counted_together() -> None:
    pods = [
        make_pod("a", node="n", labels={"app": "web"}),
        make_pod("b", node="n", labels={"app": "web"}),
        make_pod("c", node="n", labels={"app": "web"}, namespace="other"),
        make_pod("d", node="n"),
        deleting(make_pod("leaves", node="n")),
    ]
    web = frozenset({("app", "web")})
    expected = {("default", web): 2, ("other", web): 1, ("default", frozenset()): 1}
    assert view_of(make_node("n"), *pods).pod_groups == expected


def test_pods_that_refuse_to_be_beside_others_are_known() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}

    def keeps_apart(kind: str) -> dict[str, Any]:
        return {"affinity": {"podAntiAffinity": {f"{kind}DuringSchedulingIgnoredDuringExecution": [term]}}}

    wishes = {"weight": 1, "podAffinityTerm": term}
    wishing = {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wishes]}}}
    pods = [
        make_pod("refuses", node="n", spec=keeps_apart("required")),
        make_pod("wishes", node="n", spec=wishing),
        make_pod("plain", node="n"),
        deleting(make_pod("leaves", node="n", spec=keeps_apart("required"))),
    ]
    assert [pod.key for pod in view_of(make_node("n"), *pods).keeping_apart] == ["default/refuses"]


# Leaving


def deleting(obj: dict[str, Any]) -> dict[str, Any]:
    obj["metadata"]["deletionTimestamp"] = "2026-01-05T09:00:00Z"
    return obj


@pytest.mark.core("CORE-479")
def test_a_machine_leaves_when_its_claim_does() -> None:
    claim, node = make_machine("m")
    assert not view_of(claim, node).is_leaving
    assert view_of(deleting(claim), node).is_leaving
    ending = make_claim("m", conditions=[make_condition("InstanceTerminating")])
    assert view_of(ending, node).is_leaving
    assert view_of(deleting(make_node())).is_leaving


def snapshot_with_leaving_node(*pods: dict[str, Any], budgets: list[dict[str, Any]] | None = None) -> Snapshot:
    claim, node = make_machine("m")
    return Snapshot.from_objects([deleting(claim), node, *pods, *(budgets or [])])


def budget(name: str = "b", **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    meta = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta,
        "spec": {"selector": selector, **spec},
        "status": {"disruptionsAllowed": 0},
    }


@pytest.mark.core("CORE-126", "CORE-128")
def test_pods_of_a_leaving_node_want_a_place_beside_those_that_wait() -> None:
    pods = [make_pod("moves", node="m"), make_pod("daemon", node="m", owner="DaemonSet"), make_pod("waits")]
    assert [pod.key for pod in snapshot_with_leaving_node(*pods).to_place] == ["default/waits", "default/moves"]


@pytest.mark.core("CORE-131")
@pytest.mark.parametrize(
    ("spec", "moves"),
    [
        ([{"maxUnavailable": 0}], False),
        ([{"maxUnavailable": "0%"}], False),
        ([{"minAvailable": "100%"}], False),
        ([{"minAvailable": 1}], True),  # forbids it now, but not for good
        ([{"minAvailable": 1}, {"maxUnavailable": 1}], False),  # the API server evicts no pod of two budgets
        ([{"maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow"}], True),  # the pod is not ready
        ([{"maxUnavailable": 0, "selector": {"matchLabels": {"app": "db"}}}], True),
    ],
)
def test_a_pod_that_a_budget_never_lets_go_stays_with_its_node(spec: list[dict[str, Any]], moves: bool) -> None:
    pod = make_pod("p", node="m", labels={"app": "web"})
    budgets = [budget(f"b{index}", **one) for index, one in enumerate(spec)]
    assert bool(snapshot_with_leaving_node(pod, budgets=budgets).to_place) is moves


def test_a_pod_whose_annotation_forbids_eviction_stays_with_its_node() -> None:
    pod = make_pod("p", node="m", annotations={"karpenter.sh/do-not-disrupt": "true"})
    assert snapshot_with_leaving_node(pod).to_place == ()


# Looking up


def test_machines_are_found_by_name_of_node_or_claim() -> None:
    claim, node = make_machine("m")
    node["metadata"]["name"] = "ip-10-0-0-1"
    snapshot = Snapshot.from_objects([claim, node, make_claim("young", reached=()), make_nodepool("p")])
    found = snapshot.node("ip-10-0-0-1")
    assert found is not None
    assert found is snapshot.machine("m")
    assert snapshot.node("young") is snapshot.machine("young") is not None
    assert snapshot.node("m") is snapshot.machine("ip-10-0-0-1") is None
    assert snapshot.pool("p") is not None
    assert snapshot.pool("q") is None


def test_budgets_are_found_by_the_pods_that_they_are_about() -> None:
    elsewhere = budget("elsewhere")
    elsewhere["metadata"]["namespace"] = "other"
    pods = [make_pod("p", labels={"app": "web"}), make_pod("q")]
    snapshot = Snapshot.from_objects([budget("a"), budget("b"), elsewhere, *pods])
    found = {pod.key: [each.metadata.name for each in snapshot.budgets_of(pod)] for pod in snapshot.pending}
    assert found == {"default/p": ["a", "b"], "default/q": []}


def test_a_cluster_reads_the_same_from_json() -> None:
    objects = [make_node("a"), make_nodepool("default"), make_pod("p"), make_pod("q", node="a", requests={"cpu": "1"})]
    pages = [{"apiVersion": "v1", "kind": "List", "items": objects[:2]}, *objects[2:]]
    snapshot = Snapshot.from_json(json.dumps(page).encode() for page in pages)
    same = Snapshot.from_objects(objects)
    assert (snapshot.pending, snapshot.pools) == (same.pending, same.pools)
    assert [(view.node, view.pods, view.used) for view in snapshot.nodes] == [
        (view.node, view.pods, view.used) for view in same.nodes
    ]


def test_the_cluster_without_some_nodes_is_the_same_otherwise() -> None:
    snapshot = Snapshot.from_objects([make_node("a"), make_node("b"), make_pod("p")])
    rest = snapshot.without(["a"])
    assert [view.name for view in rest.nodes] == ["b"]
    assert rest.node("b") is snapshot.node("b")
    assert rest.pending is snapshot.pending
    assert (rest.node("a"), [view.name for view in snapshot.nodes]) == (None, ["a", "b"])


def test_who_leaves_is_known_of_any_selection_of_nodes() -> None:
    claim, node = make_machine("m")
    snapshot = Snapshot.from_objects([deleting(claim), node, make_node("n")])
    assert [view.name for view in snapshot.nodes.leaving] == ["m"]
    assert [view.name for view in snapshot.without(["n"]).nodes.leaving] == ["m"]
    assert snapshot.without(["m"]).nodes.leaving == ()
    assert attrs.evolve(snapshot, nodes=(snapshot.nodes[1],)).nodes.leaving == ()
