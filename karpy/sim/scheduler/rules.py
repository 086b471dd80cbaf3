"""All rules that one pod and one node must meet, in the order in which kube-scheduler asks them.

Pods can be supposed to come or to go, so that preemption is answered by the very same rules as placement.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from karpy.sim.cache import Key
from karpy.sim.scheduler import reasons
from karpy.sim.scheduler.filters import StaticRules, refuse_for_room
from karpy.sim.scheduler.interpod import InterPodFilter, NamespaceLabels
from karpy.sim.scheduler.nodes import NodePicture, Nodes, PlacedPod
from karpy.sim.scheduler.nominations import Nominations
from karpy.sim.scheduler.reasons import Refusal
from karpy.sim.scheduler.shape import Shape
from karpy.sim.scheduler.spread import SpreadFilter
from karpy.sim.scheduler.storage import Storage
from karpy.sim.scheduler.volumes import VolumeRules

__all__ = ["Rules"]


class Rules:
    """The rules for one pod over one state of the nodes."""

    def __init__(
        self,
        key: Key,
        shape: Shape,
        nodes: Nodes,
        static: StaticRules,
        namespace_labels: NamespaceLabels,
        storage: Storage,
        nominations: Nominations,
    ) -> None:
        self._key = key
        self.shape = shape
        self._static = static
        self._nominations = nominations
        self.volumes = VolumeRules(key, shape, storage, nodes) if shape.has_volumes else None
        self._spread = SpreadFilter(shape, nodes, lambda node: static.fits_affinity(shape, node))
        self._interpod = InterPodFilter(shape, nodes, namespace_labels)

    @property
    def refusal_of_all(self) -> Refusal | None:
        """Why no node needs to be looked at."""
        if self.shape.node_names is not None and not self.shape.node_names:
            return reasons.NAMES_CONFLICT
        return self.volumes.refusal if self.volumes is not None else None

    def refuse(self, node: NodePicture) -> Refusal | None:
        """Why the node will not do, with and without the pods that wait for it and weigh as much as this one."""
        nominated = self._nominations.of_weight(node.name, self.shape.priority, self._key)
        if nominated:
            with self.trial(node) as trial:
                for pod in nominated:
                    trial.put(pod)
                refusal = self._refuse(trial.node)
            if refusal is not None:
                return refusal
        return self._refuse(node)

    def _refuse(self, node: NodePicture) -> Refusal | None:
        return (
            self._refuse_alone(node)
            or (self.volumes.refuse(node) if self.volumes is not None else None)
            or self._spread.refuse(node)
            or self._interpod.refuse(node)
        )

    def _refuse_alone(self, node: NodePicture) -> Refusal | None:
        """What of the node itself and the pods on it stands in the way."""
        shape = self.shape
        refusal = node.refused.get(shape)
        if refusal is None:
            refusal = self._static.refuse(shape, node) or refuse_for_room(shape, node)
            if refusal is not None:
                node.remember(shape, refusal)
        return refusal

    @contextmanager
    def trial(self, node: NodePicture) -> Iterator[Trial]:
        """Suppose pods on a copy of the node; when it ends, nothing has happened."""
        trial = Trial(self, node.scratch())
        try:
            yield trial
        finally:
            trial.undo()

    def count(self, node: NodePicture, pod: PlacedPod, sign: int) -> None:
        """Suppose that a pod comes to a node (1) or leaves it (-1)."""
        self._spread.count(node, pod, sign)
        self._interpod.count(node, pod, sign)
        if self.volumes is not None:
            self.volumes.count(pod, sign)


class Trial:
    """A copy of a node on which pods come and go, seen by all rules."""

    def __init__(self, rules: Rules, node: NodePicture) -> None:
        self._rules = rules
        self.node = node
        self._done: list[tuple[PlacedPod, int]] = []

    def put(self, pod: PlacedPod) -> None:
        self.node.put(pod)
        self._count(pod, 1)

    def take(self, pod: PlacedPod) -> None:
        self.node.take(pod.key)
        self._count(pod, -1)

    def refuse(self) -> Refusal | None:
        return self._rules.refuse(self.node)

    def undo(self) -> None:
        for pod, sign in reversed(self._done):
            self._rules.count(self.node, pod, -sign)

    def _count(self, pod: PlacedPod, sign: int) -> None:
        self._rules.count(self.node, pod, sign)
        self._done.append((pod, sign))
