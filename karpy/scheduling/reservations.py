"""Reserved capacity: what is paid for already, of which there is only so much (core specification 3.11).

A machine that takes a reservation is planned as such from its first pod on, and holds one unit of one reservation while it is
packed. So what is held is known exactly: no reservation is promised twice, none is held in vain, and pods for which nothing is
left go to other capacity in the same pass. (Karpenter's machine holds a unit of every reservation that it could use until the pass
ends, and the pods that come after it wait for another pass.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from karpy import labels
from karpy.requirements import Requirement, Requirements
from karpy.scheduling.instances import TypeColumns
from karpy.scheduling.offers import ReservedOffering

__all__ = ["NOT_RESERVED", "RESERVED", "Reservations", "is_reserved"]

RESERVED = Requirements((Requirement.in_(labels.CAPACITY_TYPE, labels.RESERVED),))
NOT_RESERVED = Requirements((Requirement.not_in(labels.CAPACITY_TYPE, labels.RESERVED),))


def is_reserved(requirements: Requirements) -> bool:
    """Whether such a machine can be nothing but reserved capacity."""
    return requirements.get(labels.CAPACITY_TYPE) == RESERVED[labels.CAPACITY_TYPE]


class Reservations:
    """How many units are left of each reservation, and who holds which. Scratch of one solve.

    A holder has at most one unit of a reservation. To ask for a reservation that is not known, or for more than there is, is a
    fault of the program: KeyError and ValueError.
    """

    def __init__(self, units: Iterable[tuple[str, int]] = ()) -> None:
        self._left: dict[str, int] = {}
        for name, count in units:  # the same one may be on offer in several places; the least that is said of it counts
            self._left[name] = min(count, self._left.get(name, count))
        self._held: dict[Hashable, dict[str, None]] = {}
        self.version = 0
        """Grows with every change."""

    @classmethod
    def of(cls, catalogs: Iterable[TypeColumns]) -> Reservations | None:
        """The reservations of these catalogs; None when there are none."""
        offerings = [offering for each in catalogs for offering in each.reserved_offerings]
        return cls((offering.reservation, offering.units) for offering in offerings) if offerings else None

    def knows(self, reservation: str) -> bool:
        return reservation in self._left

    def left(self, reservation: str) -> int:
        return self._left[reservation]

    def held_by(self, holder: Hashable) -> tuple[str, ...]:
        """The reservations that it has a unit of, in the order in which it got them."""
        return tuple(self._held.get(holder, ()))

    def can_reserve(self, holder: Hashable, reservation: str) -> bool:
        """Whether there is a unit for this holder, or it has one."""
        return self._left[reservation] > 0 or reservation in self._held.get(holder, ())

    def reserve(self, holder: Hashable, *reservations: str) -> None:
        """A unit of each for this holder; what it has already it keeps."""
        held = self._held.setdefault(holder, {})
        for name in reservations:
            if name in held:
                continue
            if self._left[name] <= 0:
                raise ValueError(f"reservation {name!r} has no unit left")
            self._left[name] -= 1
            held[name] = None
            self.version += 1

    def release(self, holder: Hashable, *reservations: str) -> None:
        """Give units back. What the holder does not have is no concern."""
        held = self._held.get(holder, {})
        for name in reservations:
            if name in held:
                del held[name]
                self._left[name] += 1
                self.version += 1

    # For machines

    def reach(self, holder: Hashable, offerings: Iterable[ReservedOffering]) -> int:
        """The types, as a mask, that one of ``offerings`` has for this holder."""
        mask = 0
        for offering in offerings:
            if self.can_reserve(holder, offering.reservation):
                mask |= offering.bit
        return mask

    def hold_one(self, holder: Hashable, offerings: Iterable[ReservedOffering], mask: int) -> None:
        """Let it have one unit: of the first of ``offerings`` that is for a type of ``mask``, and nothing else."""
        best = next(o.reservation for o in offerings if o.bit & mask and self.can_reserve(holder, o.reservation))
        self.release(holder, *(name for name in self.held_by(holder) if name != best))
        self.reserve(holder, best)

    def hold_more(self, holder: Hashable, offerings: Iterable[ReservedOffering], mask: int) -> None:
        """Let it also have a unit of everything else that would do and that nobody has taken."""
        for offering in offerings:
            if offering.bit & mask and self.can_reserve(holder, offering.reservation):
                self.reserve(holder, offering.reservation)
