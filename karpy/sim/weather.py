"""`Weather`: everything that a cloud can do to its customers in one run, as one value.

It says by plan ("machine 3 is interrupted after 300 s") and by chance ("one launch in twenty fails"), and with a seed it says the
same each time. A fuzzer draws one, prints it as one line of Python, and makes it simpler until the failure is gone. All times are
seconds since the cloud began. Nothing in it is random: what is left to chance is drawn from the cloud's seed.

>>> Weather(shortages=(Shortage(Where(zone="sim-1a"), period_s=600.0),), hazards=(Hazard("interruption", per_hour=0.1),))
Weather(shortages=(Shortage(where=Where(zone='sim-1a'), period_s=600.0),), hazards=(Hazard(kind='interruption', per_hour=0.1),))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from karpy.sim.region.mishaps import Hazard, Mishap, MishapKind, Stray
from karpy.sim.region.notices import Delivery
from karpy.sim.region.prices import PriceChange, PriceWalk
from karpy.sim.region.quotas import Quota
from karpy.sim.region.shortages import Shortage
from karpy.sim.region.terse import Span, Terse, amount, at_least_one, span, unusual
from karpy.sim.region.throttles import ARM_LIMITS, EC2_LIMITS, CloudCall, Throttle
from karpy.sim.region.troubles import Trouble, TroubleKind
from karpy.sim.region.where import Where

__all__ = [
    "ARM_LIMITS",
    "EC2_LIMITS",
    "CloudCall",
    "Delivery",
    "Hazard",
    "Mishap",
    "MishapKind",
    "PriceChange",
    "PriceWalk",
    "Quota",
    "Shortage",
    "Stray",
    "Throttle",
    "Trouble",
    "TroubleKind",
    "Weather",
    "Where",
]


@attrs.frozen(kw_only=True, repr=False)
class Weather(Terse):
    """Everything is off by default."""

    shortages: tuple[Shortage, ...] = ()
    price_walk: PriceWalk | None = None
    price_changes: tuple[PriceChange, ...] = ()
    quotas: tuple[Quota, ...] = ()
    throttles: tuple[Throttle, ...] = ()
    tries: int | None = attrs.field(default=None, validator=attrs.validators.optional(at_least_one))
    """How many offerings a launch tries before it gives up, as a fleet does; None: all that the claim allows."""
    troubles: tuple[Trouble, ...] = ()
    mishaps: tuple[Mishap, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    strays: tuple[Stray, ...] = ()
    delivery: Delivery = Delivery()
    read_lag_s: Span = attrs.field(default=(0.0, 0.0), validator=span)
    """How old is what ``get`` and ``list`` tell of a machine; drawn for each machine."""
    lasts_s: float | None = attrs.field(default=None, validator=attrs.validators.optional(amount))
    """From when on it is calm; None: never. What has been announced still comes, and prices keep moving."""

    @classmethod
    def calm(cls) -> Weather:
        """Nothing ever happens."""
        return cls()

    @property
    def is_calm(self) -> bool:
        """Whether nothing is in it, however long it lasts."""
        return not self._groups

    def simpler(self) -> Iterator[Weather]:
        """Every weather with one thing less, the largest steps first: without a whole group, then without one of its members,
        at last with all of it for half as long."""
        groups = self._groups
        calm = Weather()
        for name in groups:
            yield self._with(name, getattr(calm, name))
        for name in groups:
            members = getattr(self, name)
            if name == "read_lag_s" or not isinstance(members, tuple) or len(members) == 1:
                continue
            for index in range(len(members)):
                yield self._with(name, members[:index] + members[index + 1 :])
        if groups and self.lasts_s is not None and self.lasts_s >= 2:
            yield self._with("lasts_s", float(self.lasts_s // 2))

    @property
    def _groups(self) -> list[str]:
        return [name for name in unusual(self) if name != "lasts_s"]

    def _with(self, name: str, value: Any) -> Weather:
        changes: dict[str, Any] = {name: value}
        return attrs.evolve(self, **changes)
