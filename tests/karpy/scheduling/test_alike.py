from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.objects.pod import Pod
from karpy.scheduling.alike import Alike, accepts, asked_labels
from karpy.scheduling.constraints import Constraints, constraints_of
from karpy.state.snapshot import NodeView, Snapshot
from karpy.testing import make_node, make_pod, selector

TAINT = {"key": "own", "effect": "NoSchedule"}


def views(*nodes: dict[str, Any]) -> tuple[NodeView, ...]:
    return Snapshot.from_objects(nodes).nodes


def constraints(**spec: Any) -> Constraints:
    return constraints_of(Pod.from_dict(make_pod(spec=spec)))


def test_nodes_are_told_apart_by_the_labels_that_are_asked_about_and_by_taints() -> None:
    nodes = views(
        make_node("a", labels={labels.ZONE: "z1", "team": "x"}),
        make_node("b", labels={labels.ZONE: "z2", "team": "x"}),
        make_node("c", labels={labels.ZONE: "z1"}),
        make_node("d", labels={labels.ZONE: "z1", "team": "x"}, taints=[TAINT]),
    )
    alike = Alike(nodes)
    assert alike.by(frozenset()) == ((0, 1, 2), (3,))
    assert alike.by(frozenset({labels.ZONE})) == ((0, 2), (1,), (3,))
    assert alike.by(frozenset({labels.ZONE, "team"})) == ((0,), (1,), (2,), (3,))
    assert alike.by(frozenset({labels.HOSTNAME})) == ((0,), (1,), (2,), (3,))


def test_a_constraint_asks_about_the_labels_of_all_its_alternatives() -> None:
    wanted = constraints(nodeSelector={"team": "x"})
    assert asked_labels((wanted, constraints(nodeSelector={labels.ARCH: "arm64"}))) == {"team", labels.ARCH}


@pytest.mark.parametrize(
    ("spec", "taken"),
    [
        ({}, False),
        ({"tolerations": [{"operator": "Exists"}]}, True),
        ({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"team": "x"}}, True),
        ({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"team": "y"}}, False),
        ({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"absent": "y"}}, False),
    ],
)
def test_a_node_is_accepted_for_its_labels_and_taints(spec: dict[str, Any], taken: bool) -> None:
    (view,) = views(make_node("a", labels={"team": "x"}, taints=[TAINT]))
    assert accepts(view, constraints(**spec)) is taken


def test_one_of_a_group_speaks_for_all_of_it() -> None:
    nodes = views(
        *(make_node(f"n{number}", labels={"team": "xy"[number % 2], "size": str(number % 3)}) for number in range(12))
    )
    terms = [
        {"matchExpressions": [selector("size", "Gt", "0")]},
        {"matchExpressions": [selector("other", "DoesNotExist"), selector("team", "NotIn", "x")]},
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    for rung in constraints(affinity={"nodeAffinity": required}).ladder():
        for group in Alike(nodes).by(asked_labels((rung,))):
            assert len({accepts(nodes[position], rung) for position in group}) == 1
