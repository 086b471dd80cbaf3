"""Topology spread: how many matching pods each domain holds, whether one more is too many, and which domain has fewest.

Source: kube-scheduler's PodTopologySpread, with the system's default constraints for pods of a workload or service.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from karpy import labels
from karpy.sim.scheduler.nodes import NodePicture, Nodes, PlacedPod
from karpy.sim.scheduler.reasons import SPREAD, SPREAD_LABEL, Refusal
from karpy.sim.scheduler.selectors import LabelTest
from karpy.sim.scheduler.shape import Shape, Spread
from karpy.taints import PREFER_NO_SCHEDULE, Taint

__all__ = ["SpreadFilter", "SpreadScore", "default_spreads"]

NodeTest = Callable[[NodePicture], bool]
Domain = tuple[str, str]

_NO_DOMAIN = 2**31 - 1
_BEST = 100


def default_spreads(selects: LabelTest) -> tuple[Spread, ...]:
    """What the scheduler wishes for pods that name no constraint but belong to a workload or a service."""
    return tuple(
        Spread(key, skew, 1, selects, honors_affinity=True, honors_taints=False)
        for key, skew in ((labels.HOSTNAME, 3), (labels.ZONE, 5))
    )


def _counts(spread: Spread, shape: Shape, nodes: Nodes) -> Mapping[str, int]:
    """Pods that count for the constraint, per node."""
    return {} if spread.selects is None else nodes.count(spread.selects, shape.namespace)


def _bears(shape: Shape, taints: Iterable[Taint]) -> bool:
    return all(
        taint.effect == PREFER_NO_SCHEDULE or any(each.tolerates(taint) for each in shape.tolerations)
        for taint in taints
    )


def _includes(spread: Spread, shape: Shape, node: NodePicture, fits_affinity: NodeTest) -> bool:
    """Whether the node's domain counts for this pod at all."""
    if spread.honors_affinity and not fits_affinity(node):
        return False
    return not spread.honors_taints or _bears(shape, node.taints)


def _has_all_keys(node: NodePicture, spreads: Sequence[Spread]) -> bool:
    return all(spread.topology_key in node.labels for spread in spreads)


class SpreadFilter:
    """The constraints that must hold, for one pod and one state of the nodes."""

    def __init__(self, shape: Shape, nodes: Nodes, fits_affinity: NodeTest) -> None:
        self._spreads = shape.hard_spreads
        self._shape = shape
        self._labels = shape.labels
        self._fits_affinity = fits_affinity
        self._counts: dict[Domain, int] = {}
        if self._spreads:
            self._tally(shape, nodes, fits_affinity)
        self._least = [self._fewest(spread) for spread in self._spreads]

    def count(self, node: NodePicture, pod: PlacedPod, sign: int) -> None:
        """Suppose that a pod comes to a node (1) or leaves it (-1)."""
        shape = pod.shape
        if not self._spreads or pod.is_deleting or shape.namespace != self._shape.namespace:
            return
        if not _has_all_keys(node, self._spreads):
            return
        for spread in self._spreads:
            selected = spread.selects is not None and spread.selects(shape.labels)
            if selected and _includes(spread, self._shape, node, self._fits_affinity):
                domain = (spread.topology_key, node.labels[spread.topology_key])
                self._counts[domain] = self._counts.get(domain, 0) + sign
        self._least = [self._fewest(spread) for spread in self._spreads]

    def _tally(self, shape: Shape, nodes: Nodes, fits_affinity: NodeTest) -> None:
        counts = self._counts
        pods = [_counts(spread, shape, nodes) for spread in self._spreads]
        for node in nodes:
            if not _has_all_keys(node, self._spreads):
                continue
            for spread, on_node in zip(self._spreads, pods, strict=True):
                if _includes(spread, shape, node, fits_affinity):
                    domain = (spread.topology_key, node.labels[spread.topology_key])
                    counts[domain] = counts.get(domain, 0) + on_node.get(node.name, 0)

    def _fewest(self, spread: Spread) -> int:
        held = [count for (key, _), count in self._counts.items() if key == spread.topology_key]
        if not held:
            return _NO_DOMAIN  # without any domain there is nothing to be uneven
        return 0 if len(held) < spread.min_domains else min(held)

    def refuse(self, node: NodePicture) -> Refusal | None:
        for spread, least in zip(self._spreads, self._least, strict=True):
            value = node.labels.get(spread.topology_key)
            if value is None:
                return SPREAD_LABEL
            own = 1 if spread.selects is not None and spread.selects(self._labels) else 0
            if self._counts.get((spread.topology_key, value), 0) + own - least > spread.max_skew:
                return SPREAD
        return None


