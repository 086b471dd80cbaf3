"""Where the machines of the simulated cloud are sold: what is on the list, what is there, and what an account may have."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, Price, as_bought
from karpy.cloud.model import CloudModel
from karpy.errors import InvalidObject
from karpy.objects.nodeclaim import NodeClaim
from karpy.sim.region.fleet import NO_STOCK, FleetAnswer, order
from karpy.sim.region.market import Market
from karpy.sim.region.prices import Prices
from karpy.sim.region.quotas import Quotas
from karpy.sim.region.shortages import Stock
from karpy.sim.region.where import OfferingKey, Where, key_of
from karpy.sim.weather import Weather

__all__ = ["Shop"]


class Shop:
    """Times are seconds since the cloud began."""

    def __init__(self, models: Sequence[CloudModel], weather: Weather, seed: int) -> None:
        prices = Prices(weather.price_walk, weather.price_changes, seed)
        self._models = tuple(models)
        self._market = Market({model.name: model.instance_types for model in models}, prices)
        self._tries = weather.tries
        self.stock = Stock(weather.shortages)
        self.quotas = Quotas(weather.quotas)

    def catalog(self, model: CloudModel, at_s: float) -> InstanceTypes:
        """What the provider knows to be sold."""
        return self._market.catalog(model.name, at_s)

    def price(self, model: str, key: OfferingKey, at_s: float) -> Price:
        """What is charged."""
        return self._market.price(model, key, at_s)

    def set_price(self, key: OfferingKey, price: Price) -> None:
        self._market.set_price(key, price)

    def order(self, claim: NodeClaim, choices: Sequence[InstanceType], at_s: float) -> FleetAnswer:
        """The cheapest offering that the claim allows and that can be had. The others are remembered as unavailable."""

        def refuses(choice: InstanceType, offering: Offering) -> str:
            key = key_of(choice, offering)
            if not self.stock.has(key, at_s):
                return NO_STOCK
            return self.quotas.refusal(key, as_bought(choice, offering).capacity)

        answer = order(claim.name, claim.requirements, choices, refuses, self._tries)
        for refusal in answer.refusals:
            self.remember_shortage(refusal.key, at_s)
        return answer

    def remember_shortage(self, key: OfferingKey, at_s: float) -> None:
        """Customers are told that there is none of it, for a while."""
        self._market.remember_shortage(key, at_s)

    def offering(self, model: CloudModel, key: OfferingKey, at_s: float) -> tuple[InstanceType, Offering]:
        """What is sold by this key.

        Raises:
            InvalidObject: nothing.
        """
        choice = self.catalog(model, at_s).by_name(key[0])
        offerings = choice.offerings if choice is not None else ()
        found = next((each for each in offerings if choice is not None and key_of(choice, each) == key), None)
        if choice is None or found is None:
            sold = sorted({f"{each.zone} {each.capacity_type}" for each in offerings})
            raise InvalidObject(
                f"{model.name} does not sell {key[0]!r} in {key[1]!r} as {key[2]}", accepted=", ".join(sold)
            )
        return choice, found

    def cheapest(self, where: Where, at_s: float) -> tuple[CloudModel, InstanceType, Offering] | None:
        """The cheapest of these offerings that the first model has which sells any."""
        for model in self._models:
            found = [
                (offering.sort_price, choice.name, offering.zone, choice, offering)
                for choice in self.catalog(model, at_s)
                for offering in choice.offerings
                if key_of(choice, offering) in where
            ]
            if found:
                *_, choice, offering = min(found, key=lambda each: each[:3])
                return model, choice, offering
        return None

    def clear_up(self) -> None:
        """From now on there is enough of everything, but for what somebody has sold out, and for everybody."""
        self.stock.clear_up()
        self.quotas.clear_up()
        self._tries = None
