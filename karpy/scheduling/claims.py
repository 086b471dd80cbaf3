"""New machines on paper: `PlannedClaim`s that grow while pods are put on them.

They are scratch objects of one solve. Requirements only narrow and requests only grow, so a planned claim that once refused
a class of pods refuses it for the rest of the solve.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from karpy import labels
from karpy.cloud.instancetype import Price
from karpy.objects.pod import Pod
from karpy.requirements import Requirements
from karpy.resources import NODES, Resources
from karpy.scheduling.classes import PodClass
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.lots import Lot
from karpy.scheduling.ports import HostPort
from karpy.scheduling.reservations import Reservations
from karpy.scheduling.templates import Shape

if TYPE_CHECKING:
    from karpy.scheduling.rungs import Options

__all__ = ["Fit", "PlannedClaim"]


class Fit(NamedTuple):
    """What a claim would be with one more pod on it."""

    shape: Shape
    mask: int
    amounts: dict[str, int]

    @property
    def price(self) -> Price:
        return self.shape.order.first(self.mask)[0].price


class PlannedClaim:
    """A machine that will be launched, as the union of what may still become of it.

    ``rank`` is the packing's: when it is tried. ``mask`` may still have types that are full meanwhile; `settle` takes them out.
    """

    __slots__ = (
        "amounts",
        "asked",
        "is_settled",
        "is_trial",
        "mask",
        "pods",
        "ports",
        "price",
        "rank",
        "reservations",
        "room",
        "shape",
        "spare",
    )

    def __init__(self, shape: Shape, mask: int, reservations: Reservations | None = None) -> None:
        self.ports: tuple[HostPort, ...] = ()
        self.shape = shape
        self.mask = mask
        self.reservations = reservations
        self.is_settled = True
        self.is_trial = False
        """A copy: what it would reserve is not taken from others."""
        self.amounts: dict[str, int] = {}
        self.asked = Requirements()
        """The capacity type that pods asked for, where the machine is reserved."""
        self.pods: list[Pod] = []
        self.rank: tuple[float, int] = (0, 0)
        self.price: Price = 0.0
        self.room: dict[str, int] = {}
        """What the cheapest type has left, once `appraise` was called."""
        self.spare = -1
        """The packing's: how much that is."""

    def copy(self) -> PlannedClaim:
        """The same machine, to be tried out."""
        other = PlannedClaim.__new__(PlannedClaim)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other.amounts, other.pods, other.room = dict(self.amounts), list(self.pods), dict(self.room)
        other.is_trial = True
        return other

    def fit(self, pod_class: PodClass, options: Options, *, by_size: bool = True) -> Fit | None:
        """What this becomes with such a pod, or None when there is no room.

        Of the best options for which some instance type still holds everything the cheapest; or, not ``by_size``, the one that
        is cheapest for small machines.
        """
        held = self.amounts
        grown = dict(held)
        for name, amount in pod_class.amounts:
            grown[name] = held.get(name, 0) + amount
        names = pod_class.names if self.is_settled else grown
        for alike in options:
            fits = [
                Fit(shape, mask, grown) for shape in alike if (mask := self._holding(shape, pod_class, grown, names))
            ]
            if fits:
                return fits[0] if len(fits) == 1 else min(fits, key=lambda f: f.price if by_size else f.shape.price)
        return None

    def _holding(self, shape: Shape, pod_class: PodClass, grown: Mapping[str, int], names: Iterable[str]) -> int:
        template = shape.template
        allowed = self.mask & shape.mask
        wanted = pod_class.constraints.ports
        if wanted:
            allowed &= template.leaving_free(wanted)
        if shape.reserved and self.reservations is not None:
            # What a copy holds is what the machine holds that it is a copy of.
            allowed &= -1 if self.is_trial else self.reservations.reach(self, shape.reserved)
        mask = template.fitting(allowed, grown, names)
        if not mask or not shape.min_values:
            return mask
        differing = mask
        if shape.reserved:
            asked = self.asked & _capacity_type(pod_class.constraints)
            differing = template.fitting(shape.unreserved(asked), grown, grown)
        return 0 if self._too_uniform(shape, differing) else mask

    def take(self, lot: Lot, fit: Fit) -> None:
        """Put the next of the lot here."""
        constraints = lot.pod_class.constraints
        self.shape, self.mask, self.amounts = fit.shape, fit.mask, fit.amounts
        self.is_settled = True
        self.pods += lot.take()
        self.ports += constraints.ports
        if fit.shape.reserved and self.reservations is not None:
            self.asked &= _capacity_type(constraints)
            if not self.is_trial:
                self.reservations.hold_one(self, fit.shape.reserved, fit.mask)

    def appraise(self) -> None:
        """Work out what the cheapest type costs, and what it has left."""
        priced, bit = self.shape.order.first(self.mask)
        self.price = priced.price
        held = self.amounts
        self.room = {name: amount - held.get(name, 0) for name, amount in self.shape.template.room(bit).items()}

    def squeeze(self, lot: Lot, most: int) -> int:
        """Put the next of the lot, up to ``most`` of them, into what the cheapest type has left: neither shape nor price
        change. Returns how many there was room for."""
        room, held, amounts = self.room, self.amounts, lot.pod_class.amounts
        count = most
        for name, amount in amounts:
            if room.get(name, 0) < count * amount:
                count = room.get(name, 0) // amount
        if count <= 0:
            return 0
        for name, amount in amounts:
            room[name] -= count * amount
            held[name] = held.get(name, 0) + count * amount
        self.is_settled = False
        self.pods += lot.take(count)
        return count

    def settle(self) -> None:
        """Take the types out of the mask that are too small by now."""
        if not self.is_settled:
            self.mask = self.shape.template.fitting(self.mask, self.amounts, self.amounts)
            self.is_settled = True

    def _too_uniform(self, shape: Shape, mask: int) -> bool:
        """Whether ``minValues`` refuses a pod. As best effort it gives way for the first pod, and later keeps what it has."""
        if self.pods and not shape.template.strict_min_values:
            found = shape.template.columns
            return any(
                found.different_values(key, mask) < min(least, found.different_values(key, self.mask))
                for key, least in shape.min_values
            )
        return shape.template.strict_min_values and shape.too_uniform(mask)

    def largest_capacity(self, names: Iterable[str]) -> Resources:
        """The most that this machine may turn out to count against a pool's limits."""
        found = self.shape.template.columns
        return Resources({name: 1 if name == NODES else found.largest(name, self.mask) for name in names})


def _capacity_type(constraints: Constraints) -> Requirements:
    wanted = constraints.requirements.get(labels.CAPACITY_TYPE)
    return Requirements(() if wanted is None else (wanted,))
