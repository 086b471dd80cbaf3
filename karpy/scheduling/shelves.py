"""Nodes in the order in which they are filled, so that a place for a pod is found without looking at every node that is full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karpy.scheduling.existing import ExistingNode

__all__ = ["Row"]

_SHELF = 32


class Row:
    """Nodes that no zone-like term tells apart, on shelves: of a shelf is known what any of its nodes has left at most.

    Room only shrinks, so what is known stays true; it is looked at again where it promised room and there was none.
    """

    def __init__(self, nodes: Sequence[ExistingNode]) -> None:
        self.nodes = nodes
        shelves = -(-len(nodes) // _SHELF)
        self._most: list[Mapping[str, int] | None] = [None] * shelves
        self._pods = [-1] * shelves  # how many pods had been put on a shelf when it was looked at

    def first_with_room(self, start: int, amounts: Sequence[tuple[str, int]]) -> int:
        """The position of the first node, from ``start`` on, that has these amounts left; the number of nodes if none has."""
        nodes, end, position = self.nodes, len(self.nodes), start
        while position < end:
            shelf = position // _SHELF
            stop = min(end, (shelf + 1) * _SHELF)
            if self._may_hold(shelf, amounts):
                for place in range(position, stop):
                    free = nodes[place].free
                    for name, amount in amounts:
                        if amount > free.get(name, 0):
                            break
                    else:
                        return place
                self._look(shelf)
            position = stop
        return end

    def _may_hold(self, shelf: int, amounts: Sequence[tuple[str, int]]) -> bool:
        most = self._most[shelf]
        return most is None or all(amount <= most.get(name, 0) for name, amount in amounts)

    def _look(self, shelf: int) -> None:
        nodes = self.nodes[shelf * _SHELF : (shelf + 1) * _SHELF]
        pods = sum(len(node.pods) for node in nodes)
        if pods == self._pods[shelf]:
            return
        most: dict[str, int] = {}
        for node in nodes:
            for name, amount in node.free.items():
                if amount > most.get(name, 0):
                    most[name] = amount
        self._most[shelf], self._pods[shelf] = most, pods
