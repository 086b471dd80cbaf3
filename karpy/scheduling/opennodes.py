"""Nodes that exist, in the order in which they are filled, without asking twice what is known."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.objects.pod import Pod
from karpy.scheduling.classes import PodClass
from karpy.scheduling.existing import ExistingNode
from karpy.scheduling.lots import Lot
from karpy.scheduling.rungs import Rung, hosts_of

__all__ = ["OpenNodes"]

_Bucket = list[ExistingNode]


class OpenNodes:
    """A node's room only shrinks during a solve, so one that has no room for a class is not looked at again for it.

    Nodes that no zone-like term of a rung tells apart are one bucket: a term allows all of them, or none.
    """

    def __init__(self, nodes: Sequence[ExistingNode]) -> None:
        self._nodes = nodes
        self._by_name = {node.view.name: node for node in nodes}
        self._buckets: dict[Rung, list[_Bucket]] = {}
        self._cursors: dict[Rung, list[int]] = {}

    def begin(self) -> None:
        """Another class comes: what the last one was refused for does not hold for it."""
        self._cursors.clear()

    def place(self, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on the first node that takes it."""
        if not self._nodes or lot.unit > 1:
            return False
        pod, pod_class = lot.pods[0], lot.pod_class
        if self._place(pod, pod_class, rung):
            lot.take()
            return True
        return False

    def _place(self, pod: Pod, pod_class: PodClass, rung: Rung) -> bool:
        if rung.host_affinities and hosts_of(rung.host_affinities):
            return self._beside_others(pod, pod_class, rung)
        buckets = self._buckets_for(rung)
        cursors = self._cursors.setdefault(rung, [0] * len(buckets))
        open_ones = {
            number
            for number, bucket in enumerate(buckets)
            if cursors[number] < len(bucket) and rung.allows_labels(bucket[0].view.labels)
        }
        while open_ones:
            number = min(open_ones, key=lambda n: buckets[n][cursors[n]].index)
            node = buckets[number][cursors[number]]
            if rung.allows_host(node.view.name) and node.add(pod, pod_class):
                rung.record_node(node.view)
                return True
            cursors[number] += 1
            if cursors[number] == len(buckets[number]):
                open_ones.discard(number)
        return False

    def put(self, node: ExistingNode, pod: Pod, pod_class: PodClass, rung: Rung) -> bool:
        """Put the pod on this very node, if it may go there."""
        allowed = (
            node.accepts(rung.constraints)
            and rung.allows_labels(node.view.labels)
            and rung.allows_host(node.view.name)
            and node.add(pod, pod_class)
        )
        if allowed:
            rung.record_node(node.view)
        return allowed

    def _beside_others(self, pod: Pod, pod_class: PodClass, rung: Rung) -> bool:
        """Pods that want to be on the same host as others: only those hosts come into question."""
        names = hosts_of(rung.host_affinities)
        beside = sorted((self._by_name[n] for n in names if n in self._by_name), key=lambda node: node.index)
        return any(self.put(node, pod, pod_class, rung) for node in beside)

    def _buckets_for(self, rung: Rung) -> list[_Bucket]:
        found = self._buckets.get(rung)
        if found is None:
            grouped: dict[tuple[str, ...], _Bucket] = {}
            for node in self._nodes:
                if node.accepts(rung.constraints):
                    grouped.setdefault(rung.bucket(node.view), []).append(node)
            found = self._buckets[rung] = list(grouped.values())
        return found
