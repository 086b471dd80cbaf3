"""Nodes that exist, in the order in which they are filled, without asking twice what is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from karpy.objects.nodeclaim import LAUNCHED
from karpy.scheduling.existing import ExistingNode
from karpy.scheduling.floor import Floor
from karpy.scheduling.lots import Lot
from karpy.scheduling.rungs import Rung, hosts_of
from karpy.scheduling.shelves import Row
from karpy.state.snapshot import NodeView

__all__ = ["OpenNodes"]

_FULL: Mapping[str, int] = {}
_NOT_LOOKED = -1
"""Where a row is not asked for room before a term allows its nodes."""


class OpenNodes:
    """A node's room only shrinks during a solve, so one that has no room for a class is not looked at again for it.

    Nodes that no zone-like term of a rung tells apart are one row: a term allows all of them, or none. The nodes of the floor are
    nobody's: one that is filled here is a copy.
    """

    def __init__(self, floor: Floor, gone: Collection[int] = ()) -> None:
        """``gone`` are positions on the floor where no node is."""
        self._floor = floor
        self._gone = frozenset(gone)
        self.nodes = list(floor.nodes)
        for position in gone:
            node = self.nodes[position]
            self.nodes[position] = ExistingNode(node.index, node.view, _FULL, node.storage)
        self._owned: set[int] = set()
        self._sieve = floor.sieve(gone)
        self._rows: dict[Rung, Sequence[Row]] = {}
        self._over: dict[Row, Row] = {}
        self._cursors: dict[Rung, list[int]] = {}

    def begin(self) -> None:
        """Another class comes: what the last one was refused for does not hold for it."""
        self._cursors.clear()

    def machine(self, claim: str) -> int | None:
        """The position of the machine that this claim stands for."""
        return self._floor.by_claim.get(claim)

    def place(self, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on the first node that takes them."""
        if not self.nodes:
            return False
        if rung.host_affinities and hosts_of(rung.host_affinities):
            return self._beside_others(lot, rung)
        amounts = lot.pod_class.amounts
        rows = self._rows_for(rung)
        cursors = self._cursors.get(rung)
        if cursors is None:
            cursors = self._cursors[rung] = [_NOT_LOOKED] * len(rows)
        end = len(self.nodes)
        open_ones = []
        for number, row in enumerate(rows):
            if cursors[number] < end and (not rung.keys or rung.allows_labels(self._view(row.members[0]).labels)):
                if cursors[number] == _NOT_LOOKED:
                    cursors[number] = row.first_with_room(0, amounts)
                if cursors[number] < end:
                    open_ones.append(number)
        while open_ones:
            number = open_ones[0] if len(open_ones) == 1 else min(open_ones, key=cursors.__getitem__)
            if self._take(cursors[number], lot, rung):
                return True
            cursors[number] = rows[number].first_with_room(cursors[number] + 1, amounts)
            if cursors[number] == end:
                open_ones.remove(number)
        return False

    def keep(self, position: int, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on the node that was planned for them, if they may still go there.

        What is not launched yet is what it was planned to be, and it was planned for them: its labels are not known, but suit them.
        """
        view = self._view(position)
        is_known = view.claim is None or view.claim.is_true(LAUNCHED)
        if is_known:
            return self._put(position, lot, rung)
        return self._take(position, lot, rung)

    def own(self, position: int) -> ExistingNode:
        """The node here, to be filled."""
        node = self.nodes[position]
        if node is self._floor.nodes[position]:
            node = self.nodes[position] = node.own()
            self._owned.add(position)
        return node

    @property
    def filled(self) -> Sequence[ExistingNode]:
        """The nodes that pods were put on, in order."""
        return [node for position in sorted(self._owned) if (node := self.nodes[position]).pods]

    def _view(self, position: int) -> NodeView:
        return self._floor.nodes[position].view

    def _put(self, position: int, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on this very node, if they may go there."""
        suits = self._floor.accepts(position, rung.constraints) and rung.allows_labels(self._view(position).labels)
        return suits and self._take(position, lot, rung)

    def _take(self, position: int, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on a node whose labels and taints suit them; as many as it holds, if nobody counts them."""
        common, pod_class = self._floor.nodes[position], lot.pod_class
        view = common.view
        if not rung.allows_host(view.name) or view.name in pod_class.barred or position in self._gone:
            return False
        common.prepare(pod_class)
        node = self.own(position)
        if rung.is_uncounted:
            units = node.add(lot, len(lot) // lot.unit)
        else:
            units = node.add(lot)
            for _ in range(units * lot.unit):
                rung.record_node(view)
        if units and self._sieve is not None:
            self._sieve.taken(position, pod_class.amounts, units, node.free)
        return units > 0

    def _beside_others(self, lot: Lot, rung: Rung) -> bool:
        """Pods that want to be on the same host as others: only those hosts come into question."""
        named = self._floor.by_name
        beside = [named[name] for name in hosts_of(rung.host_affinities) if isinstance(name, str) and name in named]
        return any(self._put(position, lot, rung) for position in sorted(beside))

    def _rows_for(self, rung: Rung) -> Sequence[Row]:
        """The nodes that the rung's constraints accept."""
        found = self._rows.get(rung)
        if found is None:
            rows = self._floor.rows(rung.constraints, rung.keys)
            found = self._rows[rung] = [self._row_over(row) for row in rows]
        return found

    def _row_over(self, row: Row) -> Row:
        found = self._over.get(row)
        if found is None:
            found = self._over[row] = row.over(self.nodes, self._sieve)
        return found
