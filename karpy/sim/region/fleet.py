"""Buying one machine as a fleet does: offering by offering, the cheapest first, until one can be had."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from karpy.cloud.instancetype import InstanceType, Offering, offerings_for
from karpy.errors import InsufficientCapacity
from karpy.requirements import Requirements
from karpy.sim.region.where import OfferingKey, key_of

__all__ = ["NO_STOCK", "FleetAnswer", "Refusal", "order"]

NO_STOCK = "InsufficientInstanceCapacity"


@attrs.frozen
class Refusal:
    """An offering that was tried and could not be had, and the cloud's code for why."""

    key: OfferingKey
    offering: Offering
    code: str


@attrs.frozen
class FleetAnswer:
    """What came of one order: what was bought, if anything, and what was refused before."""

    claim: str
    offers: int
    """How many offerings the order allowed."""
    bought: tuple[InstanceType, Offering] | None
    refusals: tuple[Refusal, ...] = ()

    def error(self) -> InsufficientCapacity:
        """What a provider makes of an order that bought nothing."""
        tried = f"{len(self.refusals)} of {self.offers} offerings were tried"
        reasons = sorted({refusal.code for refusal in self.refusals} - {NO_STOCK})
        message = tried if self.offers else "no offering is compatible"
        if reasons:
            message += f" ({', '.join(reasons)})"
        return InsufficientCapacity(
            f"insufficient capacity: {message}", [refusal.offering for refusal in self.refusals]
        )


def order(
    claim: str,
    wanted: Requirements,
    choices: Sequence[InstanceType],
    refuses: Callable[[InstanceType, Offering], str],
    tries: int | None = None,
) -> FleetAnswer:
    """Try the offerings that ``wanted`` allows, at most ``tries`` of them. ``refuses`` says why one cannot be had."""
    offers = [
        (offering.sort_price, choice.name, offering.zone, offering.capacity_type, choice, offering)
        for choice in choices
        for offering in offerings_for(choice, wanted)
    ]
    refusals: list[Refusal] = []
    for *_, choice, offering in sorted(offers, key=lambda offer: offer[:4])[:tries]:
        code = refuses(choice, offering)
        if not code:
            return FleetAnswer(claim, len(offers), (choice, offering), tuple(refusals))
        refusals.append(Refusal(key_of(choice, offering), offering, code))
    return FleetAnswer(claim, len(offers), None, tuple(refusals))
