"""What ``karpy why`` shows, in text and in JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from karpy.objects.kinds import NODE, NODE_CLAIM, NODE_POOL, POD, Kind
from karpy.report.plan_json import to_line
from karpy.report.why_json import answer_json
from karpy.report.why_text import answer_text
from karpy.scenarios.answers import Answers
from karpy.scenarios.situation import Situation
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_claim, make_condition, make_pod
from tests.karpy.report.outlooks import idle, spare


def ask(objects: Any, kind: Kind, name: str) -> Any:
    flat = [part for obj in objects for part in (obj if isinstance(obj, tuple) else (obj,))]
    snapshot = Snapshot.from_objects(flat)
    situation = Situation(name="", snapshot=snapshot, catalog=make_catalog(snapshot), now=START)
    return Answers(situation).about(kind, name)


def text(objects: Any, kind: Kind, name: str) -> str:
    return answer_text(ask(objects, kind, name), 100)


def test_a_node_that_goes() -> None:
    assert text(spare(), NODE, "loose") == (
        "node/loose goes: the pods of loose fit on the other nodes; that saves $0.2000/h\n"
        "\n"
        "  nodeclaim loose of nodepool default: c4, zone-a, on-demand\n"
        "  $0.2000/h, 2 pods to move, disruption cost 3.00\n"
        "  alone it saves $0.2000/h, about $146.00 a month; 2 pods move\n"
        "\n"
        "Where its pods go\n"
        "\n"
        "  a, b: node tight\n"
        "\n"
        "What budgets allow now\n"
        "\n"
        '  2 of 2 nodes of pool "default" may go: budget nodes=100%\n'
        "\n"
        "What to do\n"
        "\n"
        "  Nothing, if it may go. To keep it: kubectl annotate node/loose karpenter.sh/do-not-disrupt=true\n"
    )


def test_a_node_that_stays() -> None:
    shown = text(idle(), NODE, "held")
    assert shown.startswith('node/held stays: Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/keep)\n')
    assert "kubectl annotate pod -n default keep karpenter.sh/do-not-disrupt-" in " ".join(shown.split())


def test_a_claim_that_does_not_come_up_shows_its_conditions() -> None:
    trouble = {
        **make_condition("Registered", status="Unknown", reason="NodeNotFound"),
        "message": "Node not registered",
    }
    claim = make_claim("young", reached=("Launched",), conditions=[trouble])
    shown = text([*spare()[:1], claim], NODE_CLAIM, "young")
    assert "Registered is Unknown (NodeNotFound: Node not registered)" in shown


def test_a_pod_on_a_node() -> None:
    assert text(spare(), POD, "a") == (
        "pod/default/a: it is on node loose\n"
        "  it goes to: node tight\n"
        "  node/loose goes: the pods of loose fit on the other nodes; that saves $0.2000/h\n"
    )


def test_a_pod_that_waits() -> None:
    shown = text([*spare(), make_pod("huge", requests={"cpu": "99"})], POD, "huge")
    assert shown.startswith("pod/default/huge: it waits for a node\n\npod default/huge cannot be placed\n")


def test_a_pool() -> None:
    assert text(spare(), NODE_POOL, "default") == (
        "nodepool/default at 2026-01-05T09:00:00Z\n"
        "\n"
        '  2 of 2 nodes of pool "default" may go: budget nodes=100%\n'
        "\n"
        "Its 2 nodes\n"
        "\n"
        "  loose: the pods of loose fit on the other nodes; that saves $0.2000/h\n"
        "  tight: Pods came or went within consolidateAfter\n"
    )


@pytest.mark.parametrize("width", [0, 1, 40, 1000])
def test_any_width_will_do(width: int) -> None:
    assert answer_text(ask(spare(), NODE, "loose"), width).endswith("\n")


def found(objects: Any, kind: Kind, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(to_line(answer_json(ask(objects, kind, name))))
    return document


def test_a_node_as_json() -> None:
    told = found(spare(), NODE, "loose")
    assert (told["asked"], told["nodeClaim"], told["nodePool"], told["goes"]) == (
        "node/loose",
        "loose",
        "default",
        True,
    )
    assert told["verdict"]["kind"] == "Chosen"
    assert told["candidateFor"] == ["multiNode", "singleNode"]
    assert told["pods"] == {"default/a": "node tight", "default/b": "node tight"}
    assert told["alone"]["savings"] == 0.2
    assert {each["reason"]: each["allowed"] for each in told["budgets"]} == {
        "Empty": 2,
        "Underutilized": 2,
        "Drifted": 2,
    }
    assert {each["type"] for each in told["conditions"]} >= {"Launched", "Consolidatable"}


def test_a_pod_as_json() -> None:
    told = found([*spare(), make_pod("huge", requests={"cpu": "99"})], POD, "huge")
    assert told["machine"] is None
    assert told["explanation"]["conflict"] == ["pod: request of 99 cpu"]
    assert found(spare(), POD, "a")["machine"]["asked"] == "node/loose"


def test_a_pool_as_json() -> None:
    told = found(spare(), NODE_POOL, "default")
    assert told["at"] == "2026-01-05T09:00:00Z"
    assert told["nodes"]["tight"]["kind"] == "NotWanted"


def test_where_pods_of_a_node_that_stays_would_go() -> None:
    assert "\nWhere its pods would go\n\n  c: node loose\n" in text(spare(), NODE, "tight")
    assert "\n  were its node gone, it would go to: node loose\n" in text(spare(), POD, "c")
