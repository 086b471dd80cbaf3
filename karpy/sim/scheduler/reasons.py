"""Why a node will not do, in kube-scheduler's words, and the message that sums up all nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import attrs

__all__ = ["Refusal", "no_nodes_message", "summary"]


@attrs.frozen
class Refusal:
    """What one node lacks. ``is_final``: no preemption on it could help. ``plugin`` is kube-scheduler's name of the rule."""

    plugin: str
    reasons: tuple[str, ...]
    is_final: bool = False


UNSCHEDULABLE = Refusal("NodeUnschedulable", ("node(s) were unschedulable",), is_final=True)
NODE_AFFINITY = Refusal("NodeAffinity", ("node(s) didn't match Pod's node affinity/selector",), is_final=True)
NOT_NAMED = Refusal("NodeAffinity", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), is_final=True)
PORTS = Refusal("NodePorts", ("node(s) didn't have free ports for the requested pod ports",))
SPREAD = Refusal("PodTopologySpread", ("node(s) didn't match pod topology spread constraints",))
SPREAD_LABEL = Refusal(
    "PodTopologySpread",
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    is_final=True,
)
AFFINITY = Refusal("InterPodAffinity", ("node(s) didn't match pod affinity rules",), is_final=True)
ANTI_AFFINITY = Refusal("InterPodAffinity", ("node(s) didn't match pod anti-affinity rules",))
OTHERS_ANTI_AFFINITY = Refusal("InterPodAffinity", ("node(s) didn't satisfy existing pods anti-affinity rules",))

_NO_VICTIMS = "No preemption victims found for incoming pod"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


def untolerated(key: str, value: str) -> Refusal:
    return Refusal("TaintToleration", (f"node(s) had untolerated taint {{{key}: {value}}}",), is_final=True)


def insufficient(too_many_pods: bool, resources: tuple[str, ...]) -> Refusal:
    lacking = tuple(f"Insufficient {name}" for name in resources)
    return Refusal("NodeResourcesFit", ("Too many pods", *lacking) if too_many_pods else lacking)


def no_nodes_message() -> str:
    return "no nodes available to schedule pods"


def summary(refusals: Mapping[str, Refusal]) -> str:
    """The message of the PodScheduled condition for a pod that every node refused.

    >>> summary({"a": UNSCHEDULABLE})[:55]
    '0/1 nodes are available: 1 node(s) were unschedulable. '
    """
    reasons: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for refusal in refusals.values():
        reasons.update(refusal.reasons)
        outcomes[_NOT_HELPFUL if refusal.is_final else _NO_VICTIMS] += 1
    head = f"0/{len(refusals)} nodes are available"
    return f"{head}: {_histogram(reasons)}. preemption: {head}: {_histogram(outcomes)}."


def _histogram(counts: Mapping[str, int]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
