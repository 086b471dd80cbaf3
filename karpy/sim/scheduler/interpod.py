"""Affinity and anti-affinity between pods: counts of matching pods per domain, as filter and as score.

Source: kube-scheduler's InterPodAffinity. A term counts a pod for the domain of the node that it is on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from karpy.sim.scheduler.nodes import NodePicture, Nodes, PlacedPod
from karpy.sim.scheduler.reasons import AFFINITY, ANTI_AFFINITY, OTHERS_ANTI_AFFINITY, Refusal
from karpy.sim.scheduler.shape import AffinityTerm, Shape

__all__ = ["InterPodFilter", "InterPodScore", "NamespaceLabels"]

Domain = tuple[str, str]
NamespaceLabels = Callable[[str], Mapping[str, str]]

_BEST = 100
_REQUIRED_WEIGHT = 1
"""What a term that another pod requires is worth as a wish of this one."""


class _Matcher:
    """Whether a term accepts a pod, knowing the labels of namespaces."""

    def __init__(self, namespace_labels: NamespaceLabels) -> None:
        self._namespace_labels = namespace_labels

    def __call__(self, term: AffinityTerm, shape: Shape) -> bool:
        extra = self._namespace_labels(shape.namespace) if term.in_namespace is not None else {}
        return term.matches(shape.namespace, shape.labels, extra)


class InterPodFilter:
    """What must hold, for one pod and one state of the nodes."""

    def __init__(self, shape: Shape, nodes: Nodes, namespace_labels: NamespaceLabels) -> None:
        self._shape = shape
        self._matches = _Matcher(namespace_labels)
        self._wanted: dict[Domain, int] = {}
        self._shunned: dict[Domain, int] = {}
        self._forbidden: dict[Domain, int] = {}
        for node in nodes.with_terms.values():
            if node.exists:
                for pod in node.with_terms.values():
                    self._count_repelling(node, pod, 1)
        if shape.affinity or shape.anti_affinity:
            for node in nodes:
                for pod in node.pods.values():
                    self._count_own(node, pod, 1)
        self._forbidden_keys = self._keys_of_forbidden()

    def count(self, node: NodePicture, pod: PlacedPod, sign: int) -> None:
        """Suppose that a pod comes to a node (1) or leaves it (-1)."""
        self._count_repelling(node, pod, sign)
        self._count_own(node, pod, sign)
        self._forbidden_keys = self._keys_of_forbidden()

    def _keys_of_forbidden(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for key, _ in self._forbidden))

    def _count_repelling(self, node: NodePicture, pod: PlacedPod, sign: int) -> None:
        for term in pod.shape.anti_affinity:
            if self._matches(term, self._shape):
                _add(self._forbidden, node, term.topology_key, sign)

    def _count_own(self, node: NodePicture, pod: PlacedPod, sign: int) -> None:
        shape = self._shape
        # A pod counts for affinity only when all terms accept it, for anti-affinity term by term.
        if shape.affinity and all(self._matches(term, pod.shape) for term in shape.affinity):
            for term in shape.affinity:
                _add(self._wanted, node, term.topology_key, sign)
        for term in shape.anti_affinity:
            if self._matches(term, pod.shape):
                _add(self._shunned, node, term.topology_key, sign)

    def refuse(self, node: NodePicture) -> Refusal | None:
        if self._shape.affinity and not self._is_attracted(node):
            return AFFINITY
        labels = node.labels
        for term in self._shape.anti_affinity if self._shunned else ():
            value = labels.get(term.topology_key)
            if value is not None and (term.topology_key, value) in self._shunned:
                return ANTI_AFFINITY
        for key in self._forbidden_keys:
            if (key, labels.get(key)) in self._forbidden:
                return OTHERS_ANTI_AFFINITY
        return None

    def _is_attracted(self, node: NodePicture) -> bool:
        shape = self._shape
        if any(term.topology_key not in node.labels for term in shape.affinity):
            return False
        if all((term.topology_key, node.labels[term.topology_key]) in self._wanted for term in shape.affinity):
            return True
        # The first of a group of pods that want each other may start the group.
        return not self._wanted and all(self._matches(term, shape) for term in shape.affinity)


def _add(counts: dict[Domain, int], node: NodePicture, key: str, amount: int = 1) -> None:
    value = node.labels.get(key)
    if value is not None:
        counts[key, value] = counts.get((key, value), 0) + amount
        if not counts[key, value]:
            del counts[key, value]


class InterPodScore:
    """What is wished for, by this pod and by those that run already."""

    def __init__(self, shape: Shape, nodes: Nodes, namespace_labels: NamespaceLabels) -> None:
        self._matches = _Matcher(namespace_labels)
        self._scores: dict[Domain, int] = {}
        searched: Iterable[NodePicture] = nodes if shape.preferences else nodes.with_terms.values()
        for node in searched:
            if node.exists and node.labels:
                pods = node.pods if shape.preferences else node.with_terms
                for pod in pods.values():
                    self._weigh(shape, node, pod)
        self._keys = tuple(dict.fromkeys(key for key, _ in self._scores))

    def _weigh(self, shape: Shape, node: NodePicture, pod: PlacedPod) -> None:
        for wish in shape.preferences:
            if self._matches(wish.term, pod.shape):
                _add(self._scores, node, wish.term.topology_key, wish.weight)
        for term in pod.shape.affinity:
            if self._matches(term, shape):
                _add(self._scores, node, term.topology_key, _REQUIRED_WEIGHT)
        for wish in pod.shape.preferences:
            if self._matches(wish.term, shape):
                _add(self._scores, node, wish.term.topology_key, wish.weight)

    def of(self, node: NodePicture) -> int:
        labels = node.labels
        return sum(self._scores.get((key, labels[key]), 0) for key in self._keys if key in labels)

    @staticmethod
    def normalize(raw: Sequence[int]) -> list[int]:
        """Scores from 0 to 100 between the least and the most of these nodes; all 0 when they are equal."""
        least, most = min(raw), max(raw)
        if least == most:
            return [0] * len(raw)
        return [int(_BEST * ((score - least) / (most - least))) for score in raw]
