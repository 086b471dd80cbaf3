"""Which of the nodes that would do is best: the default plug-ins' scores with their default weights.

Source: kube-scheduler's TaintToleration (weight 3), NodeAffinity, PodTopologySpread, InterPodAffinity (2 each), NodeResourcesFit by
least allocation and NodeResourcesBalancedAllocation (1 each). Every score runs from 0 to 100. Image locality is left out: nodes
of this world hold every image alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from karpy.resources import CPU, MEMORY
from karpy.sim.scheduler.interpod import InterPodScore
from karpy.sim.scheduler.nodes import NodePicture
from karpy.sim.scheduler.selectors import matches_term
from karpy.sim.scheduler.shape import Shape
from karpy.sim.scheduler.spread import SpreadScore
from karpy.taints import PREFER_NO_SCHEDULE

__all__ = ["total_scores"]

_BEST = 100
_TAINTS_WEIGHT = 3
_AFFINITY_WEIGHT = 2
_SPREAD_WEIGHT = 2
_INTER_POD_WEIGHT = 2


def total_scores(
    shape: Shape,
    feasible: Sequence[NodePicture],
    spread: SpreadScore | None,
    interpod: InterPodScore | None,
) -> list[int]:
    """The weighted sum for each feasible node. Scores that are the same for all are left out."""
    totals = [_least_allocated(shape, node) + _balanced(shape, node) for node in feasible]
    _add(totals, _TAINTS_WEIGHT, _taints(shape, feasible))
    if shape.preferred_terms:
        _add(totals, _AFFINITY_WEIGHT, _node_affinity(shape, feasible))
    if spread is not None:
        _add(totals, _SPREAD_WEIGHT, SpreadScore.normalize([spread.of(node) for node in feasible]))
    if interpod is not None:
        _add(totals, _INTER_POD_WEIGHT, InterPodScore.normalize([interpod.of(node) for node in feasible]))
    return totals


def _add(totals: list[int], weight: int, scores: Sequence[int]) -> None:
    for i, score in enumerate(scores):
        totals[i] += weight * score


def _least_allocated(shape: Shape, node: NodePicture) -> int:
    """The mean share of CPU and memory that stays free, counting a little for containers that ask for nothing."""
    score, weight = 0, 0
    for room, used in (
        (node.allocatable.get(CPU, 0), node.scored_cpu + shape.scored_cpu),
        (node.allocatable.get(MEMORY, 0), node.scored_memory + shape.scored_memory),
    ):
        if room:
            score += (room - used) * _BEST // room if used <= room else 0
            weight += 1
    return score // weight if weight else 0


def _balanced(shape: Shape, node: NodePicture) -> int:
    """How alike the used shares of CPU and memory are."""
    fractions = []
    for name in (CPU, MEMORY):
        room = node.allocatable.get(name, 0)
        if room:
            used = node.requested.get(name, 0) + shape.requests.get(name, 0)
            fractions.append(min(used / room, 1.0))
    deviation = abs((fractions[0] - fractions[1]) / 2) if len(fractions) == 2 else 0.0
    return int((1 - deviation) * _BEST)


def _taints(shape: Shape, feasible: Sequence[NodePicture]) -> list[int]:
    """Fewer PreferNoSchedule taints that the pod does not tolerate are better."""
    counts = [_unwelcome(shape, node) for node in feasible]
    most = max(counts)
    return [_BEST - _BEST * count // most if most else 0 for count in counts]


def _unwelcome(shape: Shape, node: NodePicture) -> int:
    if not node.taints:
        return 0
    relevant = [each for each in shape.tolerations if each.effect in (None, "", PREFER_NO_SCHEDULE)]
    return sum(
        1
        for taint in node.taints
        if taint.effect == PREFER_NO_SCHEDULE and not any(each.tolerates(taint) for each in relevant)
    )


def _node_affinity(shape: Shape, feasible: Sequence[NodePicture]) -> list[int]:
    counts = [
        sum(each.weight for each in shape.preferred_terms if matches_term(each.preference, node.name, node.labels))
        for node in feasible
    ]
    most = max(counts)
    return [_BEST * count // most for count in counts] if most else counts
