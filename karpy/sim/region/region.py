"""One region of the simulated cloud: what is sold there, what stands there, and what the weather does to both."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial

from karpy import labels
from karpy.cloud.instancetype import InstanceType, Offering, Price
from karpy.cloud.model import CloudModel
from karpy.objects.nodeclaim import NodeClaim
from karpy.sim.machines import Machine
from karpy.sim.region.agenda import Agenda
from karpy.sim.region.assembly import Assembly
from karpy.sim.region.datacenter import Datacenter
from karpy.sim.region.fleet import FleetAnswer
from karpy.sim.region.notices import NoticeQueue
from karpy.sim.region.shop import Shop
from karpy.sim.region.throttles import Limiter
from karpy.sim.region.timing import Timing
from karpy.sim.region.troubles import TroubleKind, Troubles, refusal_of, timed_out
from karpy.sim.region.where import OfferingKey, key_of
from karpy.sim.weather import Mishap, Stray, Weather

__all__ = ["Region"]

_ANSWERS_KEPT = 256


class Region:
    """Everything is given the time, in seconds since the epoch; what is due before must have happened (see `agenda`)."""

    def __init__(
        self, models: Sequence[CloudModel], weather: Weather, timing: Timing, seed: int, *, began: float
    ) -> None:
        self.agenda = Agenda()
        self.shop = Shop(models, weather, seed)
        self.limiter = Limiter(weather.throttles, began)
        self.notices = NoticeQueue(weather.delivery, seed, began)
        self._assembly = Assembly(timing, weather.read_lag_s, seed)
        self._troubles = Troubles(weather.troubles, seed)
        self.datacenter = Datacenter(
            self.agenda,
            self.notices,
            self.shop.quotas,
            weather.hazards,
            self._assembly.ends_after_s,
            seed=seed,
            now=began,
        )
        self._began = began
        self._is_calm = False
        self._orders = 0
        self.launches = 0
        self.stillborn = 0
        """How many of the next machines never join."""
        self.answers: deque[FleetAnswer] = deque(maxlen=_ANSWERS_KEPT)
        self._plan(weather)

    def since_began(self, now: float) -> float:
        return now - self._began

    # Launches

    def order(self, model: CloudModel, claim: NodeClaim, choices: Sequence[InstanceType], now: float) -> Machine:
        """Launch the cheapest of ``choices`` that the claim allows and that can be had.

        Raises:
            ProviderError: it cannot be, or nobody can tell whether it was.
        """
        self._orders += 1
        answer = self.shop.order(claim, choices, self.since_began(now))
        troubles = self._troubles.of(self._orders, key_of(*answer.bought)) if answer.bought else {}
        refusal = refusal_of(troubles)
        if refusal is not None:
            raise refusal
        self.answers.append(answer)
        if answer.bought is None:
            raise answer.error()
        machine = self._assemble(model, claim, self._as_built(model, *answer.bought, now), now, troubles)
        self.datacenter.launch(machine)
        if TroubleKind.ENDS_EARLY in troubles:
            self.agenda.plan(now + troubles[TroubleKind.ENDS_EARLY], partial(self.datacenter.end, machine))
        if TroubleKind.ANSWER_LOST in troubles:
            raise timed_out()
        return machine

    def _as_built(
        self, model: CloudModel, choice: InstanceType, offering: Offering, now: float
    ) -> tuple[InstanceType, Offering]:
        """What is delivered: what a customer believes of a type changes no machine, unless an overlay says so."""
        sold = self.shop.catalog(model, self.since_began(now)).by_name(choice.name)
        return (choice if choice.capacity_overlaid or sold is None else sold), offering

    def add(self, model: CloudModel, instance_type: str, zone: str, name: str, now: float) -> Machine:
        """Launch an on-demand machine that nobody claims, whose node has this name or one made up.

        Raises:
            InvalidObject: there is no such machine.
        """
        bought = self.shop.offering(model, (instance_type, zone, labels.ON_DEMAND), self.since_began(now))
        machine = self._assemble(model, NodeClaim(name=""), bought, now)
        machine.taints = ()
        machine.node_name = name or machine.node_name or f"node-{machine.serial}"
        self.datacenter.launch(machine)
        return machine

    def _assemble(
        self,
        model: CloudModel,
        claim: NodeClaim,
        bought: tuple[InstanceType, Offering],
        now: float,
        troubles: Mapping[TroubleKind, float] | None = None,
    ) -> Machine:
        """A machine that is ready to be launched."""
        self.launches += 1
        wrong = dict(troubles or {})
        if self.stillborn:
            self.stillborn -= 1
            wrong[TroubleKind.NEVER_JOINS] = 0.0
        price = self.shop.price(model.name, key_of(*bought), self.since_began(now))
        return self._assembly.machine(self.launches, model, claim, bought, price, wrong, now)

    def remember_taken(self, provider_id: str, now: float) -> None:
        """A spot machine is wanted back: the likes of it are shown as unavailable for a while."""
        machine = self.datacenter.machines.get(provider_id, now)
        if machine is not None:
            self.shop.remember_shortage(machine.offering_key, self.since_began(now))

    # Prices

    def set_price(self, key: OfferingKey, price: Price, now: float) -> None:
        self.shop.set_price(key, price)
        self._reprice(now)

    def _reprice(self, at: float) -> None:
        """Machines that run pay today's prices."""
        for machine in self.datacenter.machines:
            price = self.shop.price(machine.model, machine.offering_key, self.since_began(at))
            self.datacenter.reprice(machine, price, at)

    # The weather

    def clear_up(self) -> None:
        """From now on it is calm. What was announced still comes, and prices keep moving."""
        self._is_calm = True
        self.limiter.clear_up()
        self._troubles.clear_up()
        self._assembly.clear_up()
        self.shop.clear_up()
        self.datacenter.clear_up()

    def _plan(self, weather: Weather) -> None:
        began, plan = self._began, self.agenda.plan
        if weather.lasts_s is not None:
            plan(began + weather.lasts_s, lambda _at: self.clear_up())
        for mishap in weather.mishaps:
            plan(began + mishap.at_s, partial(self._befall, mishap))
        for stray in weather.strays:
            plan(began + stray.at_s, partial(self._stray, stray))
        for change in weather.price_changes:
            plan(began + change.at_s, self._reprice)
        if weather.price_walk is not None:
            self._plan_walk(weather.price_walk.every_s, began)

    def _plan_walk(self, every_s: float, at: float) -> None:
        def step(then: float) -> None:
            self._reprice(then)
            self._plan_walk(every_s, then)

        self.agenda.plan(at + every_s, step)

    def _befall(self, mishap: Mishap, at: float) -> None:
        victim = None if self._is_calm else self.datacenter.victim(mishap.machine, mishap.kind, at)
        if victim is not None:
            self.datacenter.befall(victim, mishap.kind, at, mishap.for_s)

    def _stray(self, stray: Stray, at: float) -> None:
        found = None if self._is_calm else self.shop.cheapest(stray.where, self.since_began(at))
        if found is None:
            return
        model, choice, offering = found
        claim = NodeClaim(name=f"lost-{self.launches + 1}" if stray.is_ours else "")
        machine = self._assemble(model, claim, (choice, offering), at, {TroubleKind.NEVER_JOINS: 0.0})
        machine.node_name = machine.node_name or f"node-{machine.serial}"
        self.datacenter.launch(machine)
