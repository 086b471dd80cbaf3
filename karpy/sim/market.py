"""What the simulated cloud sells at this moment: catalogs with today's prices, what is sold out, and what is known to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, Price, current_price
from karpy.sim.where import OfferingKey

__all__ = ["Market"]

REMEMBERED_S = 180.0
"""How long a refusal keeps an offering marked unavailable."""


class Market:
    """Catalogs by model name, each read when it is first asked for.

    The catalog of a model stays the same object until something in it changes.
    """

    def __init__(self, catalogs: Mapping[str, Callable[[], InstanceTypes]]) -> None:
        self._read = dict(catalogs)
        self._today: dict[str, InstanceTypes] = {}
        self._stale: set[str] = set()
        self._sold_out: set[OfferingKey] = set()
        self._known_short: dict[OfferingKey, float] = {}
        self._prices: dict[OfferingKey, Price] = {}

    def catalog(self, model: str, now: float) -> InstanceTypes:
        """What ``model`` sells, with prices and availability as far as they are known."""
        self._forget_shortages(now)
        if model in self._stale:
            self._stale.discard(model)
            self._today[model] = InstanceTypes(self._revised(each) for each in self._read[model]())
        elif model not in self._today:
            self._today[model] = self._read[model]()
        return self._today[model]

    def is_in_stock(self, key: OfferingKey) -> bool:
        name, zone, capacity_type = key
        return not any(
            short_name in ("", name) and short_zone in ("", zone) and short_type in ("", capacity_type)
            for short_name, short_zone, short_type in self._sold_out
        )

    def price(self, model: str, key: OfferingKey) -> Price:
        """What the cloud charges for an offering, whatever others hold it to be worth; 0 when it sells no such thing."""
        if key in self._prices:
            return self._prices[key]
        name, zone, capacity_type = key
        listed = self._read[model]().by_name(name)
        return (current_price(listed, zone, capacity_type) if listed is not None else None) or 0.0

    def sell_out(self, key: OfferingKey) -> None:
        """Empty words in ``key`` stand for all."""
        self._sold_out.add(key)

    def restock(self, key: OfferingKey) -> None:
        self._sold_out.discard(key)

    def remember_shortage(self, key: OfferingKey, now: float) -> None:
        """A launch was refused: the offering is shown as unavailable for a while."""
        if key not in self._known_short:
            self._stale.update(self._read)
        self._known_short.pop(key, None)
        self._known_short[key] = now + REMEMBERED_S

    def set_price(self, key: OfferingKey, price: Price) -> None:
        self._prices[key] = price
        self._stale.update(self._read)

    def _forget_shortages(self, now: float) -> None:
        while self._known_short:
            key, until = next(iter(self._known_short.items()))
            if until > now:
                return
            del self._known_short[key]
            self._stale.update(self._read)

    def _revised(self, listed: InstanceType) -> InstanceType:
        offerings = tuple(self._revised_offering(listed.name, each) for each in listed.offerings)
        same = all(new is old for new, old in zip(offerings, listed.offerings, strict=True))
        return listed if same else attrs.evolve(listed, offerings=offerings)

    def _revised_offering(self, name: str, listed: Offering) -> Offering:
        key = (name, listed.zone, listed.capacity_type)
        price = self._prices.get(key, listed.price)
        available = listed.available and key not in self._known_short
        if price == listed.price and available == listed.available:
            return listed
        return attrs.evolve(listed, price=price, available=available)
