from __future__ import annotations

import math
from typing import Any

import pytest

from karpy.cloud.instancetype import Offering
from karpy.disruption.candidates import Candidate, NotCandidate, candidates, eviction_cost, is_consolidatable
from karpy.objects.pod import Pod
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    START,
    make_catalog,
    make_claim,
    make_condition,
    make_instance_type,
    make_machine,
    make_node,
    make_nodepool,
    make_pod,
)

DO_NOT = {"karpenter.sh/do-not-disrupt": "true"}
BEARS_ALL = {"tolerations": [{"operator": "Exists"}]}
DELETED = {"deletionTimestamp": "2026-01-05T09:00:00Z"}


def verdicts(snapshot: Snapshot, now: float = START) -> tuple[list[Candidate], list[NotCandidate]]:
    found, refused = candidates(snapshot, make_catalog(snapshot), now=now)
    return list(found), list(refused)


def reason(*objects: dict[str, Any]) -> str:
    """Why the only machine is no candidate; empty when it is one."""
    _found, refused = verdicts(Snapshot.from_objects([make_nodepool(), *objects]))
    return refused[0].reason if refused else ""


def budget(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": spec.pop("name", "b"), "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "unhealthyPodEvictionPolicy": spec.pop("policy", None)},
        "status": {"disruptionsAllowed": spec.pop("allowed", 0)},
    }


def annotated(annotations: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    claim, node = make_machine("m")
    node["metadata"]["annotations"] = annotations
    return claim, node


def test_a_machine_that_is_up_is_a_candidate() -> None:
    assert reason(*make_machine("m")) == ""


@pytest.mark.core("CORE-526")
def test_nodes_of_others_are_not_asked_about() -> None:
    assert verdicts(Snapshot.from_objects([make_nodepool(), make_node("n")])) == ([], [])


@pytest.mark.core("CORE-527", "CORE-528", "CORE-526", "CORE-522", "CORE-517", "CORE-523", "CORE-524")
@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([make_claim("m")], "Node isn't initialized"),
        (make_machine("m", reached=("Launched", "Registered")), "Node isn't initialized"),
        (make_machine("m", metadata=DELETED), "Node is deleting or marked for deletion"),
        (make_machine("m", pool="gone"), "NodePool not found (NodePool=gone)"),
        (annotated(DO_NOT), 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation'),
        (annotated({"karpenter.sh/do-not-consolidate": "true"}), "Disruption is blocked through"),
        ([*make_machine("m"), make_pod("p", node="m", annotations=DO_NOT)], "(Pod=default/p)"),
        ([*make_machine("m"), make_pod("p", node="m", annotations=DO_NOT, owner="DaemonSet")], "(Pod=default/p)"),
        (
            [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}), budget()],
            "(PodDisruptionBudget=default/b)",
        ),
        (
            [
                *make_machine("m"),
                make_pod("p", node="m", labels={"app": "web"}),
                budget(allowed=1),
                budget(allowed=1, name="c"),
            ],
            "Pdb prevents pod evictions",
        ),
    ],
)
def test_what_blocks_is_told(objects: list[dict[str, Any]], text: str) -> None:
    assert text in reason(*objects)


@pytest.mark.core("CORE-524")
def test_a_budget_about_daemon_pods_blocks_too() -> None:
    daemon = make_pod("d", node="m", owner="DaemonSet", labels={"app": "web"})
    assert "Pdb prevents pod evictions" in reason(*make_machine("m"), daemon, budget())


@pytest.mark.core("CORE-521", "CORE-525")
@pytest.mark.parametrize(
    "objects",
    [
        annotated({"karpenter.sh/do-not-disrupt": "false"}),
        [*make_machine("m"), make_pod("p", node="m", annotations=DO_NOT, status={"phase": "Succeeded"})],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}), budget(allowed=1)],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "db"}), budget()],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}, namespace="other"), budget()],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}, owner="Node"), budget()],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}, spec=BEARS_ALL), budget()],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}), budget(policy="AlwaysAllow")],
    ],
)
def test_what_does_not_concern_it_does_not_block(objects: list[dict[str, Any]]) -> None:
    assert reason(*objects) == ""


@pytest.mark.core("CORE-527")
def test_a_node_that_pods_are_on_their_way_to_is_left_alone_for_a_while() -> None:
    state = ClusterState.of([make_nodepool(), *make_machine("m")])
    state.nominate("m", (), until=START + 20)
    snapshot = state.snapshot()
    assert verdicts(snapshot, START)[1] == [NotCandidate("m", "Node is nominated for a pending pod")]
    assert verdicts(snapshot, START + 20)[1] == []


# What a node costs, and what it costs to disrupt it


@pytest.mark.core("CORE-529", "CORE-635")
@pytest.mark.parametrize(
    ("label", "price"),
    [
        ({"instance_type": "t", "zone": "zone-a"}, 0.25),
        ({"instance_type": "unknown"}, 0.0),
        ({"instance_type": ""}, 0.0),
    ],
)
def test_a_node_costs_what_its_offering_does_though_that_be_sold_out(label: dict[str, str], price: float) -> None:
    offerings = [Offering("zone-a", "on-demand", 0.25, available=False), Offering("zone-b", "on-demand", math.nan)]
    snapshot = Snapshot.from_objects([make_nodepool(), *make_machine("m", **label)])
    types = [make_instance_type("t", offerings=offerings)]
    (found,), _refused = candidates(snapshot, make_catalog(snapshot, types), now=START)
    assert found.price == price


@pytest.mark.core("CORE-514", "CORE-515", "CORE-516")
@pytest.mark.parametrize(
    ("annotation", "priority", "cost"),
    [
        (None, None, 1.0),
        ("134217728", None, 2.0),
        ("-134217728", None, 0.0),
        (None, 33554432, 2.0),
        ("2147483647", 2_000_000_000, 10.0),
        ("-2147483647", -2_000_000_000, -10.0),
        ("high", None, 1.0),
    ],
)
def test_deletion_cost_and_priority_move_what_an_eviction_costs(
    annotation: str | None, priority: int | None, cost: float
) -> None:
    annotations = {} if annotation is None else {"controller.kubernetes.io/pod-deletion-cost": annotation}
    pod = Pod.from_dict(make_pod(annotations=annotations, spec={} if priority is None else {"priority": priority}))
    assert eviction_cost(pod) == pytest.approx(cost, abs=1e-6)


def test_only_pods_that_would_move_count() -> None:
    pods = [make_pod("a", node="m"), make_pod("b", node="m"), make_pod("d", node="m", owner="DaemonSet")]
    (found,), _refused = verdicts(
        Snapshot.from_objects([make_nodepool(), *make_machine("m", instance_type="c4"), *pods])
    )
    assert (found.disruption_cost, found.is_empty) == (3.0, False)
    assert found.savings_ratio == pytest.approx(0.2 / 3)


@pytest.mark.core("CORE-602")
def test_a_node_is_consolidatable_when_its_claim_says_so() -> None:
    def consolidatable(*conditions: dict[str, str]) -> bool:
        machine = make_machine("m", conditions=conditions)
        (found,), _refused = verdicts(Snapshot.from_objects([make_nodepool(), *machine]))
        return is_consolidatable(found)

    assert consolidatable(make_condition("Consolidatable"))
    assert not consolidatable(make_condition("Consolidatable", status="False"))
    assert not consolidatable()
