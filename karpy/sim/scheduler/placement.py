"""One attempt to place one pod: filter the nodes, score those that pass, pick the best.

The answer is a value: the best nodes, or why every node refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from karpy.sim.cache import Key
from karpy.sim.scheduler import reasons
from karpy.sim.scheduler.filters import StaticRules
from karpy.sim.scheduler.interpod import InterPodScore, NamespaceLabels
from karpy.sim.scheduler.nodes import NodePicture, Nodes
from karpy.sim.scheduler.nominations import Nominations
from karpy.sim.scheduler.reasons import Refusal
from karpy.sim.scheduler.rules import Rules
from karpy.sim.scheduler.scores import total_scores
from karpy.sim.scheduler.shape import Shape, Spread
from karpy.sim.scheduler.spread import SpreadScore
from karpy.sim.scheduler.storage import Storage

__all__ = ["Outcome", "Placer"]

_MANY_NODES = 100


@attrs.frozen
class Outcome:
    """``best`` are the nodes that share the highest score; empty when there is none, and then ``message`` says why.

    ``plugins`` are the rules that refused: only changes that concern them can help. ``rules`` answers what else may be asked about
    the pod, ``refusals`` are the reasons of the nodes that were looked at.
    """

    best: tuple[str, ...] = ()
    message: str = ""
    plugins: frozenset[str] = frozenset()
    refusals: Mapping[str, Refusal] = attrs.field(factory=dict)
    rules: Rules | None = None


class Placer:
    """Tries pods on the nodes of one picture."""

    def __init__(
        self,
        nodes: Nodes,
        namespace_labels: NamespaceLabels = lambda _: {},
        storage: Storage | None = None,
        nominations: Nominations | None = None,
    ) -> None:
        self._nodes = nodes
        self._namespace_labels = namespace_labels
        self._storage = Storage() if storage is None else storage
        self._nominations = Nominations() if nominations is None else nominations
        self._static = StaticRules()
        self._start = 0

    def place(self, key: Key, shape: Shape, default_spreads: tuple[Spread, ...] = ()) -> Outcome:
        """The best nodes for a pod. ``default_spreads`` are wished for when the pod names no constraints itself."""
        if not len(self._nodes):
            return Outcome(message=reasons.no_nodes_message())
        rules = Rules(key, shape, self._nodes, self._static, self._namespace_labels, self._storage, self._nominations)
        refusal = rules.refusal_of_all
        if refusal is not None:
            message = reasons.summary_of_all(refusal, len(self._nodes))
            return Outcome(message=message, plugins=frozenset({refusal.plugin}), rules=rules)
        feasible, refusals = self._filter(rules, self._nominations.node_of(key))
        if not feasible:
            plugins = frozenset(refusal.plugin for refusal in refusals.values())
            return Outcome(message=reasons.summary(refusals), plugins=plugins, refusals=refusals, rules=rules)
        if len(feasible) == 1:
            return Outcome((feasible[0].name,), refusals=refusals, rules=rules)
        scores = self._score(shape, feasible, shape.soft_spreads if shape.has_spreads else default_spreads)
        highest = max(scores)
        best = tuple(node.name for node, score in zip(feasible, scores, strict=True) if score == highest)
        return Outcome(best, refusals=refusals, rules=rules)

    def _filter(self, rules: Rules, nominated: str) -> tuple[list[NodePicture], dict[str, Refusal]]:
        """The nodes that would do and why the others would not. The node that the pod made room on is tried alone first."""
        prepared = self._nodes.get(nominated) if nominated else None
        if prepared is not None and rules.refuse(prepared) is None:
            return [prepared], {}
        refusals: dict[str, Refusal] = {}
        feasible: list[NodePicture] = []
        enough = self._enough()
        shape, nobody_waits = rules.shape, self._nominations.is_empty
        candidates = self._candidates(shape, refusals)
        tried = 0
        for node in candidates:
            tried += 1
            refusal = node.refused.get(shape) if nobody_waits else None
            if refusal is None:
                refusal = rules.refuse(node)
            if refusal is not None:
                refusals[node.name] = refusal
                continue
            feasible.append(node)
            if len(feasible) >= enough:
                break
        if candidates:
            self._start = (self._start + tried) % len(self._nodes)
        return feasible, refusals

    def _candidates(self, shape: Shape, refusals: dict[str, Refusal]) -> Sequence[NodePicture]:
        """The nodes to try, from where the last attempt stopped; only the named ones for a pod that names nodes."""
        if shape.node_names is None:
            nodes = list(self._nodes)
            return nodes[self._start :] + nodes[: self._start]
        refusals.update((node.name, reasons.NOT_NAMED) for node in self._nodes if node.name not in shape.node_names)
        named = [self._nodes.get(name) for name in sorted(shape.node_names)]
        return [node for node in named if node is not None]

    def _enough(self) -> int:
        """How many feasible nodes are worth comparing: all of few, a sinking share of many (kube-scheduler's rule)."""
        count = len(self._nodes)
        if count < _MANY_NODES:
            return count
        percentage = max(50 - count // 125, 5)
        return max(count * percentage // 100, _MANY_NODES)

    def _score(self, shape: Shape, feasible: list[NodePicture], spreads: tuple[Spread, ...]) -> list[int]:
        spread = None
        if spreads:
            fits = lambda node: self._static.fits_affinity(shape, node)  # noqa: E731
            spread = SpreadScore(shape, spreads, feasible, self._nodes, fits)
        interpod = None
        if shape.preferences or self._nodes.with_terms:
            interpod = InterPodScore(shape, self._nodes, self._namespace_labels)
        return total_scores(shape, feasible, spread, interpod)
