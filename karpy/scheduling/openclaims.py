"""Claims planned in this solve, in the order of a packing, found without looking at all.

`Packing.KARPENTER` tries the claim with the fewest pods first, of several the one that grew last: machines fill evenly.
`Packing.FULLEST` tries the one with the most: what can be together is together on few large machines, where little is lost to
rounding, and machines that pods need for themselves alone stay small.

For each rung and each shape there is a heap of claims by rank. A claim that grew, or that changed its shape,
is put right when it comes up. A claim that refuses a pod for its host stays refused for the rung; one that has no room is set
aside until a class of another size comes.
"""

from __future__ import annotations

import enum
import heapq

from karpy.objects.pod import Pod
from karpy.scheduling.claims import PlannedClaim, Shape
from karpy.scheduling.classes import PodClass
from karpy.scheduling.ports import clash
from karpy.scheduling.rungs import Rung, hosts_of

__all__ = ["OpenClaims", "Packing"]


class Packing(enum.Enum):
    """Which planned machine is tried first."""

    KARPENTER = "karpenter"
    FULLEST = "fullest"


_Entry = tuple[tuple[int, int], int]
"""(rank when it was put here, number of the claim)"""


class _Queue:
    """The claims of one shape, for one rung."""

    __slots__ = ("heap", "seen", "set_aside")

    def __init__(self) -> None:
        self.heap: list[_Entry] = []
        self.seen = 0
        self.set_aside: list[_Entry] = []


class OpenClaims:
    """All claims of one solve."""

    def __init__(self, well_known: frozenset[str], packing: Packing) -> None:
        self._packing = packing
        self.claims: list[PlannedClaim] = []
        self._well_known = well_known
        self._members: dict[Shape, list[int]] = {}
        self._queues: dict[Rung, dict[Shape, _Queue]] = {}
        self._with_set_aside: list[_Queue] = []
        self._turn = 0

    def begin(self) -> None:
        """A class of another size comes: claims that had no room are asked again."""
        for queue in self._with_set_aside:
            for entry in queue.set_aside:
                heapq.heappush(queue.heap, entry)
            queue.set_aside.clear()
        self._with_set_aside.clear()

    def open(self, claim: PlannedClaim, rung: Rung) -> None:
        """A new claim, with its first pod on it."""
        number = len(self.claims)
        claim.rank = self._rank(claim, number)
        self.claims.append(claim)
        self._members.setdefault(claim.shape, []).append(number)
        rung.record_claim(number, claim.shape, self._well_known)

    def place(self, pod: Pod, pod_class: PodClass, rung: Rung) -> bool:
        """Put the pod on the claim that the packing tries first, of those that can take it."""
        if not self.claims:
            return False
        if rung.host_affinities and hosts_of(rung.host_affinities):
            return self._beside_others(pod, pod_class, rung)
        queues = self._queues.setdefault(rung, {})
        tops: list[tuple[_Entry, Shape, _Queue, tuple[Shape, ...]]] = []
        for shape, members in self._members.items():
            options = rung.options(shape)
            if options:
                queue = queues.get(shape)
                if queue is None:
                    queue = queues[shape] = _Queue()
                self._catch_up(queue, members)
                top = self._top(queue, shape)
                if top is not None:
                    tops.append((top, shape, queue, options))
        while tops:
            best = min(range(len(tops)), key=lambda index: tops[index][0])
            entry, shape, queue, options = tops[best]
            if self._try(entry, shape, queue, options, pod, pod_class, rung):
                return True
            top = self._top(queue, shape)
            if top is None:
                tops.pop(best)
            else:
                tops[best] = (top, shape, queue, options)
        return False

    def _catch_up(self, queue: _Queue, members: list[int]) -> None:
        """Take in claims that came to the shape since the queue was last used."""
        for number in members[queue.seen :]:
            heapq.heappush(queue.heap, (self.claims[number].rank, number))
        queue.seen = len(members)

    def _top(self, queue: _Queue, shape: Shape) -> _Entry | None:
        """The entry that really is first, or None when no claim is left."""
        heap = queue.heap
        while heap:
            rank, number = heap[0]
            claim = self.claims[number]
            if claim.shape is not shape:
                heapq.heappop(heap)
            elif claim.rank != rank:
                heapq.heapreplace(heap, (claim.rank, number))
            else:
                return heap[0]
        return None

    def _try(
        self,
        entry: _Entry,
        shape: Shape,
        queue: _Queue,
        options: tuple[Shape, ...],
        pod: Pod,
        pod_class: PodClass,
        rung: Rung,
    ) -> bool:
        number = entry[1]
        claim = self.claims[number]
        ports = rung.constraints.ports
        if not rung.allows_host(number) or (ports and clash(ports, claim.ports)):
            heapq.heappop(queue.heap)  # for good: what is on a claim stays on it
            return False
        if not claim.add(pod, pod_class, options):
            if not queue.set_aside:
                self._with_set_aside.append(queue)
            queue.set_aside.append(heapq.heappop(queue.heap))
            return False
        self._grew(claim, number, shape, rung)
        return True

    def _grew(self, claim: PlannedClaim, number: int, before: Shape, rung: Rung) -> None:
        """A pod came onto the claim: its rank falls, and it is listed under the shape that it has now."""
        self._turn += 1
        claim.rank = self._rank(claim, -self._turn)
        if claim.shape is not before:
            self._members.setdefault(claim.shape, []).append(number)
        rung.record_claim(number, claim.shape, self._well_known)

    def _rank(self, claim: PlannedClaim, tie: int) -> tuple[int, int]:
        """Lower comes first. A rank that an entry still has from before is put right when the entry comes up."""
        count = len(claim.pods)
        return (-count, 0) if self._packing is Packing.FULLEST else (count, tie)

    def _beside_others(self, pod: Pod, pod_class: PodClass, rung: Rung) -> bool:
        """Pods that want to be on the same host as others: only those hosts come into question."""
        planned = [host for host in hosts_of(rung.host_affinities) if isinstance(host, int)]
        for number in sorted(planned, key=lambda n: self.claims[n].rank):
            claim = self.claims[number]
            before = claim.shape
            if not rung.allows_host(number) or clash(rung.constraints.ports, claim.ports):
                continue
            if claim.add(pod, pod_class, rung.options(before)):
                self._grew(claim, number, before, rung)
                return True
        return False
