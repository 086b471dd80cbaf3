"""Whom a pod that fits nowhere may drive out: on each node the fewest that make room, and of all nodes the one that hurts least.

Source: kube-scheduler's DefaultPreemption. On a node all less important pods are supposed gone; when the pod fits then, they are
taken back one after the other, those whose disruption budget would be broken first, then the most important. Who does not fit any
more is a victim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from karpy.sim.cache import Key
from karpy.sim.scheduler import reasons
from karpy.sim.scheduler.nodes import NodePicture, Nodes, PlacedPod
from karpy.sim.scheduler.reasons import Refusal
from karpy.sim.scheduler.rules import Rules, Trial
from karpy.sim.scheduler.selectors import LabelTest

__all__ = ["Budget", "Preemption", "Victims", "least_harm", "search"]

_SHARE_OF_NODES = 10
_FEWEST_CANDIDATES = 100
_SHIFT = 2**31
"""Makes every priority positive, so that one pod more always weighs more than one pod less."""


@attrs.frozen(eq=False)
class Budget:
    """What a PodDisruptionBudget allows at this moment."""

    namespace: str
    selects: LabelTest
    allowed: int
    disrupted: frozenset[str] = frozenset()
    """Pods whose eviction it has granted already."""
    version: tuple[str, int] = ("", 0)
    """Its uid and generation: what it selects is known by."""


@attrs.frozen
class Victims:
    """Who would go from a node, the most important first, and how many of them against their budgets."""

    node: str
    pods: tuple[PlacedPod, ...]
    violations: int


@attrs.frozen
class Preemption:
    """The nodes that could be cleared; without any, why not."""

    candidates: tuple[Victims, ...] = ()
    message: str = ""


def search(
    rules: Rules,
    nodes: Nodes,
    refusals: Mapping[str, Refusal],
    budgets: Sequence[Budget],
    nominated: str = "",
) -> Preemption:
    """Where room could be made for a pod that every node refused.

    ``refusals`` are the reasons of the nodes that were looked at, none when no node was; ``nominated`` is the node on which it
    made room before.
    """
    shape = rules.shape
    if not shape.may_preempt:
        return Preemption(message=reasons.NEVER)
    if nominated and _is_being_cleared(nodes.get(nominated), refusals.get(nominated), shape.priority):
        return Preemption(message=reasons.IN_PROGRESS)
    potential = [node for node in nodes if (refusal := refusals.get(node.name)) and not refusal.is_final]
    outcomes = {node.name: _NOT_HELPFUL for node in nodes}
    candidates: list[Victims] = []
    enough = max(len(potential) * _SHARE_OF_NODES // 100, _FEWEST_CANDIDATES)
    for node in potential:
        answer = _victims_on(node, rules, budgets)
        if isinstance(answer, Refusal):
            outcomes[node.name] = answer
            continue
        candidates.append(answer)
        if len(candidates) >= enough and not all(each.violations for each in candidates):
            break  # the others are not looked at, but one that keeps all budgets there must be
    if candidates:
        return Preemption(tuple(candidates))
    return Preemption(message=reasons.summary(outcomes))


_NOT_HELPFUL = Refusal("DefaultPreemption", (reasons.NOT_HELPFUL,), is_final=True)
_NO_VICTIMS = Refusal("DefaultPreemption", (reasons.NO_VICTIMS,), is_final=True)


def _is_being_cleared(node: NodePicture | None, refusal: Refusal | None, priority: int) -> bool:
    """Whether victims of an earlier round are still going: then it is too early for more."""
    if node is None or refusal is None or refusal.is_final:
        return False  # it will not do any more, whoever goes
    return any(pod.makes_room and pod.shape.priority < priority for pod in node.pods.values())


def _victims_on(node: NodePicture, rules: Rules, budgets: Sequence[Budget]) -> Victims | Refusal:
    lesser = [pod for pod in node.pods.values() if pod.shape.priority < rules.shape.priority]
    if not lesser:
        return _NO_VICTIMS
    lesser.sort(key=_importance)
    with rules.trial(node) as trial:
        for pod in lesser:
            trial.take(pod)
        refusal = trial.refuse()
        if refusal is not None:
            return refusal
        violating, harmless = _by_budget(lesser, budgets)
        against_budget = [pod for pod in violating if not _can_stay(trial, pod)]
        others = [pod for pod in harmless if not _can_stay(trial, pod)]
    victims = tuple(sorted([*against_budget, *others], key=_importance))
    return Victims(node.name, victims, len(against_budget)) if victims else _NO_VICTIMS


def _importance(pod: PlacedPod) -> tuple[int, float, Key]:
    """More important pods sort first: of higher priority, then longer running."""
    return -pod.shape.priority, pod.started, pod.key


def _can_stay(trial: Trial, pod: PlacedPod) -> bool:
    trial.put(pod)
    if trial.refuse() is None:
        return True
    trial.take(pod)
    return False


def _by_budget(pods: Sequence[PlacedPod], budgets: Sequence[Budget]) -> tuple[list[PlacedPod], list[PlacedPod]]:
    """The pods whose going would break a budget, counting one after the other, and the rest."""
    left = [budget.allowed for budget in budgets]
    violating: list[PlacedPod] = []
    harmless: list[PlacedPod] = []
    for pod in pods:
        breaks = False
        for i, budget in enumerate(budgets):
            if budget.namespace != pod.shape.namespace or pod.key[1] in budget.disrupted:
                continue
            if pod.shape.labels and budget.selects(pod.shape.labels):
                left[i] -= 1
                breaks = breaks or left[i] < 0
        (violating if breaks else harmless).append(pod)
    return violating, harmless


def least_harm(candidates: Sequence[Victims]) -> tuple[Victims, ...]:
    """The candidates that hurt least; several when they hurt alike.

    Fewest broken budgets, then the least important of the most important victims, the smallest sum of priorities, the fewest
    victims, and the latest start of the longest running of the most important ones.
    """

    def harm(victims: Victims) -> tuple[float, ...]:
        pods = victims.pods
        highest = pods[0].shape.priority
        earliest = min(pod.started for pod in pods if pod.shape.priority == highest)
        total = sum(pod.shape.priority + _SHIFT for pod in pods)
        return victims.violations, highest, total, len(pods), -earliest

    least = min(map(harm, candidates))
    return tuple(victims for victims in candidates if harm(victims) == least)
