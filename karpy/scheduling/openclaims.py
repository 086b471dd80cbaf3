"""Claims planned in this solve, found without looking at all of them.

What refuses a pod for its host or its ports refuses every pod that is alike in these, for the rest of the solve: the claims of
one shape stand in a `Line` for each such likeness, and leave it for good. What has no room is set aside until pods of another
size come.
"""

from __future__ import annotations

import abc
import heapq
from typing import Generic, TypeVar

from karpy.scheduling.claims import Fit, PlannedClaim
from karpy.scheduling.classes import PodClass
from karpy.scheduling.ledger import Ledger
from karpy.scheduling.lots import Lot
from karpy.scheduling.ports import clash
from karpy.scheduling.rungs import Likeness, Rung, hosts_of
from karpy.scheduling.templates import Shape

__all__ = ["EvenClaims", "Line", "OpenClaims"]

Entry = tuple[tuple[float, int], int]
"""(rank when it was put here, number of the claim)"""


class Line:
    """The claims of one shape by rank, for pods that are alike as far as hosts and ports go.

    ``members`` are the numbers of the claims that came to the shape, in the order in which they came; some have left it since.
    """

    __slots__ = ("heap", "members", "seen", "set_aside", "shape")

    def __init__(self, shape: Shape, members: list[int]) -> None:
        self.shape = shape
        self.members = members
        self.heap: list[Entry] = []
        self.seen = 0
        self.set_aside: list[Entry] = []

    def restore(self) -> None:
        for entry in self.set_aside:
            heapq.heappush(self.heap, entry)
        self.set_aside.clear()


L = TypeVar("L", bound=Line)


class OpenClaims(abc.ABC, Generic[L]):
    """All claims of one solve."""

    def __init__(self, well_known: frozenset[str]) -> None:
        self.claims: list[PlannedClaim] = []
        self._well_known = well_known
        self._ledger = Ledger(well_known)
        self._members: dict[Shape, list[int]] = {}
        self._lines: dict[tuple[Likeness, Shape], L] = {}
        self._reached: dict[Rung, tuple[int, int, list[L]]] = {}
        """The lines that a rung reaches, as of a version of the rung and a number of shapes."""
        self._with_set_aside: list[L] = []

    @abc.abstractmethod
    def _new_line(self, shape: Shape, members: list[int]) -> L: ...

    @abc.abstractmethod
    def _place(self, lot: Lot, rung: Rung) -> bool: ...

    @abc.abstractmethod
    def _came(self, claim: PlannedClaim, number: int, before: Shape | None) -> None:
        """A pod came onto a claim, which had that shape before it (None: the claim is new)."""

    def begin(self, pod_class: PodClass) -> None:  # noqa: ARG002  (a packing may prepare for the class)
        """Another class comes: claims that had no room for the last one are asked again."""
        for line in self._with_set_aside:
            line.restore()
        self._with_set_aside.clear()

    def open(self, claim: PlannedClaim, lot: Lot, fit: Fit, rung: Rung) -> None:
        """A new claim, with the first of the lot on it."""
        self.claims.append(claim)
        self._take(len(self.claims) - 1, lot, fit, rung, is_new=True)

    def adopt(self, claim: PlannedClaim) -> None:
        """A claim that an earlier solve planned, with its pods on it."""
        self.claims.append(claim)
        number = len(self.claims) - 1
        self._came(claim, number, None)
        self._members.setdefault(claim.shape, []).append(number)

    def place(self, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on the claim that the packing tries first, of those that can take it."""
        if not self.claims:
            return False
        if rung.host_affinities and hosts_of(rung.host_affinities):
            return self._beside_others(lot, rung)
        return self._place(lot, rung)

    def _take(self, number: int, lot: Lot, fit: Fit, rung: Rung, *, is_new: bool = False) -> None:
        claim = self.claims[number]
        before = None if is_new else claim.shape
        claim.take(lot, fit)
        self._came(claim, number, before)
        if claim.shape is not before:
            self._members.setdefault(claim.shape, []).append(number)
            self._ledger.narrowed(number, claim.shape)
        left_open = rung.record_claim(number, claim.shape, self._well_known, lot.unit)
        if left_open:
            self._ledger.note(number, left_open, lot.unit)

    def _lines_for(self, rung: Rung) -> list[L]:
        """The lines of the shapes that such a pod may come to."""
        version, shapes = rung.version(), len(self._members)
        known = self._reached.get(rung)
        if known is None or known[0] != version or known[1] != shapes:
            lines = [self._line(rung, shape) for shape in self._members if rung.options(shape)]
            known = self._reached[rung] = (version, shapes, lines)
        return known[2]

    def _line(self, rung: Rung, shape: Shape) -> L:
        key = (rung.likeness, shape)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = self._new_line(shape, self._members[shape])
        return line

    def _first(self, line: L, rung: Rung) -> Entry | None:
        """The entry that really is first and may be the pod's host, or None when no claim is left."""
        heap, ports, claims = line.heap, rung.constraints.ports, self.claims
        if line.seen < len(line.members):
            for number in line.members[line.seen :]:
                heapq.heappush(heap, (claims[number].rank, number))
            line.seen = len(line.members)
        while heap:
            rank, number = heap[0]
            claim = claims[number]
            if claim.shape is not line.shape:
                heapq.heappop(heap)
            elif claim.rank != rank:
                heapq.heapreplace(heap, (claim.rank, number))
            elif not rung.allows_host(number) or (ports and clash(ports, claim.ports)):
                heapq.heappop(heap)  # for good: what is on a claim stays on it
            else:
                return heap[0]
        return None

    def _set_aside(self, line: L) -> None:
        """The first of the line has no room for pods of this size."""
        if not line.set_aside:
            self._with_set_aside.append(line)
        line.set_aside.append(heapq.heappop(line.heap))

    def _beside_others(self, lot: Lot, rung: Rung) -> bool:
        """Pods that want to be on the same host as others: only those hosts come into question."""
        planned = [host for host in hosts_of(rung.host_affinities) if isinstance(host, int)]
        for number in sorted(planned, key=lambda n: self.claims[n].rank):
            claim = self.claims[number]
            if not rung.allows_host(number) or clash(rung.constraints.ports, claim.ports):
                continue
            claim.settle()
            fit = claim.fit(lot.pod_class, rung.options(claim.shape))
            if fit is not None:
                self._take(number, lot, fit, rung)
                return True
        return False


class EvenClaims(OpenClaims[Line]):
    """Karpenter's order: the claim with the fewest pods first, of several the one that grew last."""

    def __init__(self, well_known: frozenset[str]) -> None:
        super().__init__(well_known)
        self._turn = 0

    def _new_line(self, shape: Shape, members: list[int]) -> Line:
        return Line(shape, members)

    def _came(self, claim: PlannedClaim, number: int, before: Shape | None) -> None:
        self._turn += 1
        claim.rank = (len(claim.pods), number if before is None else -self._turn)

    def _place(self, lot: Lot, rung: Rung) -> bool:
        tops = [(entry, line) for line in self._lines_for(rung) if (entry := self._first(line, rung)) is not None]
        while tops:
            best = min(range(len(tops)), key=lambda index: tops[index][0])
            (_rank, number), line = tops[best]
            fit = self.claims[number].fit(lot.pod_class, rung.options(line.shape), by_size=False)
            if fit is not None:
                self._take(number, lot, fit, rung)
                return True
            self._set_aside(line)
            entry = self._first(line, rung)
            if entry is None:
                tops.pop(best)
            else:
                tops[best] = (entry, line)
        return False
