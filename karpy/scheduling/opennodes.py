"""Nodes that exist, in the order in which they are filled, without asking twice what is known."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence

from karpy.objects.nodeclaim import LAUNCHED
from karpy.scheduling.alike import Alike, Group, accepts, asked_labels
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.existing import ExistingNode
from karpy.scheduling.lots import Lot
from karpy.scheduling.rungs import Rung, hosts_of
from karpy.scheduling.shelves import Row

__all__ = ["OpenNodes"]


class OpenNodes:
    """A node's room only shrinks during a solve, so one that has no room for a class is not looked at again for it.

    Nodes that no zone-like term of a rung tells apart are one row: a term allows all of them, or none.
    """

    def __init__(self, nodes: Sequence[ExistingNode]) -> None:
        self._nodes = nodes
        self._alike = Alike([node.view for node in nodes])
        self._accepted: dict[tuple[ExistingNode, Constraints], bool] = {}
        self._rows: dict[Rung, Sequence[Row]] = {}
        self._rows_of: dict[Hashable, Sequence[Row]] = {}
        self._cursors: dict[Rung, list[int]] = {}

    def begin(self) -> None:
        """Another class comes: what the last one was refused for does not hold for it."""
        self._cursors.clear()

    def place(self, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on the first node that takes them."""
        if not self._nodes:
            return False
        if rung.host_affinities and hosts_of(rung.host_affinities):
            return self._beside_others(lot, rung)
        amounts = lot.pod_class.amounts
        rows = self._rows_for(rung)
        cursors = self._cursors.get(rung)
        if cursors is None:
            cursors = self._cursors[rung] = [row.first_with_room(0, amounts) for row in rows]
        open_ones = [
            number
            for number, row in enumerate(rows)
            if cursors[number] < len(row.nodes) and rung.allows_labels(row.nodes[0].view.labels)
        ]
        while open_ones:
            number = open_ones[0]
            if len(open_ones) > 1:
                number = min(open_ones, key=lambda n: rows[n].nodes[cursors[n]].index)
            row = rows[number]
            if self._take(row.nodes[cursors[number]], lot, rung):
                return True
            cursors[number] = row.first_with_room(cursors[number] + 1, amounts)
            if cursors[number] == len(row.nodes):
                open_ones.remove(number)
        return False

    def keep(self, node: ExistingNode, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on the node that was planned for them, if they may still go there.

        What is not launched yet is what it was planned to be, and it was planned for them: its labels are not known, but suit them.
        """
        is_known = node.view.claim is None or node.view.claim.is_true(LAUNCHED)
        if is_known:
            return self._put(node, lot, rung)
        return self._take(node, lot, rung)

    def _put(self, node: ExistingNode, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on this very node, if they may go there."""
        suits = self._accepts(node, rung.constraints) and rung.allows_labels(node.view.labels)
        return suits and self._take(node, lot, rung)

    def _take(self, node: ExistingNode, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on a node whose labels and taints suit them; as many as it holds, if nobody counts them."""
        if not rung.allows_host(node.view.name):
            return False
        units = node.add(lot, len(lot) // lot.unit if rung.is_uncounted else 1)
        for _ in range(0 if rung.is_uncounted else units * lot.unit):
            rung.record_node(node.view)
        return units > 0

    def _accepts(self, node: ExistingNode, constraints: Constraints) -> bool:
        key = (node, constraints)
        known = self._accepted.get(key)
        if known is None:
            known = self._accepted[key] = accepts(node.view, constraints)
        return known

    def _beside_others(self, lot: Lot, rung: Rung) -> bool:
        """Pods that want to be on the same host as others: only those hosts come into question."""
        named = self._by_name
        beside = [named[name] for name in hosts_of(rung.host_affinities) if isinstance(name, str) and name in named]
        return any(self._put(node, lot, rung) for node in sorted(beside, key=lambda node: node.index))

    @functools.cached_property
    def _by_name(self) -> Mapping[str, ExistingNode]:
        return {node.view.name: node for node in self._nodes}

    def _rows_for(self, rung: Rung) -> Sequence[Row]:
        """The nodes that the rung's constraints accept. Rungs that see the same nodes in the same way share their rows."""
        found = self._rows.get(rung)
        if found is None:
            looked_at = asked_labels((rung.constraints,)) | frozenset(rung.keys)
            groups = self._alike.by(looked_at)
            views = (self._nodes[group[0]].view for group in groups)
            accepted = tuple(accepts(view, rung.constraints) for view in views)
            key = (looked_at, accepted, rung.keys)
            found = self._rows_of.get(key)
            if found is None:
                taken = [group for group, taken in zip(groups, accepted, strict=True) if taken]
                found = self._rows_of[key] = self._make_rows(taken, rung.keys)
            self._rows[rung] = found
        return found

    def _make_rows(self, groups: Sequence[Group], keys: Sequence[str]) -> Sequence[Row]:
        merged: dict[tuple[str, ...], list[int]] = {}
        for group in groups:
            labels = self._nodes[group[0]].view.labels
            merged.setdefault(tuple(labels.get(key, "") for key in keys), []).extend(group)
        return [Row([self._nodes[position] for position in sorted(positions)]) for positions in merged.values()]
