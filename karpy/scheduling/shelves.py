"""Nodes in the order in which they are filled, so that a place for a pod is found without looking at every node that is full."""

from __future__ import annotations

import abc
import bisect
import copy
from collections.abc import Iterable, Mapping, Sequence

from karpy.scheduling.existing import ExistingNode

__all__ = ["Fitting", "Row", "Shelved", "Sieve", "Sifted"]

_SHELF = 32

_LEVELS, _FACTOR = 40, 2 ** (1 / 4)
"""How many amounts of a resource a sieve knows, and how much more each is than the last: the least is a thousandth of the most."""

Amounts = Sequence[tuple[str, int]]


class Row(abc.ABC):
    """Nodes that no zone-like term tells apart. ``members`` are their positions among all nodes, in order."""

    members: Sequence[int]

    @abc.abstractmethod
    def over(self, nodes: Sequence[ExistingNode], sieve: Sieve | None = None) -> Row:
        """The same row of ``nodes``: those that it is about, or what became of them in one solve. They have no more room.

        ``sieve`` is told of all that they lose."""

    @abc.abstractmethod
    def first_with_room(self, start: int, amounts: Amounts) -> int:
        """The position of the first node, from position ``start`` on, that has these amounts left; the number of all nodes
        if none has."""


class Shelved(Row):
    """The nodes are on shelves: of a shelf is known what any of its nodes has left at most.

    Room only shrinks, so what is known stays true; it is looked at again where it promised room and there was none.
    """

    def __init__(self, nodes: Sequence[ExistingNode], members: Sequence[int]) -> None:
        self.members = members
        self._nodes = nodes
        shelves = -(-len(members) // _SHELF)
        self._most: list[Mapping[str, int] | None] = [None] * shelves
        self._pods = [-1] * shelves  # how many pods had been put on a shelf when it was looked at

    def over(self, nodes: Sequence[ExistingNode], sieve: Sieve | None = None) -> Shelved:  # noqa: ARG002
        return Shelved(nodes, self.members)

    def first_with_room(self, start: int, amounts: Amounts) -> int:
        nodes, members, end = self._nodes, self.members, len(self.members)
        position = bisect.bisect_left(members, start) if start else 0
        while position < end:
            shelf = position // _SHELF
            stop = min(end, (shelf + 1) * _SHELF)
            if self._may_hold(shelf, amounts):
                for place in range(position, stop):
                    member = members[place]
                    free = nodes[member].free
                    for name, amount in amounts:
                        if amount > free.get(name, 0):
                            break
                    else:
                        return member
                self._look(shelf)
            position = stop
        return len(nodes)

    def _may_hold(self, shelf: int, amounts: Amounts) -> bool:
        most = self._most[shelf]
        return most is None or all(amount <= most.get(name, 0) for name, amount in amounts)

    def _look(self, shelf: int) -> None:
        nodes = [self._nodes[member] for member in self.members[shelf * _SHELF : (shelf + 1) * _SHELF]]
        pods = sum(len(node.pods) for node in nodes)
        if pods == self._pods[shelf]:
            return
        most: dict[str, int] = {}
        for node in nodes:
            for name, amount in node.free.items():
                if amount > most.get(name, 0):
                    most[name] = amount
        self._most[shelf], self._pods[shelf] = most, pods


class Fitting:
    """Which nodes have room as they are, for whatever is asked: by resource the different amounts, each with the nodes that have
    so much. Nodes are bits of a mask."""

    def __init__(self, nodes: Sequence[ExistingNode]) -> None:
        self.nodes = nodes
        self._all = (1 << len(nodes)) - 1
        self._tables: dict[str, tuple[list[int], list[int]]] = {}
        self._levels: dict[str, tuple[Sequence[int], Sequence[int]]] = {}
        self._last: tuple[Amounts, int] = ((), self._all)

    def mask(self, amounts: Amounts) -> int:
        """The nodes that have all of this."""
        last = self._last
        if last[0] is amounts:
            return last[1]
        mask = self._all
        for name, amount in amounts:
            steps, masks = self._tables.get(name) or self._table(name)
            step = bisect.bisect_left(steps, amount)
            if step == len(steps):
                mask = 0
                break
            mask &= masks[step]
        self._last = (amounts, mask)
        return mask

    def levels(self, name: str) -> tuple[Sequence[int], Sequence[int]]:
        """A few amounts of a resource, each so much more than the last, and the nodes that have so much."""
        found = self._levels.get(name)
        if found is None:
            steps, masks = self._tables.get(name) or self._table(name)
            chosen = sorted({round(steps[-1] / _FACTOR**power) for power in range(_LEVELS)} - {0}) if steps else []
            at_least = [masks[bisect.bisect_left(steps, amount)] for amount in chosen]
            found = self._levels[name] = chosen, at_least
        return found

    def _table(self, name: str) -> tuple[list[int], list[int]]:
        held: dict[int, int] = {}
        for position, node in enumerate(self.nodes):
            amount = node.free.get(name, 0)
            held[amount] = held.get(amount, 0) | 1 << position
        steps = sorted(held)
        masks, mask = [0] * len(steps), 0
        for step in range(len(steps) - 1, -1, -1):
            mask |= held[steps[step]]
            masks[step] = mask
        self._tables[name] = steps, masks
        return steps, masks


class Sieve:
    """The same of nodes that fill, roughly: by resource a few amounts, each with the nodes that still have so much.

    It holds back no node that has room. What it lets through is to be looked at.
    """

    def __init__(self, fitting: Fitting, gone: Iterable[int] = ()) -> None:
        """Nobody is put on the nodes at the positions ``gone``."""
        self._fitting = fitting
        self._there = ~sum(1 << position for position in gone)
        self._levels: dict[str, tuple[Sequence[int], list[int]]] = {}

    def mask(self, amounts: Amounts) -> int:
        """The nodes that may have all of this."""
        mask = self._there
        for name, amount in amounts:
            found = self._levels.get(name)
            if found is None:
                steps, masks = self._fitting.levels(name)
                found = self._levels[name] = steps, list(masks)
            level = bisect.bisect_right(found[0], amount) - 1
            if level >= 0:
                mask &= found[1][level]
        return mask

    def taken(self, position: int, amounts: Amounts, units: int, free: Mapping[str, int]) -> None:
        """So many times the amounts were taken from a node, which has ``free`` left."""
        others = ~(1 << position)
        for name, amount in amounts:
            found = self._levels.get(name)
            if found is not None:
                steps, masks = found
                left = free[name]
                for level in range(bisect.bisect_right(steps, left), bisect.bisect_right(steps, left + units * amount)):
                    masks[level] &= others


class Sifted(Row):
    """Of the nodes is known which have room for what as they are; only those that became others are looked at."""

    def __init__(self, fitting: Fitting, members: Sequence[int]) -> None:
        self.members = members
        self._fitting = fitting
        self._mask = sum(1 << member for member in members)
        self._nodes = fitting.nodes
        self._sieve = Sieve(fitting)

    def over(self, nodes: Sequence[ExistingNode], sieve: Sieve | None = None) -> Sifted:
        other = copy.copy(self)
        other._nodes, other._sieve = nodes, sieve or Sieve(self._fitting)  # noqa: SLF001
        return other

    def first_with_room(self, start: int, amounts: Amounts) -> int:
        nodes, before = self._nodes, self._fitting.nodes
        mask = self._mask & self._fitting.mask(amounts) & self._sieve.mask(amounts)
        if start:
            mask = mask >> start << start
        while mask:
            low = mask & -mask
            position = low.bit_length() - 1
            node = nodes[position]
            if node is before[position]:
                return position
            free = node.free
            for name, amount in amounts:
                if amount > free.get(name, 0):
                    break
            else:
                return position
            mask ^= low
        return len(nodes)
