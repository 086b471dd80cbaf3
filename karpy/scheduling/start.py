"""What every what-if starts from: the room left on nodes once pods that wait have the places made for them, and what is sold.

Pods whose place depends on where others are may yet lose the one that was made for them, so they take nothing here. What is found
missing here, of amounts alone, is missing whatever else counts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence

from karpy.cloud.instancetype import Price
from karpy.resources import Resources, total
from karpy.scheduling.existing import ExistingNode
from karpy.scheduling.floor import Floor
from karpy.scheduling.instances import bits
from karpy.scheduling.shelves import Fitting
from karpy.scheduling.templates import Template

__all__ = ["Start"]


class Start:
    """``nodes`` stand on the floor, with the pods that keep their places. Nobody goes to those of ``shut``, nor to one that may yet
    fail to come up."""

    def __init__(
        self, floor: Floor, nodes: Sequence[ExistingNode], templates: Sequence[Template], shut: frozenset[str]
    ) -> None:
        self._nodes = nodes
        is_empty = not any(node.pods for node in nodes)
        self._fitting = (floor.fitting if is_empty else None) or Fitting(nodes)
        self._templates = templates
        self._open = 0
        self._named: dict[str, int] = {}
        for position, node in enumerate(nodes):
            if node.view.is_initialized and node.view.name not in shut:
                self._open |= 1 << position
                self._named[node.view.name] = self._named.get(node.view.name, 0) | 1 << position

    @functools.cached_property
    def _free(self) -> Resources:
        return total(self._nodes[position].free for position in bits(self._open))

    def missing(self, requests: Resources, count: int, gone: Iterable[str]) -> int:
        """How many, of so many pods of this size, have no place at the least once these nodes are gone."""
        asked = tuple((name, amount) for name, amount in requests.items() if amount)
        mask = self._fitting.mask(asked) & self._open & ~self._of(gone)
        if not asked or mask.bit_count() >= count:
            return 0
        rooms = (self._nodes[position].free for position in bits(mask))
        return max(0, count - sum(min(free.get(name, 0) // amount for name, amount in asked) for free in rooms))

    def lacking(self, requests: Resources, gone: Iterable[str]) -> Resources:
        """By how much these amounts exceed all room together once these nodes are gone."""
        lost = total(self._nodes[position].free for position in bits(self._of(gone)))
        left = self._free - lost
        return Resources({name: max(0, amount - left.get(name, 0)) for name, amount in requests.items()})

    def cheapest(self, requests: Mapping[str, int]) -> Price | None:
        """What the cheapest machine costs that has so much room; None when there is none whose price is known."""
        asked = {name: amount for name, amount in requests.items() if amount}
        prices = (price for template in self._templates if (price := _cheapest(template, asked)) is not None)
        return min(prices, default=None)

    def _of(self, names: Iterable[str]) -> int:
        mask = 0
        for name in names:
            mask |= self._named.get(name, 0)
        return mask


def _cheapest(template: Template, asked: Mapping[str, int]) -> Price | None:
    choice = template.columns.choice(template.requirements)
    mask = template.fitting(template.base.mask & choice.mask, asked, asked)
    price = choice.order.first(mask)[0].price if mask else math.inf
    return price if math.isfinite(price) else None
