"""Planned claims in the order of `Packing.THRIFTY` and `Packing.FRUGAL`: first room that is paid for, then where one more pod costs
the least.

A machine is priced as its cheapest type; what that type has left over is spare. Spare room is sorted into bins by how much it is,
so that the tightest room which holds a pod is found at once. Only a pod that fits no spare room makes a machine grow into a dearer
type, and of the cheapest few the one that gets dearer by the least does.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Iterator

from karpy.cloud.instancetype import Price
from karpy.resources import Resources
from karpy.scheduling.claims import Fit, PlannedClaim
from karpy.scheduling.classes import PodClass
from karpy.scheduling.lots import Lot
from karpy.scheduling.openclaims import Entry, Line, OpenClaims
from karpy.scheduling.ports import clash
from karpy.scheduling.rungs import Rung
from karpy.scheduling.spare import Sizes
from karpy.scheduling.templates import Shape

__all__ = ["ThriftyClaims"]

_LOOKED_AT = 4
"""How many of the cheapest machines are asked what one more pod would cost."""

_FAIR_GROWTH = 4
"""A machine may grow until it costs so many times what the pods on it would cost where each resource is cheapest. Types that
double from one to the next stay below two; what is above is another kind of machine altogether."""

_SAME_PRICE = 1 + 1e-9

_TRIES = 3
"""How many machines of one shape may turn out to get dearer when a pod narrows them down, before the others are not asked."""


class _SparingLine(Line):
    """Also knows which claims have room that is paid for. An entry may be out of date: it is put right when it comes up."""

    __slots__ = ("bins", "bins_aside", "failures", "filled", "noticed", "sparing")

    def __init__(self, shape: Shape, members: list[int], sparing: list[int]) -> None:
        super().__init__(shape, members)
        self.sparing = sparing
        """Numbers of the claims of the shape that got more room, in the order in which they did."""
        self.bins: dict[int, list[int]] = {}
        self.filled = 0
        """The bins that have an entry, as a mask."""
        self.noticed = 0
        """How much of ``sparing`` was taken in."""
        self.bins_aside: list[tuple[int, int]] = []
        self.failures = 0
        """How many had no room for a pod of the class at hand after all."""

    def put(self, bin_number: int, number: int) -> None:
        self.bins.setdefault(bin_number, []).append(number)
        self.filled |= 1 << bin_number

    def drop(self, bin_number: int) -> None:
        """Take out the entry that is on top of a bin."""
        entries = self.bins[bin_number]
        entries.pop()
        if not entries:
            self.filled &= ~(1 << bin_number)

    def restore(self) -> None:
        super().restore()
        for bin_number, number in self.bins_aside:
            self.put(bin_number, number)
        self.bins_aside.clear()
        self.failures = 0


class ThriftyClaims(OpenClaims[_SparingLine]):
    """``sizes`` sort spare room by the sizes of the pods that are waited for: they are asked for once there is any. ``alone`` says
    what the next of a lot cost on a machine of their own (infinitely much where they get none); without it a machine grows
    whatever it costs."""

    def __init__(
        self, well_known: frozenset[str], sizes: Callable[[], Sizes], alone: Callable[[Lot, Rung], Price] | None = None
    ) -> None:
        super().__init__(well_known)
        self._find_sizes = sizes
        self._alone = alone
        self._sparing: dict[Shape, list[int]] = {}
        self._requests: Resources | None = None
        """What a pod of the class at hand asks for."""
        self._enough: int | None = None
        """The bins whose entries hold such a pod, as a mask; None before that is known."""

    @functools.cached_property
    def _sizes(self) -> Sizes:
        return self._find_sizes()

    def _new_line(self, shape: Shape, members: list[int]) -> _SparingLine:
        return _SparingLine(shape, members, self._sparing.setdefault(shape, []))

    def begin(self, pod_class: PodClass) -> None:
        super().begin(pod_class)
        self._requests, self._enough = pod_class.requests, None

    def _came(self, claim: PlannedClaim, number: int, before: Shape | None) -> None:  # noqa: ARG002
        claim.appraise()
        claim.rank = (claim.price, number)
        claim.spare = self._sizes.bin(claim.room)
        if claim.spare >= 0:
            self._sparing.setdefault(claim.shape, []).append(number)

    def _place(self, lot: Lot, rung: Rung) -> bool:
        lines = self._lines_for(rung)
        return self._into_spare_room(lot, rung, lines) or self._by_growing(lot, rung, lines)

    # Room that is paid for

    def _into_spare_room(self, lot: Lot, rung: Rung, lines: list[_SparingLine]) -> bool:
        enough = self._enough
        if enough is None:
            enough = self._enough = self._sizes.enough(self._requests or {})
        while True:
            tightest, where = 0, None
            for line in lines:
                if line.noticed < len(line.sparing):
                    self._notice(line)
                fitting = line.filled & enough
                if fitting and line.failures < _TRIES:
                    lowest = fitting & -fitting
                    if where is None or lowest < tightest:
                        tightest, where = lowest, line
            if where is None:
                return False
            if self._squeezed(tightest.bit_length() - 1, where, lot, rung):
                return True

    def _notice(self, line: _SparingLine) -> None:
        """Take in claims of the shape that got room since the line was last used."""
        for number in line.sparing[line.noticed :]:
            claim = self.claims[number]
            if claim.shape is line.shape and claim.spare >= 0:
                line.put(claim.spare, number)
        line.noticed = len(line.sparing)

    def _squeezed(self, bin_number: int, line: _SparingLine, lot: Lot, rung: Rung) -> bool:
        """Put the next of the lot on the claim on top of a bin, if that entry is up to date and it costs nothing there."""
        number = line.bins[bin_number][-1]
        claim = self.claims[number]
        if claim.shape is not line.shape or claim.spare != bin_number:
            line.drop(bin_number)
            if claim.shape is line.shape and claim.spare >= 0:
                line.put(claim.spare, number)
            return False
        ports = rung.constraints.ports
        if not rung.allows_host(number) or (ports and clash(ports, claim.ports)):
            line.drop(bin_number)  # for good: what is on a claim stays on it
            return False
        if self._take_for_nothing(claim, number, lot, rung):
            return True
        if not line.set_aside and not line.bins_aside:
            self._with_set_aside.append(line)
        line.bins_aside.append((bin_number, number))
        line.failures += 1
        line.drop(bin_number)
        return False

    def _take_for_nothing(self, claim: PlannedClaim, number: int, lot: Lot, rung: Rung) -> bool:
        shape = claim.shape
        options = rung.options(shape)
        if shape in options[0] and not (shape.min_values or shape.reserved or rung.constraints.ports):
            count = claim.squeeze(lot, len(lot) // lot.unit if rung.is_uncounted else 1)
            if not count:
                return False
            claim.spare = self._sizes.bin(claim.room)
            if not rung.is_uncounted:
                left_open = rung.record_claim(number, shape, self._well_known, count * lot.unit)
                if left_open:
                    self._ledger.note(number, left_open, count * lot.unit)
            return True
        claim.settle()
        fit = claim.fit(lot.pod_class, options)
        if fit is None or fit.price > claim.price * _SAME_PRICE:
            return False
        self._take(number, lot, fit, rung)
        return True

    # Growth

    def _by_growing(self, lot: Lot, rung: Rung, lines: list[_SparingLine]) -> bool:
        best: tuple[float, float, int, Fit] | None = None
        seen: list[tuple[_SparingLine, Entry]] = []
        for line, entry, fit in self._cheapest_with_room(lot.pod_class, rung, lines):
            number = entry[1]
            seen.append((line, entry))
            price = fit.price
            added = price - self.claims[number].price
            if best is None or (added, price, number) < best[:3]:
                best = (added, price, number, fit)
            if len(seen) == _LOOKED_AT:
                break
        for line, entry in seen:
            heapq.heappush(line.heap, entry)
        if best is None or self._is_too_dear(best[0], best[3], lot, rung):
            return False
        self._take(best[2], lot, best[3], rung)
        return True

    def _is_too_dear(self, added: Price, fit: Fit, lot: Lot, rung: Rung) -> bool:
        """Whether a machine would become one that costs many times what is on it, and one of their own costs the pods less."""
        if self._alone is None or fit.price <= _FAIR_GROWTH * fit.shape.worth(fit.amounts):
            return False
        return self._alone(lot, rung) < added

    def _cheapest_with_room(
        self, pod_class: PodClass, rung: Rung, lines: list[_SparingLine]
    ) -> Iterator[tuple[_SparingLine, Entry, Fit]]:
        """Claims that some type makes large enough, the cheapest first. What is given out is out of its line."""
        tops = [(entry, line) for line in lines if (entry := self._first(line, rung)) is not None]
        while tops:
            best = min(range(len(tops)), key=lambda index: tops[index][0])
            entry, line = tops[best]
            claim = self.claims[entry[1]]
            claim.settle()
            fit = claim.fit(pod_class, rung.options(line.shape))
            if fit is None:
                self._set_aside(line)
            else:
                heapq.heappop(line.heap)
                yield line, entry, fit
            following = self._first(line, rung)
            if following is None:
                tops.pop(best)
            else:
                tops[best] = (following, line)
