"""What the provider of the simulated cloud knows of what is sold: catalogs with prices, and what was found to be sold out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import attrs

from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, Price, current_price
from karpy.sim.region.prices import Prices
from karpy.sim.region.where import OfferingKey

__all__ = ["Market"]

REMEMBERED_S = 180.0
"""How long a refusal keeps an offering marked unavailable."""


@attrs.define(eq=False)
class _Listing:
    """The catalog of one model: as it was read, as it is today, and the names of types that have changed since."""

    read: Callable[[], InstanceTypes]
    today: InstanceTypes | None = None
    stale: set[str] = attrs.field(factory=set)
    era: tuple[int, int] | None = None


class Market:
    """Catalogs by model name, each read when it is first asked for. Times are seconds since the cloud began.

    The catalog of a model stays the same object until something in it changes, and a type in it until that changes.
    """

    def __init__(self, catalogs: Mapping[str, Callable[[], InstanceTypes]], prices: Prices | None = None) -> None:
        self._listings = {model: _Listing(read) for model, read in catalogs.items()}
        self._prices = prices or Prices()
        self._known_short: dict[OfferingKey, float] = {}

    def catalog(self, model: str, at_s: float) -> InstanceTypes:
        """What ``model`` sells, with prices and availability as far as they are known."""
        self._forget_shortages(at_s)
        listing = self._listings[model]
        today = listing.read() if listing.today is None else listing.today
        era = self._prices.era(at_s)
        if listing.stale or era != listing.era:
            changed = None if era != listing.era else listing.stale
            today = self._revised(listing.read(), today, changed, at_s)
            listing.stale, listing.era = set(), era
        listing.today = today
        return today

    def price(self, model: str, key: OfferingKey, at_s: float) -> Price:
        """What the cloud charges for an offering, whatever others hold it to be worth; 0 when it sells no such thing."""
        name, zone, capacity_type = key
        listed = self._listings[model].read().by_name(name)
        price = current_price(listed, zone, capacity_type) if listed is not None else None
        return self._prices.charged(key, price or 0.0, at_s)

    def remember_shortage(self, key: OfferingKey, at_s: float) -> None:
        """A launch was refused: the offering is shown as unavailable for a while."""
        if key not in self._known_short:
            self._touch(key)
        self._known_short.pop(key, None)
        self._known_short[key] = at_s + REMEMBERED_S

    def set_price(self, key: OfferingKey, price: Price) -> None:
        self._prices.set(key, price)
        self._touch(key)

    def _touch(self, key: OfferingKey) -> None:
        for listing in self._listings.values():
            listing.stale.add(key[0])

    def _forget_shortages(self, at_s: float) -> None:
        while self._known_short:
            key, until = next(iter(self._known_short.items()))
            if until > at_s:
                return
            del self._known_short[key]
            self._touch(key)

    def _revised(
        self, read: InstanceTypes, today: InstanceTypes, changed: set[str] | None, at_s: float
    ) -> InstanceTypes:
        """Today's catalog with the types of these names looked at anew, or all of them; the same object if nothing is new."""
        if changed is not None and not any(today.by_name(name) for name in changed):
            return today
        pairs = zip(read, today, strict=True)
        types = [
            self._revised_type(listed, old, at_s) if changed is None or old.name in changed else old
            for listed, old in pairs
        ]
        same = all(new is old for new, old in zip(types, today, strict=True))
        return today if same else InstanceTypes(types)

    def _revised_type(self, listed: InstanceType, old: InstanceType, at_s: float) -> InstanceType:
        offerings = tuple(
            self._revised_offering(listed.name, base, known, at_s)
            for base, known in zip(listed.offerings, old.offerings, strict=True)
        )
        if all(new is known for new, known in zip(offerings, old.offerings, strict=True)):
            return old
        back = all(new is base for new, base in zip(offerings, listed.offerings, strict=True))
        return listed if back else attrs.evolve(listed, offerings=offerings)

    def _revised_offering(self, name: str, listed: Offering, old: Offering, at_s: float) -> Offering:
        key = (name, listed.zone, listed.capacity_type)
        price = self._prices.listed(key, listed.price, at_s)
        available = listed.available and key not in self._known_short
        for known in (listed, old):
            if available == known.available and (
                price == known.price or (math.isnan(price) and math.isnan(known.price))
            ):
                return known
        return attrs.evolve(listed, price=price, available=available)