class SpreadScore:
    """The constraints that should hold: fewer matching pods in a node's domains is better."""

    def __init__(
        self,
        shape: Shape,
        spreads: Sequence[Spread],
        feasible: Sequence[NodePicture],
        nodes: Nodes,
        fits_affinity: NodeTest,
    ) -> None:
        self._shape = shape
        self._pods = [_counts(spread, shape, nodes) for spread in spreads]
        self._spreads = spreads
        self._needs_all_keys = shape.has_spreads
        self._ignored = {node.name for node in feasible if self._lacks_keys(node)}
        self._counts: dict[Domain, int] = {}
        sizes = [0] * len(spreads)
        for node in feasible:
            if node.name not in self._ignored:
                self._open_domains(node, sizes)
        self._weights = [
            math.log((len(feasible) - len(self._ignored) if spread.topology_key == labels.HOSTNAME else size) + 2)
            for spread, size in zip(spreads, sizes, strict=True)
        ]
        if self._counts:
            self._tally(nodes, fits_affinity)

    def _lacks_keys(self, node: NodePicture) -> bool:
        return self._needs_all_keys and not _has_all_keys(node, self._spreads)

    def _open_domains(self, node: NodePicture, sizes: list[int]) -> None:
        for i, spread in enumerate(self._spreads):
            if spread.topology_key == labels.HOSTNAME:
                continue  # counted per node
            domain = (spread.topology_key, node.labels.get(spread.topology_key, ""))
            if domain not in self._counts:
                self._counts[domain] = 0
                sizes[i] += 1

    def _tally(self, nodes: Nodes, fits_affinity: NodeTest) -> None:
        for spread, on_node in zip(self._spreads, self._pods, strict=True):
            if spread.topology_key == labels.HOSTNAME:
                continue
            for name, count in on_node.items():
                node = nodes.get(name)
                if node is None or self._lacks_keys(node):
                    continue
                domain = (spread.topology_key, node.labels.get(spread.topology_key, ""))
                if domain in self._counts and _includes(spread, self._shape, node, fits_affinity):
                    self._counts[domain] += count

    def of(self, node: NodePicture) -> int | None:
        """The raw score, fewer pods being less; None for a node that lacks a topology key."""
        if node.name in self._ignored:
            return None
        score = 0.0
        for spread, weight, on_node in zip(self._spreads, self._weights, self._pods, strict=True):
            value = node.labels.get(spread.topology_key)
            if value is None:
                continue
            if spread.topology_key == labels.HOSTNAME:
                count = on_node.get(node.name, 0)
            else:
                count = self._counts[spread.topology_key, value]
            score += count * weight + (spread.max_skew - 1)
        return math.floor(score + 0.5)

    @staticmethod
    def normalize(raw: Sequence[int | None]) -> list[int]:
        """Scores from 0 to 100, the fewest pods being best."""
        known = [score for score in raw if score is not None]
        most, least = max([0, *known]), min(known, default=0)
        if most == 0:
            return [0 if score is None else _BEST for score in raw]
        return [0 if score is None else _BEST * (most + least - score) // most for score in raw]
