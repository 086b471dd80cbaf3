"""Nodes that had better stay, told by amounts alone: their pods fit nowhere else, and no cheaper machine would hold them.

A simulation is dear and most nodes are busy. Room is reckoned here as if nothing counted but amounts, and as if pods of each size
had it for themselves. So nobody is turned away whom a simulation would let go: it starts from the same room and only takes away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, repeat

from karpy.cloud.instancetype import Price
from karpy.disruption.candidates import Candidate
from karpy.resources import Resources, total
from karpy.scheduling.whatif import WhatIfs
from karpy.state.snapshot import NodeView

__all__ = ["Screen"]


class Screen:
    """What can be told without a simulation, from what the simulations start from."""

    def __init__(self, whatifs: WhatIfs) -> None:
        self._start = whatifs.start
        self._least: dict[frozenset[tuple[Resources, int]], Price | None] = {}
        """What the cheapest machine costs that holds so many pods of these sizes."""

    def passes(self, candidate: Candidate) -> bool:
        """Whether a simulation could find that the node may go, or that a cheaper machine would do."""
        own = (candidate.view.name,)
        homeless = frozenset(
            (requests, missing)
            for requests, count in candidate.view.derived(_sizes).items()
            if (missing := self._start.missing(requests, count, own)) > 0
        )
        return not homeless or self._is_sold_below(homeless, candidate.price)

    def may_go_together(self, gone: Sequence[Candidate]) -> bool:
        """The same of several nodes: whether what their pods ask for together is left on others, or on one cheaper machine more."""
        requests = total(candidate.view.derived(_all) for candidate in gone)
        lacking = self._start.lacking(requests, [candidate.view.name for candidate in gone])
        if not any(lacking.values()):
            return True
        return self._is_sold_below(frozenset(((lacking, 1),)), sum(candidate.price for candidate in gone))

    def _is_sold_below(self, homeless: frozenset[tuple[Resources, int]], price: Price) -> bool:
        if homeless not in self._least:
            self._least[homeless] = self._start.cheapest(total(chain.from_iterable(repeat(*each) for each in homeless)))
        least = self._least[homeless]
        return least is not None and least < price


def _sizes(view: NodeView) -> Mapping[Resources, int]:
    """How many of the pods that would have to move ask for the same."""
    return Counter(pod.requests for pod in view.reschedulable_pods)


def _all(view: NodeView) -> Resources:
    """What the pods that would have to move ask for together."""
    return total(pod.requests for pod in view.reschedulable_pods)
