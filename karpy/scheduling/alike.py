"""Nodes that constraints cannot tell apart are looked at once.

A constraint sees a node's taints and those of its labels that it asks about. A cluster has few different answers, however many
nodes it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from karpy.scheduling.constraints import Constraints
from karpy.state.snapshot import NodeView
from karpy.taints import untolerated

__all__ = ["Alike", "accepts", "asked_labels"]

Group = tuple[int, ...]
"""Positions of nodes, in their order."""


def accepts(view: NodeView, constraints: Constraints) -> bool:
    """Whether labels and taints allow it. A node's labels are final: a key that it lacks stays undefined."""
    return untolerated(view.taints, constraints.tolerations) is None and any(
        view.requirements.compatible(wanted) is None for wanted in constraints.node_alternatives
    )


def asked_labels(constraints: Iterable[Constraints]) -> frozenset[str]:
    """The labels that they ask about."""
    return frozenset(key for each in constraints for wanted in each.node_alternatives for key in wanted)


class Alike:
    """Groups of nodes, by which labels are looked at."""

    def __init__(self, views: Sequence[NodeView]) -> None:
        self._views = views
        self._by_keys: dict[frozenset[str], tuple[Group, ...]] = {}

    def by(self, keys: frozenset[str]) -> tuple[Group, ...]:
        """The nodes, grouped by taints and by the values of these labels."""
        found = self._by_keys.get(keys)
        if found is None:
            grouped: dict[tuple[object, ...], list[int]] = {}
            for position, view in enumerate(self._views):
                own = view.labels
                signature = (view.taints, *[own.get(key) for key in keys])
                grouped.setdefault(signature, []).append(position)
            found = self._by_keys[keys] = tuple(map(tuple, grouped.values()))
        return found
