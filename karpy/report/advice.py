"""What to do about a node that stays: for each verdict the step that helps most, in words."""

from __future__ import annotations

from karpy import labels
from karpy.clock import format_time
from karpy.disruption.survey import InTurn
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
from karpy.objects.churnrules import DISRUPTION_PRICE
from karpy.report.whys import NodeAnswer
from karpy.scheduling.explain.explanation import Explanation

__all__ = ["advice"]

_WAIT = "Nothing: this passes by itself, and then the node is looked at again."


def advice(answer: NodeAnswer) -> str:
    """What would let the node go, or make it stay, in a sentence or two."""
    verdict = answer.verdict
    if not answer.judged.view.is_managed:
        return "Nothing: karpy did not launch this node, and leaves it alone."
    if isinstance(verdict, NotCandidate):
        return _not_a_candidate(answer, verdict)
    if isinstance(verdict, BlockedBy):
        return _blocked(answer, verdict)
    if isinstance(verdict, NotWanted):
        return _not_wanted(answer, verdict)
    if isinstance(verdict, (NoCheaper, PaysTooLate, ScoreBelow)):
        return _not_worth_it(verdict)
    return _by_itself(answer, verdict)


def _by_itself(answer: NodeAnswer, verdict: Verdict) -> str:
    """What is over some time whatever anybody does."""
    if isinstance(verdict, Chosen):
        return f"Nothing, if it may go. To keep it: kubectl annotate {answer.asked} {labels.DO_NOT_DISRUPT}=true"
    if isinstance(verdict, BudgetSpent):
        pool = answer.judged.view.pool
        return f"Wait, or let spec.disruption.budgets of nodepool/{pool} allow more (karpy why nodepool/{pool})."
    if isinstance(verdict, Quarantined):
        return f"Wait until {format_time(verdict.until)}."
    if isinstance(verdict, (InTurn, NotJudgedYet)):
        return "Wait: one of the next passes comes to it."
    if isinstance(verdict, ValidationFailed):
        return "Nothing: what changed in the meantime is looked at anew in the next pass."
    return _WAIT


def _not_a_candidate(answer: NodeAnswer, verdict: NotCandidate) -> str:
    view = answer.judged.view
    if labels.DO_NOT_DISRUPT in verdict.reason:
        owners = [
            (f"{kind}/{held.metadata.name}", key)
            for kind, held in (("node", view.node), ("nodeclaim", view.claim))
            for key in (labels.DO_NOT_DISRUPT, labels.DO_NOT_CONSOLIDATE)
            if held is not None and (held.metadata.annotations or {}).get(key) == "true"
        ]
        return "; ".join(f"To let it go: kubectl annotate {owner} {key}-" for owner, key in owners) or _WAIT
    if not view.is_leaving and view.claim is not None and not view.is_initialized:
        return "See the claim's conditions: a machine that does not come up is replaced when its time is over."
    if view.claim is not None and not view.pool:
        return f"Give the node its label {labels.NODEPOOL} back, or delete it."
    if "not found (NodePool=" in verdict.reason:
        return "The pool is gone, or cannot buy anything: create it again, or delete the node."
    return _WAIT


def _blocked(answer: NodeAnswer, verdict: BlockedBy) -> str:
    if verdict.constraint == labels.DO_NOT_DISRUPT:
        return (
            f"Take the annotation off the pod, or wait until it ends. With a terminationGracePeriod on the nodepool, drift "
            f"would replace the node all the same: kubectl annotate pod {_flags(verdict.pod)} {labels.DO_NOT_DISRUPT}-"
        )
    if verdict.constraint.startswith("PodDisruptionBudget"):
        return f"Let {verdict.constraint} allow a disruption: more replicas that are ready, or a smaller demand."
    nearest = _nearest(answer.homeless, verdict.pod)
    return f"Give pod {verdict.pod} another place: {nearest}" if nearest else f"Ask: karpy why pod/{verdict.pod}"


def _nearest(homeless: tuple[Explanation, ...], pod: str) -> str:
    found = next((each for each in homeless if each.pod == pod and each.nearest), None)
    return str(found.nearest[0]) if found is not None else ""


def _flags(key: str) -> str:
    namespace, _, name = key.rpartition("/")
    return f"-n {namespace} {name}" if namespace else name


def _not_wanted(answer: NodeAnswer, verdict: NotWanted) -> str:
    pool = answer.judged.view.pool
    if not verdict.is_told:
        return _WAIT
    return f"Change spec.disruption of nodepool/{pool} (consolidationPolicy, consolidateAfter), if it should go."


def _not_worth_it(verdict: NoCheaper | PaysTooLate | ScoreBelow) -> str:
    if isinstance(verdict, ScoreBelow):
        return "Nothing: to move its pods would disturb more than it saves. A policy of WhenEmptyOrUnderutilized would."
    if isinstance(verdict, PaysTooLate):
        return (
            f"Nothing: that is what churn control is for. A lower {DISRUPTION_PRICE} on its nodepool would let it go."
        )
    if "SpotToSpotConsolidation" in verdict.text:
        return "Switch on the feature gate SpotToSpotConsolidation, or let the nodepool buy more kinds of machines."
    return (
        "Nothing, if its pods need what it has. Otherwise let them ask for less, or let the nodepool buy cheaper machines; "
        "room that pods leave on other nodes is used as soon as there is any."
    )
