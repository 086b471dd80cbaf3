from __future__ import annotations

from typing import Any

import pytest

from karpy.disruption.verdicts import BlockedBy
from karpy.errors import InvalidObject
from karpy.objects.kinds import NODE, NODE_CLAIM, NODE_POOL, POD, Kind
from karpy.report.whys import NodeAnswer, PodAnswer, PoolAnswer
from karpy.scenarios.answers import Answers
from karpy.scenarios.situation import Situation
from karpy.state.cluster import ClusterState
from karpy.testing import START, make_catalog, make_claim, make_condition, make_machine, make_nodepool, make_pod

READY = [make_condition("Consolidatable")]
POOL = make_nodepool(disruption={"budgets": [{"nodes": "100%"}], "consolidateAfter": "0s"})


def answers(*objects: Any) -> Answers:
    flat = [part for obj in objects for part in (obj if isinstance(obj, tuple) else (obj,))]
    state = ClusterState.of([POOL, *flat])
    snapshot = state.snapshot()
    situation = Situation(name="", snapshot=snapshot, catalog=make_catalog(snapshot), now=START, pods=state.pods())
    return Answers(situation)


def node(found: Answers, name: str, kind: Kind = NODE) -> NodeAnswer:
    answer = found.about(kind, name)
    assert isinstance(answer, NodeAnswer)
    return answer


def pod(found: Answers, name: str, namespace: str = "") -> PodAnswer:
    answer = found.about(POD, name, namespace)
    assert isinstance(answer, PodAnswer)
    return answer


def machine(name: str, **more: Any) -> tuple[dict[str, Any], ...]:
    return make_machine(name, instance_type="c4", conditions=READY, **more)


def running(name: str, on: str, cpu: str = "1", **more: Any) -> dict[str, Any]:
    return make_pod(name, node=on, requests={"cpu": cpu}, **more)


def complaint(found: Answers, kind: Kind, name: str, namespace: str = "") -> str:
    with pytest.raises(InvalidObject) as caught:
        found.about(kind, name, namespace)
    return str(caught.value)


# Machines


def test_a_node_that_goes_says_where_its_pods_go() -> None:
    found = node(
        answers(machine("a"), make_machine("b", instance_type="c4"), running("web", "a"), running("db", "b", "2")), "a"
    )
    assert found.goes
    assert found.places == {"default/web": "node b"}
    assert [each.allowed for each in found.allowances] == [2, 2, 2]


def test_a_claim_is_asked_about_as_its_node_is() -> None:
    owned, joined = machine("a")
    owned["metadata"]["name"] = "default-x"
    found = answers((owned, joined))
    assert node(found, "default-x", NODE_CLAIM).judged is node(found, "a").judged
    assert node(found, "default-x", NODE_CLAIM).asked == "nodeclaim/default-x"


def test_a_claim_that_has_no_node_yet_can_be_asked_about() -> None:
    found = node(answers(make_claim("young", reached=("Launched",))), "young", NODE_CLAIM)
    assert str(found.verdict).endswith("does not have an associated node")


def test_a_pod_without_another_place_is_explained() -> None:
    only = {"nodeSelector": {"kubernetes.io/hostname": "a"}}
    found = node(answers(machine("a"), machine("b"), running("tied", "a", spec=only)), "a")
    assert isinstance(found.verdict, BlockedBy)
    assert found.places["default/tied"].startswith("nowhere: ")
    (explanation,) = found.homeless
    assert explanation.conflict[0].text.startswith("nodeSelector kubernetes.io/hostname")


def test_a_node_that_is_being_replaced_already_is_not_looked_at() -> None:
    conditions = [*READY, make_condition("DisruptionReason", reason="Underutilized")]
    found = node(answers(make_machine("a", instance_type="c4", conditions=conditions)), "a")
    assert str(found.verdict) == "Node is being disrupted"
    assert not found.goes


# Pods


