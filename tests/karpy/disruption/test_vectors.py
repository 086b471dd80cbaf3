"""Clusters with Karpenter's verdicts on each node: who may go, what that costs, and which empty nodes do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karpy.clock import parse_time
from karpy.disruption.candidates import candidates
from karpy.disruption.emptiness import empty_nodes
from tests.vectors import read, scenario

NOT_YET = {
    "do-not-disrupt-002": "a do-not-disrupt annotation with a duration",
    "do-not-disrupt-004": "a do-not-disrupt annotation with a duration",
}
SCHEDULED = {"budgets-000", "budgets-005"}
"""Budgets with schedules are held to be active always: fewer nodes may go."""


@pytest.fixture(scope="module")
def lines(shared: Path) -> list[dict[str, Any]]:
    return [line for line in read(shared, "disruption/small.jsonl") if line["name"] not in NOT_YET]


def test_nodes_have_karpenters_verdict_price_and_cost(shared: Path, lines: list[dict[str, Any]]) -> None:
    for line in lines:
        snapshot, catalog = scenario(shared, line)
        found, _refused = candidates(snapshot, catalog, now=parse_time(line["now"]))
        by_name = {candidate.view.name: candidate for candidate in found}
        for name, expect in line["expect"]["nodes"].items():
            assert (name in by_name) == ("gracefulError" not in expect), (line["name"], name)
            if name in by_name:
                assert by_name[name].price == pytest.approx(expect["price"], abs=1e-9)
                assert by_name[name].disruption_cost == pytest.approx(expect["rescheduleDisruptionCost"], abs=1e-6)


def test_the_same_empty_nodes_go(shared: Path, lines: list[dict[str, Any]]) -> None:
    for line in lines:
        if line["name"] in SCHEDULED:
            continue
        snapshot, catalog = scenario(shared, line)
        found, _refused = candidates(snapshot, catalog, now=parse_time(line["now"]))
        command = empty_nodes(snapshot, found)
        expected = [method["candidates"] for method in line["expect"]["methods"]["emptiness"]]
        assert ([] if command is None else [sorted(command.nodes)]) == expected, line["name"]
