"""Where pods may go because of other pods: all spread, affinity and anti-affinity of a solve, counted (core specification 3.7)."""

from __future__ import annotations

from collections.abc import Iterable

from karpy.objects.pod import Pod, PodGroup
from karpy.scheduling.census import Census
from karpy.scheduling.classes import ReadPod
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.groups import Group
from karpy.scheduling.tally import Gone, Tally

__all__ = ["Topology"]

_NONE: Gone = frozenset()


class Topology:
    """All groups of one solve, with what is counted already. They are scratch: the census that they start from stays as it is."""

    def __init__(self, census: Census, pods: Iterable[ReadPod], gone: Gone = _NONE, names: Iterable[str] = ()) -> None:
        """``gone`` are the positions of nodes that are not there on paper, ``names`` what these are called."""
        self._census = census
        self._gone = gone
        self._names = tuple(names)
        self._groups: dict[Tally, Group] = {}
        self._selecting: dict[PodGroup, tuple[Group, ...]] = {}
        batch = dict.fromkeys(read.constraints for read in pods)
        for constraints in batch:
            brought = census.brought_by(constraints)
            for tally in (*brought.owned, *brought.keeping_away):
                self._group(tally)
        self._brought = dict(self._groups)
        # Those that run matter to those who are to be placed alone.
        self.is_empty = not self._groups and not (batch and census.keeps_apart(gone))
        """Nobody asks for anything of the kind, which is the common case and costs nothing."""

    @property
    def groups(self) -> Iterable[Group]:
        return self._groups.values()

    def owned(self, constraints: Constraints) -> tuple[Group, ...]:
        """The groups of the terms that pods of these constraints bring."""
        return tuple(map(self._group, self._census.brought_by(constraints).owned))

    def anti_affinity_of(self, constraints: Constraints) -> tuple[Group, ...]:
        """The groups of the required anti-affinities."""
        return tuple(map(self._group, self._census.brought_by(constraints).settling))

    def inverse_of(self, constraints: Constraints) -> tuple[Group, ...]:
        """The groups that keep others away from pods of these constraints."""
        return tuple(map(self._group, self._census.brought_by(constraints).keeping_away))

    def selecting(self, pod: Pod) -> tuple[Group, ...]:
        """The groups whose term is about this pod: those that pods to be placed bring, then those of pods that run."""
        pods = pod.group
        found = self._selecting.get(pods)
        if found is None:
            selects = self._census.selects
            own = [group for tally, group in self._brought.items() if selects(tally, pods)]
            others = (t for t in self._census.keeping_away(pods, self._gone) if t not in self._brought)
            found = self._selecting[pods] = (*own, *map(self._group, others))
        return found

    def _group(self, tally: Tally) -> Group:
        found = self._groups.get(tally)
        if found is None:
            found = self._groups[tally] = tally.group(self._gone, self._names)
        return found
