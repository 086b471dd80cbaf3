"""How many pods one term counts, node by node, so that any nodes can be left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from karpy import labels
from karpy.objects.pod import PodGroup
from karpy.scheduling.constraints import AffinityTerm, SpreadTerm
from karpy.scheduling.groups import Domains, Group, GroupKind
from karpy.state.snapshot import NodeView

__all__ = ["Gone", "Tally"]

Gone = frozenset[int]
"""Positions, in the snapshot, of nodes that are not there on paper."""


class Tally:
    """One term, and how many pods it counts where they run."""

    def __init__(self, kind: GroupKind, term: SpreadTerm | AffinityTerm, domains: Domains, universe: int) -> None:
        self.kind = kind
        self.term = term
        self.domains = domains
        self.is_host = term.key == labels.HOSTNAME
        self.selected: frozenset[PodGroup] = frozenset()
        """Those of the pods that run that the term is about."""
        self.counts = [0] * len(domains.names)
        self.hosts: dict[str, int] = {}
        self.at: dict[int, tuple[int, int]] = {}
        """By position of the node: the domain's bit there, and how many pods count in it."""
        self.universe = universe
        self.standing: Counter[int] = Counter()
        """How many nodes stand in each domain that is there because of nodes alone."""
        self.standing_at: Mapping[int, int] = {}
        """By position of the node that domain's bit."""

    def bit(self, view: NodeView) -> int | None:
        """The domain that a node stands in."""
        value = view.labels.get(self.term.key)
        return None if value is None else self.domains.index.get(value)

    def record(self, position: int, view: NodeView, pods: int) -> None:
        """So many more pods on a node that counts."""
        if self.is_host:
            self.hosts[view.name] = self.hosts.get(view.name, 0) + pods
            return
        bit = self.bit(view)
        if bit is not None:
            self.counts[bit] += pods
            self.at[position] = (bit, self.at.get(position, (bit, 0))[1] + pods)

    def group(self, gone: Gone, names: Iterable[str]) -> Group:
        """What a solve counts on from, when the nodes at these positions, of these names, are gone."""
        group = Group(self.kind, self.term, self.domains, self.universe)
        if self.is_host:
            group.hosts.update(self.hosts)
            for name in names:
                group.hosts.pop(name, None)
            return group
        counts = group.counts = list(self.counts)
        for position in gone:
            found = self.at.get(position)
            if found is not None:
                counts[found[0]] -= found[1]
        group.populated = sum(1 << bit for bit, count in enumerate(counts) if count)
        if self.standing and gone:
            group.universe &= ~self._emptied(gone)
        return group

    def _emptied(self, gone: Gone) -> int:
        """The domains that nobody stands in any more."""
        left = Counter(bit for position in gone if (bit := self.standing_at.get(position)) is not None)
        return sum(1 << bit for bit, count in left.items() if count == self.standing[bit])
