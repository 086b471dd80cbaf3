"""The nodes that exist, sorted by what constraints see of them: worked out once for all solves that fill them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from karpy.scheduling.alike import Alike, accepts, asked_labels
from karpy.scheduling.alike import Group as Positions
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.existing import ExistingNode
from karpy.scheduling.shelves import Fitting, Row, Shelved, Sieve, Sifted

__all__ = ["Floor"]


class Floor:
    """``nodes`` as they are before any pod is put on one; nobody fills these, who fills them takes copies."""

    def __init__(self, nodes: Sequence[ExistingNode], *, often: bool = False) -> None:
        """``often``: it is worth while to find out for good which nodes have room for what."""
        self.nodes = nodes
        self.fitting = Fitting(nodes) if often else None
        self.by_index: Mapping[int, int] = {node.index: position for position, node in enumerate(nodes)}
        """Positions here, by the node's place in the snapshot."""
        self.by_name: Mapping[str, int] = {node.view.name: position for position, node in enumerate(nodes)}
        self.by_claim: Mapping[str, int] = {
            node.view.claim.name: position for position, node in enumerate(nodes) if node.view.claim is not None
        }
        self._alike = Alike([node.view for node in nodes])
        self._rows: dict[tuple[Constraints, tuple[str, ...]], Sequence[Row]] = {}
        self._rows_of: dict[Hashable, Sequence[Row]] = {}
        self._accepted: dict[tuple[int, Constraints], bool] = {}

    def sieve(self, gone: Iterable[int] = ()) -> Sieve | None:
        """For one solve, in which no node is at the positions ``gone``; None where nobody asked for it."""
        return None if self.fitting is None else Sieve(self.fitting, gone)

    def accepts(self, position: int, constraints: Constraints) -> bool:
        """Whether labels and taints of a node allow it."""
        key = (position, constraints)
        known = self._accepted.get(key)
        if known is None:
            known = self._accepted[key] = accepts(self.nodes[position].view, constraints)
        return known

    def rows(self, constraints: Constraints, keys: tuple[str, ...]) -> Sequence[Row]:
        """The nodes that ``constraints`` accept, told apart by the values of the labels ``keys``.

        Constraints that see the same nodes in the same way share their rows.
        """
        found = self._rows.get((constraints, keys))
        if found is None:
            looked_at = asked_labels((constraints,)) | frozenset(keys)
            groups = self._alike.by(looked_at)
            accepted = tuple(accepts(self.nodes[group[0]].view, constraints) for group in groups)
            key = (looked_at, accepted, keys)
            found = self._rows_of.get(key)
            if found is None:
                taken = [group for group, taken in zip(groups, accepted, strict=True) if taken]
                found = self._rows_of[key] = self._make_rows(taken, keys)
            self._rows[constraints, keys] = found
        return found

    def _make_rows(self, groups: Sequence[Positions], keys: Sequence[str]) -> Sequence[Row]:
        merged: dict[tuple[str, ...], list[int]] = {}
        for group in groups:
            labels = self.nodes[group[0]].view.labels
            merged.setdefault(tuple(labels.get(key, "") for key in keys), []).extend(group)
        return [self._row(sorted(positions)) for positions in merged.values()]

    def _row(self, members: Sequence[int]) -> Row:
        return Shelved(self.nodes, members) if self.fitting is None else Sifted(self.fitting, members)
