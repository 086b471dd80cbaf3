"""With ``packing="karpenter"`` every pod goes where Karpenter puts it, wherever Karpenter's answer is sound and always the same."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Plan
from karpy.scheduling.scheduler import solve
from tests.vectors import read, scenario

SETTLED_AT_ONCE = (
    "a machine with anti-affinity is settled in one zone at once; Karpenter's keeps pods away from all zones"
)
RELEASED = (
    "once a machine is settled karpy lets pods that keep away from it into the other zones, Karpenter in the next pass"
)
UNIT_BY_UNIT = "a machine holds one reservation; Karpenter's holds every one that it could use, so that pods wait for the next pass"
ENDED = "a pod that has ended, or is being deleted, gets no place; Karpenter launches for it"
EQUAL_DOMAINS = (
    "both domains are empty: karpy begins with the first by name, Karpenter with any (the same in its few runs)"
)

DIFFERENT = {
    **dict.fromkeys(
        (f"pod-anti-affinity-self-{n:03}" for n in (0, 1, 3, 8, 9, 10, 12, 13, 14, 16, 17, 19, 20, 21)), SETTLED_AT_ONCE
    ),
    **dict.fromkeys((f"pod-anti-affinity-other-{n:03}" for n in (3, 6, 7, 9, 10, 11)), SETTLED_AT_ONCE),
    **dict.fromkeys(("nodepool-limits-031", "mix-035", "mix-045", "mix-087"), SETTLED_AT_ONCE),
    **dict.fromkeys((f"pod-anti-affinity-other-{n:03}" for n in (2, 13)), RELEASED),
    **dict.fromkeys(
        (f"reserved-capacity-{n:03}" for n in (1, 2, 8, 9, 10, 12, 13, 19, 20, 21, 25, 26, 29)), UNIT_BY_UNIT
    ),
    "node-affinity-required-047": UNIT_BY_UNIT,
    **dict.fromkeys(("not-provisionable-006", "not-provisionable-007"), ENDED),
    **dict.fromkeys(("spread-zone-017", "mix-032"), EQUAL_DOMAINS),
    "spread-hostname-006": "more than twelve machines with one pod each: beyond twelve Go's sort does not keep the order of equals",
    "nodepool-states-011": "no pool may launch anything: Karpenter gives up, karpy looks at the nodes that are there",
    "mix-062": "karpy tries the pool's other domain, Karpenter goes on to a pool of less weight",
}
"""The scenarios that karpy answers otherwise, each with the reason."""


class Answer(NamedTuple):
    """What is compared: machines with pool, pods and types; nodes with pods; pods that wait."""

    launches: dict[tuple[str, tuple[str, ...]], frozenset[str]]
    nodes: dict[str, list[str]]
    waiting: frozenset[str]


@functools.cache
def _answers(shared: Path) -> dict[str, tuple[Answer, Answer]]:
    """Of each scenario karpy's answer and Karpenter's."""
    lines = (line for line in read(shared, "scheduling/small.jsonl") if line["deterministic"])
    return {
        line["name"]: (_told(_solve(shared, line)), _expected(line["expect"]))
        for line in lines
        if not line.get("oracleViolations")
    }


def _solve(shared: Path, line: dict[str, Any]) -> Plan:
    settings = line["settings"]
    return solve(
        *scenario(shared, line),
        packing=Packing.KARPENTER,
        respect_preferences=settings["preferencePolicy"] == "Respect",
        strict_min_values=settings["minValuesPolicy"] == "Strict",
        reserved_capacity=settings["reservedCapacity"],
    )


def _told(plan: Plan) -> Answer:
    launches = {
        (launch.pool.name, tuple(sorted(launch.pods))): frozenset(priced.name for priced in launch.instance_types)
        for launch in plan.launches
    }
    nodes = {nomination.node: sorted(nomination.pods) for nomination in plan.nominations}
    return Answer(launches, nodes, frozenset(pod for part in plan.unschedulable for pod in part.pods))


def _expected(expect: dict[str, Any]) -> Answer:
    launches = {
        (claim["nodePool"], tuple(claim["pods"])): frozenset(claim["instanceTypes"])
        for claim in expect["newNodeClaims"]
    }
    waiting = frozenset(expect["errors"]) | frozenset(expect.get("ignored", {}))
    return Answer(launches, expect["existingNodes"], waiting)


def test_every_pod_goes_where_karpenter_puts_it(shared: Path) -> None:
    answers = _answers(shared)
    assert len(answers) > 800
    assert {name for name, (ours, theirs) in answers.items() if ours != theirs} == DIFFERENT.keys()


@pytest.mark.parametrize("name", sorted(DIFFERENT))
def test_where_the_answer_is_another_no_pod_waits_that_karpenter_places(shared: Path, name: str) -> None:
    ours, theirs = _answers(shared)[name]
    assert ours.waiting <= theirs.waiting
    if DIFFERENT[name] in (SETTLED_AT_ONCE, UNIT_BY_UNIT, RELEASED):
        assert ours.waiting < theirs.waiting or ours.launches.keys() == theirs.launches.keys()
