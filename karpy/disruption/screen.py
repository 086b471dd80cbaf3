"""Nodes that had better stay, told by amounts alone: their pods fit nowhere else, and no cheaper machine would hold them.

A simulation is dear and most nodes are busy. Room is reckoned here as if nothing counted but amounts, and as if pods of each size
had it for themselves. So nobody is turned away whom a simulation would let go: it starts from the same room and only takes away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, repeat

from karpy.cloud.instancetype import Catalog, Price
from karpy.disruption.candidates import Candidate
from karpy.resources import Resources, total
from karpy.scheduling.configured import start_as_set
from karpy.settings import Settings
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Screen"]


class Screen:
    """What one search has to know once, whatever number of nodes it looks at."""

    def __init__(self, snapshot: Snapshot, catalog: Catalog, settings: Settings | None = None) -> None:
        up = {view.name for view in snapshot.nodes if view.is_initialized}
        self._start = start_as_set(settings, snapshot, catalog)
        # Pods are not moved to a node that may yet fail to come up.
        self._free = {node: free for node, free in self._start.free.items() if node in up}
        self._room: dict[Resources, tuple[Mapping[str, int], int]] = {}
        self._least: dict[tuple[tuple[Resources, int], ...], Price | None] = {}

    def passes(self, candidate: Candidate) -> bool:
        """Whether a simulation could find that the node may go, or that a cheaper machine would do."""
        homeless = tuple(self._homeless(candidate))
        if not homeless:
            return True
        if homeless not in self._least:
            self._least[homeless] = self._start.cheapest(
                total(chain.from_iterable(repeat(amounts, count) for amounts, count in homeless))
            )
        least = self._least[homeless]
        return least is not None and least < candidate.price

    def _homeless(self, candidate: Candidate) -> Iterator[tuple[Resources, int]]:
        """How many of its pods of each size, at the least, have no place on the other nodes."""
        own = candidate.view.name
        for requests, count in candidate.view.derived(_sizes):
            room, all_room = self._room_for(requests)
            missing = count - all_room + room.get(own, 0)
            if missing > 0:
                yield requests, missing

    def _room_for(self, requests: Resources) -> tuple[Mapping[str, int], int]:
        """How many pods of this size each node has room for, and all together."""
        found = self._room.get(requests)
        if found is None:
            amounts = [(name, amount) for name, amount in requests.items() if amount]
            counts = {
                node: min(free.get(name, 0) // amount for name, amount in amounts) for node, free in self._free.items()
            }
            positive = {node: count for node, count in counts.items() if count > 0}
            found = self._room[requests] = (positive, sum(positive.values()))
        return found


def _sizes(view: NodeView) -> tuple[tuple[Resources, int], ...]:
    """How many of the pods that would have to move ask for the same; those that ask for nothing fit everywhere."""
    return tuple(Counter(pod.requests for pod in view.reschedulable_pods if any(pod.requests.values())).items())
