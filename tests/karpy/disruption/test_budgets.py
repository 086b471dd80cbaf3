from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy.disruption.budgets import allowed_disruptions
from karpy.disruption.command import Reason
from karpy.state.snapshot import Snapshot
from karpy.testing import make_claim, make_machine, make_node, make_nodepool
from tests.vectors import read

DELETED = {"deletionTimestamp": "2026-01-05T09:00:00Z"}


def allowed(budgets: list[dict[str, Any]] | None, *objects: dict[str, Any], nodes: int = 0) -> int:
    disruption = None if budgets is None else {"budgets": budgets}
    machines = [part for number in range(nodes) for part in make_machine(f"m{number}")]
    snapshot = Snapshot.from_objects([make_nodepool(disruption=disruption), *machines, *objects])
    return allowed_disruptions(snapshot, snapshot.pools[0], Reason.EMPTY)


@pytest.mark.core("CORE-726")
@pytest.mark.parametrize(
    ("budgets", "nodes", "count"),
    [
        (None, 5, 1),  # 10 % rounded up
        (None, 11, 2),
        (None, 0, 0),
        ([], 5, 5),
        ([{"nodes": "0"}], 5, 0),
        ([{"nodes": "0%"}], 5, 0),
        ([{"nodes": "3"}], 5, 3),
        ([{"nodes": "100%"}], 5, 5),
        ([{"nodes": "34%"}], 3, 2),
        ([{"nodes": "3"}, {"nodes": "20%"}], 5, 1),  # the strictest counts
        ([{"nodes": "0", "reasons": ["Drifted"]}], 5, 5),
        ([{"nodes": "2", "reasons": ["Empty", "Drifted"]}], 5, 2),
        ([{"nodes": "0", "reasons": []}], 5, 5),
        ([{"nodes": "-1"}], 5, 0),  # what cannot be read allows nothing
        ([{"nodes": "some"}], 5, 0),
        ([{"nodes": "50%"}, {"nodes": "x"}], 5, 0),
    ],
)
def test_budgets_say_how_many_nodes_may_go(budgets: list[dict[str, Any]] | None, nodes: int, count: int) -> None:
    assert allowed(budgets, nodes=nodes) == count


@pytest.mark.core("CORE-511")
def test_nodes_of_others_or_not_up_are_not_counted() -> None:
    others = [make_node("n"), make_claim("young", reached=("Launched",)), *make_machine("other", pool="other")]
    assert allowed([{"nodes": "100%"}], *others, nodes=2) == 2


@pytest.mark.core("CORE-512", "CORE-513")
def test_nodes_that_are_going_or_not_ready_use_the_budget_up() -> None:
    leaving = make_machine("leaving", metadata=DELETED)
    claim, node = make_machine("sick")
    node["status"]["conditions"][0]["status"] = "False"
    assert allowed([{"nodes": "3"}], *leaving, nodes=4) == 2
    assert allowed([{"nodes": "3"}], *leaving, claim, node, nodes=4) == 1
    assert allowed([{"nodes": "1"}], *leaving, claim, node, nodes=4) == 0


@functools.cache
def _cluster_of(nodes: int) -> Snapshot:
    return Snapshot.from_objects([part for number in range(nodes) for part in make_machine(f"m{number}")])


def test_budgets_agree_with_karpenter(shared: Path) -> None:
    """Schedules are not read yet: such a budget is held to be active always, and never lets more go than Karpenter does."""
    reasons = {reason.value: reason for reason in Reason}
    for line in read(shared, "algebra/budgets.jsonl"):
        scheduled = any("schedule" in budget for budget in line["budgets"])
        if line["reason"] not in reasons or (scheduled and line["expect"]["error"]):
            continue
        pools = Snapshot.from_objects([make_nodepool(disruption={"budgets": line["budgets"]})]).pools
        if not pools:
            continue  # the pool was refused, by the name of the budget
        snapshot = attrs.evolve(_cluster_of(line["nodes"]), pools=pools)
        found = min(allowed_disruptions(snapshot, snapshot.pools[0], reasons[line["reason"]]), line["nodes"])
        expected = max(0, min(line["expect"]["mustAllowed"], line["nodes"]))  # a negative number of nodes is none
        assert found <= expected if scheduled else found == expected, line
