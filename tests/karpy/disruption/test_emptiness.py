from __future__ import annotations

from typing import Any

import pytest

from karpy.disruption.command import Command, Decision, Reason
from karpy.disruption.emptiness import empty_nodes
from karpy.disruption.scene import Scene
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_condition, make_machine, make_nodepool, make_pod

READY = [make_condition("Consolidatable")]
FREE = {"budgets": [{"nodes": "100%"}]}


def machine(name: str, **arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return make_machine(name, instance_type="c4", conditions=READY, **arguments)


def command(*objects: Any, disruption: dict[str, Any] | None = None, spec: Any = None) -> Command | None:
    flat = [part for obj in objects for part in (obj if isinstance(obj, tuple) else (obj,))]
    snapshot = Snapshot.from_objects([make_nodepool(disruption=disruption or FREE, spec=spec), *flat])
    return next(iter(empty_nodes(Scene(snapshot, make_catalog(snapshot), now=START))), None)


@pytest.mark.core("CORE-588", "CORE-601", "CORE-605")
def test_all_empty_nodes_go_together() -> None:
    found = command(machine("a"), machine("b"), machine("c"), make_pod("p", node="b"))
    assert found is not None
    assert (found.reason, found.decision) == (Reason.EMPTY, Decision.DELETE)
    assert (found.claims, found.nodes) == (("a", "c"), ("a", "c"))
    assert found.savings == pytest.approx(0.4)
    assert str(found) == "delete: [a, c] (savings: $0.40)"
    assert found.explain() == "2 empty node(s) cost $0.4000/h for nothing"


@pytest.mark.core("CORE-548", "CORE-550", "CORE-600")
@pytest.mark.parametrize(("nodes", "gone"), [("0", 0), ("1", 1), ("50%", 2), ("100%", 4), ("10%", 1)])
def test_no_more_go_than_the_budgets_allow(nodes: str, gone: int) -> None:
    found = command(*(machine(name) for name in "abcd"), disruption={"budgets": [{"nodes": nodes}]})
    assert len(found.claims if found else ()) == gone


def test_when_not_all_may_go_the_dearest_do() -> None:
    cheap, dear = machine("a"), make_machine("b", instance_type="c16", conditions=READY)
    found = command(cheap, dear, disruption={"budgets": [{"nodes": "1"}]})
    assert found is not None
    assert found.nodes == ("b",)


@pytest.mark.parametrize(("cost", "empty"), [("-134217728", True), ("-134217727", False)])
def test_pods_that_cost_nothing_to_lose_do_not_hold_a_node(cost: str, empty: bool) -> None:
    pod = make_pod(node="a", annotations={"controller.kubernetes.io/pod-deletion-cost": cost})
    assert (command(machine("a"), pod) is not None) is empty


@pytest.mark.core("CORE-603")
@pytest.mark.parametrize(("wish", "gone"), [("true", False), ("false", True)])
def test_an_empty_node_that_must_not_be_disturbed_stays(wish: str, gone: bool) -> None:
    claim, node = machine("a")
    node["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": wish}
    assert (command(claim, node) is not None) is gone


@pytest.mark.core("CORE-598", "CORE-602")
def test_a_pool_that_never_consolidates_or_is_static_keeps_its_empty_nodes() -> None:
    """The condition may be there from before the pool was changed."""
    assert command(machine("a"), disruption={**FREE, "consolidateAfter": "Never"}) is None
    assert command(machine("a"), spec={"replicas": 1}) is None


@pytest.mark.core("CORE-602")
def test_a_node_that_was_not_left_alone_for_long_enough_stays() -> None:
    assert command(make_machine("a")) is None
    assert command(make_machine("a", conditions=[make_condition("Consolidatable", status="False")])) is None


@pytest.mark.core("CORE-604", "CORE-606")
@pytest.mark.parametrize(
    ("pod", "empty"),
    [
        (make_pod(node="a"), False),
        (make_pod(node="a", owner=""), False),
        (make_pod(node="a", owner="DaemonSet"), True),
        (make_pod(node="a", owner="Node"), True),
        (make_pod(node="a", status={"phase": "Succeeded"}), True),
    ],
)
def test_a_node_is_empty_when_nothing_on_it_would_move(pod: dict[str, Any], empty: bool) -> None:
    assert (command(machine("a"), pod) is not None) is empty


@pytest.mark.core("CORE-606")
@pytest.mark.parametrize(("owner", "empty"), [("ReplicaSet", True), ("StatefulSet", False)])
def test_pods_in_their_end_count_only_when_they_come_back(owner: str, empty: bool) -> None:
    pod = make_pod(node="a", owner=owner)
    pod["metadata"]["deletionTimestamp"] = "2026-01-05T09:00:00Z"
    assert (command(machine("a"), pod) is not None) is empty


def test_every_policy_lets_empty_nodes_go() -> None:
    assert command(machine("a"), disruption={**FREE, "consolidationPolicy": "WhenEmpty"}) is not None
