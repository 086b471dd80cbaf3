from __future__ import annotations

from typing import Any

import pytest

from karpy.disruption.command import Command, Method
from karpy.disruption.survey import InTurn, Judgement
from karpy.disruption.verdicts import (
    BlockedBy,
    BudgetSpent,
    Chosen,
    NoCheaper,
    NotCandidate,
    NotJudgedYet,
    NotWanted,
    PaysTooLate,
    Quarantined,
    ScoreBelow,
    ValidationFailed,
    Verdict,
)
from karpy.report.advice import advice
from karpy.report.whys import NodeAnswer
from karpy.scheduling.explain.explanation import Explanation, NearMiss
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_machine, make_node

COMMAND = Command(method=Method.EMPTINESS, claims=("web-1",), nodes=("web-1",))
PDB = "PodDisruptionBudget shop/guard"
MARK = "karpenter.sh/do-not-disrupt"


def told(verdict: Verdict, objects: Any = None, **more: Any) -> str:
    (view,) = Snapshot.from_objects(objects or make_machine("web-1")).nodes
    answer = NodeAnswer(
        asked=f"node/{view.name}",
        judged=Judgement(view=view),
        verdict=verdict,
        goes=isinstance(verdict, Chosen),
        places={},
        **more,
    )
    return advice(answer)


ADVICE: list[tuple[Verdict, str]] = [
    (Chosen(COMMAND), "To keep it: kubectl annotate node/web-1 karpenter.sh/do-not-disrupt=true"),
    (InTurn(COMMAND), "Wait: one of the next passes comes to it."),
    (NotJudgedYet(), "Wait: one of the next passes comes to it."),
    (ValidationFailed("churn", "a pod came"), "looked at anew in the next pass"),
    (Quarantined(START + 60, "it failed"), "Wait until 2026-01-05T09:01:00Z."),
    (BudgetSpent("0 of 1"), "(karpy why nodepool/default)"),
    (NotCandidate("Node is nominated for a pending pod"), "Nothing: this passes by itself"),
    (NotCandidate("NodePool not found (NodePool=lost)"), "create it again, or delete the node"),
    (BlockedBy("shop/cart", MARK, "text"), f"kubectl annotate pod -n shop cart {MARK}-"),
    (BlockedBy("shop/cart", PDB, "text"), f"Let {PDB} allow a disruption"),
    (BlockedBy("shop/cart", "unsatisfiable", "text"), "Ask: karpy why pod/shop/cart"),
    (NotWanted("has consolidation disabled"), "Change spec.disruption of nodepool/default"),
    (NotWanted("Pods came or went", is_told=False), "Nothing: this passes by itself"),
    (NoCheaper(None, 0.2), "let the nodepool buy cheaper machines"),
    (NoCheaper(None, 0.2, "SpotToSpotConsolidation is disabled"), "feature gate SpotToSpotConsolidation"),
    (PaysTooLate(0.1, 3600.0, 0.2), "A lower karpy.dev/disruption-price on its nodepool would let it go."),
    (ScoreBelow(0.1, 0.5, "score 0.10 < threshold 0.50"), "disturb more than it saves"),
]


@pytest.mark.parametrize(("verdict", "text"), ADVICE, ids=lambda value: getattr(value, "kind", ""))
def test_each_verdict_has_its_advice(verdict: Verdict, text: str) -> None:
    assert text in told(verdict)


def test_no_kind_of_verdict_is_without_advice() -> None:
    assert {verdict.kind for verdict, _ in ADVICE} == {kind.kind for kind in Verdict.__subclasses__()}


def test_a_mark_is_taken_off_where_it_is() -> None:
    owned, joined = make_machine("web-1")
    joined["metadata"]["annotations"] = {MARK: "true"}
    verdict = NotCandidate(f'Disruption is blocked through the "{MARK}" annotation')
    assert told(verdict, (owned, joined)) == f"To let it go: kubectl annotate node/web-1 {MARK}-"


def test_a_pod_is_given_the_nearest_place() -> None:
    miss = NearMiss(constraints=(), changes=("a request of at most 3 cpu",), place="node b")
    found = Explanation(pod="shop/cart", summary="", nearest=(miss,))
    text = told(BlockedBy("shop/cart", "unsatisfiable", "text"), homeless=(found,))
    assert text == "Give pod shop/cart another place: a request of at most 3 cpu (then: node b)"


def test_a_machine_that_does_not_come_up_is_known_by_its_conditions() -> None:
    text = told(NotCandidate("Node isn't initialized"), make_machine("web-1", reached=("Launched", "Registered")))
    assert text.startswith("See the claim's conditions")


def test_nodes_of_others_are_left_alone() -> None:
    assert "leaves it alone" in told(NotCandidate("Node isn't managed by karpenter"), [make_node("theirs")])
