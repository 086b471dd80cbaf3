"""Weather drawn from a seed, for those who try many: each kind of thing is in some forecasts and not in others."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from karpy import labels
from karpy.sim.region.mishaps import Hazard, Mishap, MishapKind, Stray
from karpy.sim.region.notices import Delivery
from karpy.sim.region.prices import PriceChange, PriceWalk
from karpy.sim.region.quotas import Quota
from karpy.sim.region.shortages import Shortage
from karpy.sim.region.throttles import ARM_LIMITS, EC2_LIMITS, Throttle
from karpy.sim.region.troubles import Trouble, TroubleKind
from karpy.sim.region.where import Where
from karpy.sim.weather import Weather

__all__ = ["forecast"]

_ODDS = 0.4
"""How likely a forecast is to have a kind of thing."""


def forecast(
    seed: int | str, lasts_s: float = 600.0, *, zones: Sequence[str] = (), instance_types: Sequence[str] = ()
) -> Weather:
    """Some weather that ends after ``lasts_s`` seconds. ``zones`` and ``instance_types`` are names or patterns of this cloud's.

    >>> forecast(7) == forecast(7)
    True
    """
    drawn: dict[str, Any] = {}
    for name, draw in _DRAWS.items():
        # Each kind has dice of its own, so that a new one leaves the forecasts of the others as they are.
        dice = random.Random(f"forecast/{seed}/{name}")
        if dice.random() < _ODDS:
            drawn[name] = draw(_Sky(dice, lasts_s, tuple(zones), tuple(instance_types)))
    return Weather(lasts_s=lasts_s, **drawn)


class _Sky:
    """What draws are made from."""

    def __init__(
        self, dice: random.Random, lasts_s: float, zones: Sequence[str], instance_types: Sequence[str]
    ) -> None:
        self.dice = dice
        self._lasts_s = lasts_s
        self._zones = zones
        self._instance_types = instance_types

    def time(self) -> float:
        return round(self.dice.uniform(0, self._lasts_s), 1)

    def between(self, least: float, most: float) -> float:
        return round(self.dice.uniform(least, most), 3)

    def some(self, draw: Callable[[], Any], most: int) -> tuple[Any, ...]:
        return tuple(draw() for _ in range(self.dice.randint(1, most)))

    def where(self) -> Where:
        """Any of the words may be left out."""
        return Where(
            self.dice.choice(("", "", *self._instance_types)),
            self.dice.choice(("", *self._zones)),
            self.dice.choice(("", labels.SPOT, labels.ON_DEMAND)),
        )


def _shortages(sky: _Sky) -> tuple[Shortage, ...]:
    def one() -> Shortage:
        return Shortage(
            sky.where(),
            from_s=sky.time(),
            period_s=sky.dice.choice((0.0, 120.0, 300.0, 600.0)),
            duty=sky.between(0.2, 0.8),
        )

    return sky.some(one, 3)


def _price_walk(sky: _Sky) -> PriceWalk:
    return PriceWalk(swing=sky.between(0.1, 1.0), every_s=60.0, returns_s=1800.0, listed_every_s=300.0)


def _price_changes(sky: _Sky) -> tuple[PriceChange, ...]:
    return sky.some(lambda: PriceChange(sky.time(), sky.dice.choice((None, 0.0, 0.5, 2.0, 10.0)), sky.where()), 3)


def _quotas(sky: _Sky) -> tuple[Quota, ...]:
    def one() -> Quota:
        if sky.dice.random() < 0.5:
            return Quota(sky.where(), vcpus=sky.dice.choice((8, 32, 64, 256)))
        return Quota(machines=sky.dice.randint(3, 30))

    return sky.some(one, 2)


def _throttles(sky: _Sky) -> tuple[Throttle, ...]:
    tight = (Throttle(("create",), 2, 0.2, sky.dice.random() < 0.5), Throttle(("get", "list"), 5, 0.5))
    return sky.dice.choice((EC2_LIMITS, ARM_LIMITS, tight))


def _troubles(sky: _Sky) -> tuple[Trouble, ...]:
    kinds = sky.dice.sample(list(TroubleKind), k=sky.dice.randint(1, 3))
    return tuple(Trouble(kind, share=sky.between(0.02, 0.3)) for kind in kinds)


def _mishaps(sky: _Sky) -> tuple[Mishap, ...]:
    def one() -> Mishap:
        return Mishap(sky.dice.choice(list(MishapKind)), sky.time(), sky.dice.randint(0, 8))

    return sky.some(one, 4)


def _hazards(sky: _Sky) -> tuple[Hazard, ...]:
    kinds = sky.dice.sample(list(MishapKind), k=sky.dice.randint(1, 2))
    return tuple(Hazard(kind, sky.between(0.1, 3.0)) for kind in kinds)


def _strays(sky: _Sky) -> tuple[Stray, ...]:
    return sky.some(lambda: Stray(sky.time(), is_ours=sky.dice.random() < 0.7), 2)


def _delivery(sky: _Sky) -> Delivery:
    late = sky.between(0.0, 60.0)
    return Delivery((0.0, late), sky.between(0.0, 0.3), sky.between(0.0, 0.3), sky.between(0.0, 60.0))


def _read_lag_s(sky: _Sky) -> tuple[float, float]:
    return (0.0, sky.between(1.0, 15.0))


_DRAWS: dict[str, Callable[[_Sky], Any]] = {
    "shortages": _shortages,
    "price_walk": _price_walk,
    "price_changes": _price_changes,
    "quotas": _quotas,
    "throttles": _throttles,
    "tries": lambda sky: sky.dice.randint(1, 10),
    "troubles": _troubles,
    "mishaps": _mishaps,
    "hazards": _hazards,
    "strays": _strays,
    "delivery": _delivery,
    "read_lag_s": _read_lag_s,
}
