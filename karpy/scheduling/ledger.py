"""What planned machines count for although it is open where they will be, and what of it is taken back once that is known.

A machine that may be in several domains keeps pods away from all of them, and one that a spread constraint may or may not count is
counted. A pod that comes later may settle both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from karpy.scheduling.constraints import AffinityTerm, SpreadTerm
from karpy.scheduling.groups import Group
from karpy.scheduling.templates import Shape

__all__ = ["Ledger", "Recorded", "counting", "is_open"]

Recorded = tuple[Group, int]
"""A group that counts a pod on some machine, and the machine's domains as a mask (0 where the domain is the machine itself)."""


def counting(groups: Iterable[Group], shape: Shape, well_known: frozenset[str]) -> Iterator[Recorded]:
    """Those of the groups that count a pod on such a machine."""
    labelled = shape.labelled
    for group in groups:
        if not group.is_host and group.key not in shape.template.keys:
            continue
        if group.counts_node(labelled, shape.template.taints, well_known) and _may_be_among(shape, group.term):
            yield group, 0 if group.is_host else shape.domains_of(group.domains, group.key)


def _may_be_among(shape: Shape, term: SpreadTerm | AffinityTerm) -> bool:
    """Whether any such machine can be bought that is one of the nodes which the term counts."""
    if not isinstance(term, SpreadTerm):
        return True
    return any(
        not wanted or shape.mask & shape.template.shape(shape.requirements & wanted).mask for wanted in term.nodes
    )


def is_open(recorded: Recorded, shape: Shape) -> bool:
    """Whether it may still turn out that such a machine does not count there. Hosts are what they are."""
    group, mask = recorded
    if not mask:
        return False
    if mask & (mask - 1):
        return group.counts_against_all
    term, labelled = group.term, shape.labelled
    return isinstance(term, SpreadTerm) and all(labelled & wanted != labelled for wanted in term.nodes)


class Ledger:
    """By machine: what was recorded of it that is still open, and for how many pods."""

    def __init__(self, well_known: frozenset[str]) -> None:
        self._well_known = well_known
        self._open: dict[int, dict[Recorded, int]] = {}

    def note(self, number: int, recorded: Iterable[Recorded], pods: int) -> None:
        held = self._open.setdefault(number, {})
        for each in recorded:
            held[each] = held.get(each, 0) + pods

    def narrowed(self, number: int, shape: Shape) -> None:
        """The machine has become one of this shape."""
        before = self._open.pop(number, None)
        if before is None:
            return
        now = dict(counting(dict.fromkeys(group for group, _mask in before), shape, self._well_known))
        for (group, mask), pods in before.items():
            found = now.get(group, 0)
            if mask & ~found:
                group.take_back(mask & ~found, pods)
            if is_open((group, found), shape):
                self.note(number, ((group, found),), pods)
