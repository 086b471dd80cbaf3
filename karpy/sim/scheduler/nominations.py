"""Pods that made room for themselves somewhere and do not run there yet: whoever is less important leaves that room alone."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.sim.cache import Key
from karpy.sim.scheduler.nodes import PlacedPod
from karpy.sim.scheduler.shape import Shape

__all__ = ["Nominations"]


class Nominations:
    """Which node each of these pods waits for. ``generation`` grows with every change."""

    def __init__(self) -> None:
        self._node_of: dict[Key, str] = {}
        self._on: dict[str, dict[Key, PlacedPod]] = {}
        self.generation = 0

    @property
    def is_empty(self) -> bool:
        """Whether no pod waits for a node that it was promised."""
        return not self._node_of

    def put(self, key: Key, shape: Shape, node: str) -> None:
        """The pod waits for this node."""
        if self._node_of.get(key) == node and self._on[node][key].shape is shape:
            return
        self.drop(key)
        self._node_of[key] = node
        self._on.setdefault(node, {})[key] = PlacedPod(key, shape, node)
        self.generation += 1

    def drop(self, key: Key) -> None:
        """The pod runs, is gone, or waits for no node any more."""
        node = self._node_of.pop(key, None)
        if node is None:
            return
        del self._on[node][key]
        if not self._on[node]:
            del self._on[node]
        self.generation += 1

    def node_of(self, key: Key) -> str:
        """The node that the pod waits for; empty when it waits for none."""
        return self._node_of.get(key, "")

    def of_weight(self, node: str, priority: int, but: Key) -> Sequence[PlacedPod]:
        """The pods that wait for a node and that a pod of this priority must respect."""
        waiting = self._on.get(node)
        if not waiting:
            return ()
        return [pod for key, pod in waiting.items() if key != but and pod.shape.priority >= priority]

    def lesser(self, node: str, priority: int) -> Sequence[Key]:
        """The less important pods that wait for a node."""
        return [key for key, pod in self._on.get(node, {}).items() if pod.shape.priority < priority]
