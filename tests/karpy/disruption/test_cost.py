from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from karpy.clock import parse_time
from karpy.disruption.cost import eviction_cost, lifetime_cost, lifetime_remaining
from karpy.lifecycle.disruptable import consolidatable_in
from karpy.objects.meta import decode
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_claim, make_machine, make_nodepool, make_pod
from tests.vectors import read, scenario

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
HOUR = 3600.0


@pytest.mark.core("CORE-514", "CORE-515", "CORE-516")
@pytest.mark.parametrize(
    ("annotation", "priority", "cost"),
    [
        (None, None, 1.0),
        ("134217728", None, 2.0),
        ("-134217728", None, 0.0),
        ("67108864.0", None, 1.5),
        (None, 33554432, 2.0),
        ("2147483647", 2_000_000_000, 10.0),
        ("-2147483647", -2_000_000_000, -10.0),
        ("high", None, 1.0),
        (" 134217728", None, 1.0),
        ("1e400", None, 1.0),
        ("nan", None, 1.0),
    ],
)
def test_deletion_cost_and_priority_move_what_an_eviction_costs(
    annotation: str | None, priority: int | None, cost: float
) -> None:
    annotations = {} if annotation is None else {DELETION_COST: annotation}
    pod = Pod.from_dict(make_pod(annotations=annotations, spec={} if priority is None else {"priority": priority}))
    assert eviction_cost(pod) == pytest.approx(cost, abs=1e-6)


@pytest.mark.core("CORE-515", "CORE-516")
def test_the_more_a_pod_is_worth_the_more_its_eviction_costs() -> None:
    wishes = [
        eviction_cost(Pod.from_dict(make_pod(annotations={DELETION_COST: str(n * 10**6)}))) for n in range(-9, 10)
    ]
    ranks = [eviction_cost(Pod.from_dict(make_pod(spec={"priority": n * 10**6}))) for n in range(-9, 10)]
    for costs in (wishes, ranks):
        assert costs == sorted(set(costs))


@pytest.mark.core("CORE-514", "CORE-515", "CORE-516")
def test_evictions_cost_what_they_cost_karpenter(shared: Path) -> None:
    for line in read(shared, "algebra/disruption_cost.jsonl"):
        found = eviction_cost(decode(line["pod"], Pod))
        assert found == pytest.approx(line["expect"]["evictionCost"], abs=1e-9), line


def claim(life: str) -> NodeClaim:
    raw = make_claim("c", created=START)
    raw["spec"]["expireAfter"] = life
    return NodeClaim.from_dict(raw)


@pytest.mark.parametrize(
    ("life", "age", "left"),
    [
        ("10h", 0, 1.0),
        ("10h", 4, 0.6),
        ("10h", 10, 0.0),
        ("10h", 11, 0.0),
        ("10h", -1, 1.0),
        ("Never", 99, 1.0),
        ("0s", 0, 0.0),
    ],
)
def test_a_life_runs_out_evenly(life: str, age: float, left: float) -> None:
    assert lifetime_remaining(claim(life), START + age * HOUR) == pytest.approx(left)


def test_lives_are_as_long_as_karpenters_and_nodes_quiet_as_soon(shared: Path) -> None:
    for line in read(shared, "algebra/node_lifetime.jsonl"):
        found, now = NodeClaim.from_dict(line["nodeClaim"]), parse_time(line["now"])
        assert lifetime_remaining(found, now) == pytest.approx(line["expect"]["lifetimeRemaining"], abs=1e-9), line
        waits = consolidatable_in(found, NodePool.from_dict(line["nodePool"]), now=now) or 0.0
        assert (waits > 0) == line["expect"]["isUnderConsolidateAfter"], line


def test_an_old_machine_costs_less_to_disrupt_and_whatever_runs_there_counts() -> None:
    machine = make_machine("m", created=START)
    machine[0]["spec"]["expireAfter"] = "10h"
    pods = [make_pod("a", node="m"), make_pod("d", node="m", owner="DaemonSet")]
    (view,) = Snapshot.from_objects([make_nodepool(), *machine, *pods]).nodes
    assert [lifetime_cost(view, START + hours * HOUR) for hours in (0, 5, 12)] == [2.0, 1.0, 0.0]


def test_machines_cost_as_much_to_disrupt_as_in_karpenter_but_for_pods_that_have_finished(shared: Path) -> None:
    for line in read(shared, "disruption/small.jsonl"):
        snapshot, _catalog = scenario(shared, line)
        now, finished = parse_time(line["now"]), defaultdict[str, float](float)
        for pod in (decode(raw, Pod) for raw in line["objects"] if raw["kind"] == "Pod"):
            if pod.is_terminal:
                finished[pod.spec.node_name] += eviction_cost(pod)
        for name, expect in line["expect"]["nodes"].items():
            view = snapshot.node(name)
            if view is not None and view.claim is not None and "eventualError" not in expect:
                with_those = lifetime_cost(view, now) + lifetime_remaining(view.claim, now) * finished[name]
                assert with_those == pytest.approx(expect["disruptionCost"], abs=1e-6), (line["name"], name)