def test_a_pod_that_waits_is_explained() -> None:
    found = pod(answers(make_pod("web", requests={"cpu": "1"})), "web")
    assert found.state == "it waits for a node"
    assert found.explanation is not None
    assert found.explanation.summary.startswith("pod default/web gets a new node: ")
    assert found.machine is None


def test_a_pod_that_runs_says_what_becomes_of_its_node() -> None:
    found = pod(
        answers(machine("a"), make_machine("b", instance_type="c4"), running("web", "a"), running("db", "b", "2")),
        "web",
    )
    assert found.state == "it is on node a"
    assert found.machine is not None
    assert found.machine.goes
    assert found.machine.places["default/web"] == "node b"


def test_a_pod_of_a_node_that_goes_looks_for_another_place() -> None:
    leaving = machine("a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    found = pod(answers(leaving, running("web", "a")), "web")
    assert found.state == "it runs on node a, which is going, and looks for another place"
    assert found.explanation is not None


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"status": {"phase": "Succeeded"}}, "it has ended (Succeeded)"),
        ({"spec": {"nodeName": "gone", "containers": []}}, "it is bound to node gone, which is not there"),
        ({"status": {"nominatedNodeName": "a"}}, "kube-scheduler makes room for it on node a"),
        (
            {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}},
            "it has scheduling gates: nobody looks for a place until they are gone",
        ),
        ({"status": {}}, "its scheduler (default-scheduler) has not looked for a node for it yet"),
    ],
)
def test_a_pod_that_nothing_is_decided_about_says_why(fields: dict[str, Any], state: str) -> None:
    assert pod(answers({**make_pod("web"), **fields}), "web").state == state


def test_daemons_get_no_node_of_their_own() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "log", "uid": "1"}
    daemon = make_pod("log-1")
    daemon["metadata"]["ownerReferences"] = [owner]
    assert pod(answers(daemon), "log-1").state == "it belongs to a DaemonSet: no node is launched for it"


def test_without_a_namespace_the_default_one_comes_first_then_the_only_one() -> None:
    found = answers(make_pod("web"), make_pod("web", namespace="shop"), make_pod("cart", namespace="shop"))
    assert pod(found, "web").asked == "pod/default/web"
    assert pod(found, "web", "shop").asked == "pod/shop/web"
    assert pod(found, "cart").asked == "pod/shop/cart"
    twice = answers(make_pod("web", namespace="a"), make_pod("web", namespace="b"))
    assert complaint(twice, POD, "web") == "pod/web: found in 2 namespaces (accepted: pod/a/web, pod/b/web)"


# Pools


def test_a_pool_says_what_its_budgets_allow_and_what_its_nodes_do() -> None:
    found = answers(machine("a"), machine("b"), running("web", "a")).about(NODE_POOL, "default")
    assert isinstance(found, PoolAnswer)
    assert [each.nodes for each in found.allowances] == [2, 2, 2]
    assert {name: verdict.kind for name, verdict in found.nodes.items()} == {"a": "InTurn", "b": "Chosen"}


# What is not there


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        (NODE, "web-3", "node/web-3: there is no such object in this cluster (accepted: node/web-2, node/web-1)"),
        (NODE, "WEB-1", "node/WEB-1: there is no such object in this cluster (accepted: node/web-1, node/web-2)"),
        (NODE_POOL, "web-1", "(accepted: node/web-1, nodeclaim/web-1, nodepool/default)"),
        (POD, "crat", "pod/crat: there is no such object in this cluster (accepted: pod/shop/cart)"),
        (POD, "zzz", "(accepted: pod/shop/cart)"),
    ],
)
def test_what_is_not_there_is_told_with_what_is_nearby(kind: Kind, name: str, text: str) -> None:
    found = answers(machine("web-1"), machine("web-2"), make_pod("cart", namespace="shop"))
    assert complaint(found, kind, name).endswith(text)


def test_where_there_is_nothing_at_all_that_is_said() -> None:
    assert complaint(answers(), NODE, "a").endswith("(accepted: there is no Node at all)")
    assert complaint(answers(), POD, "a", "shop").startswith("pod/shop/a: ")
