"""`Colocation`: machines that somebody else's cloud has sold, on a world's time.

Whoever stands in for that cloud says what was launched and what was ended; kubelets, bills, notices and what the weather does to
machines are as in the simulated cloud.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import attrs

from karpy.clock import Clock
from karpy.cloud.instancetype import InstanceType, Offering, Price
from karpy.sim.machines import Machine
from karpy.sim.region.agenda import Agenda
from karpy.sim.region.datacenter import Datacenter, Listener
from karpy.sim.region.notices import NoticeQueue
from karpy.sim.region.quotas import Quotas
from karpy.sim.region.shortages import Stock
from karpy.sim.region.timing import Timing
from karpy.sim.region.troubles import TroubleKind, Troubles
from karpy.sim.weather import Mishap, Stray, Weather
from karpy.taints import Taint

__all__ = ["Arrival", "Colocation"]

_NO_TROUBLES: Mapping[TroubleKind, float] = {}


@attrs.frozen(kw_only=True)
class Arrival:
    """A machine that was launched, and what its kubelet will say when it registers."""

    provider_id: str
    node_name: str
    claim: str
    """Of which NodeClaim it bears the mark; empty for none."""
    instance_type: InstanceType
    """What it turns out to have."""
    offering: Offering
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    price: Price
    image_id: str = ""
    joins: bool = True
    """Whether it was told how to join."""


class Colocation:
    """The machines, and the weather over them. ``model`` names the cloud. Methods are safe from several threads.

    What of the weather concerns launches is for the stand-in to ask about: `stock`, `quotas` and `troubles`.
    """

    def __init__(
        self, model: str, clock: Clock, seed: int = 0, *, timing: Timing | None = None, weather: Weather | None = None
    ) -> None:
        self.weather = weather or Weather.calm()
        self._model = model
        self._clock = clock
        self._began = now = clock.now()
        self._timing = timing or Timing()
        self._dice = random.Random(f"colocation/{seed}")
        self._lock = threading.RLock()
        self.agenda = Agenda()
        self.notices = NoticeQueue(self.weather.delivery, seed, now)
        self.stock = Stock(self.weather.shortages)
        self.quotas = Quotas(self.weather.quotas)
        self.troubles = Troubles(self.weather.troubles, seed)
        self._datacenter = Datacenter(
            self.agenda,
            self.notices,
            self.quotas,
            self.weather.hazards,
            lambda: self._draw(self._timing.terminate),
            seed=seed,
            now=now,
        )
        self._is_calm = False
        self._strayed: list[Callable[[Stray], object]] = []
        self._cleared: list[Callable[[], object]] = []
        self.launches = 0
        self._plan()

    # For the stand-in

    def receive(self, arrival: Arrival, troubles: Mapping[TroubleKind, float] = _NO_TROUBLES) -> Machine:
        """A machine was launched just now; ``troubles`` are what goes wrong with it."""
        with self.moment() as now:
            self.launches += 1
            machine = self._machine(arrival, troubles, now)
            self._datacenter.launch(machine)
            if TroubleKind.ENDS_EARLY in troubles:
                at = now + troubles[TroubleKind.ENDS_EARLY]
                self.agenda.plan(at, partial(self._datacenter.end, machine))
            return machine

    def end(self, provider_id: str) -> None:
        """Somebody ended a machine; again changes nothing."""
        with self.moment() as now:
            machine = self._datacenter.machines.get(provider_id, now)
            if machine is not None:
                self._datacenter.end(machine, now)

    def on_stray(self, listener: Callable[[Stray], object]) -> None:
        """Call ``listener`` when the weather brings a machine that nobody ordered: it is to be launched."""
        self._strayed.append(listener)

    def on_clear(self, listener: Callable[[], object]) -> None:
        """Call ``listener`` when the weather clears up."""
        self._cleared.append(listener)

    def since_began(self) -> float:
        """Seconds."""
        return self._clock.now() - self._began

    @contextmanager
    def moment(self) -> Iterator[float]:
        """The time, with nobody else at it, and what should have happened by now has."""
        with self._lock:
            now = self._clock.now()
            self.agenda.catch_up(now)
            yield now

    def _machine(self, arrival: Arrival, troubles: Mapping[TroubleKind, float], now: float) -> Machine:
        joins_at = now + self._draw(self._timing.boot) + troubles.get(TroubleKind.SLOW, 0.0)
        ready_at = joins_at + self._draw(self._timing.ready)
        joins = arrival.joins and TroubleKind.NEVER_JOINS not in troubles
        late_s = troubles.get(TroubleKind.LATE_RESOURCES)
        return Machine(
            serial=self.launches,
            model=self._model,
            provider_id=arrival.provider_id,
            node_name=arrival.node_name,
            claim=arrival.claim,
            instance_type=arrival.instance_type,
            offering=arrival.offering,
            labels=arrival.labels,
            taints=arrival.taints,
            price=arrival.price,
            created=now,
            joins_at=joins_at if joins else math.inf,
            ready_at=ready_at if joins else math.inf,
            image_id=arrival.image_id,
            joins=joins,
            memory_factor=1.0 - troubles.get(TroubleKind.LESS_MEMORY, 0.0),
            late_resources_s={}
            if late_s is None
            else {name: late_s for name in arrival.instance_type.capacity if "/" in name},
        )

    def _draw(self, span: tuple[float, float]) -> float:
        return round(self._dice.uniform(*span), 3)

    # The weather

    def clear_up(self) -> None:
        """From now on it is calm. What was announced still comes."""
        self._is_calm = True
        self.stock.clear_up()
        self.quotas.clear_up()
        self.troubles.clear_up()
        self._datacenter.clear_up()
        for listener in self._cleared:
            listener()

    def _plan(self) -> None:
        if self.weather.lasts_s is not None:
            self.agenda.plan(self._began + self.weather.lasts_s, lambda _at: self.clear_up())
        for mishap in self.weather.mishaps:
            self.agenda.plan(self._began + mishap.at_s, partial(self._befall, mishap))
        for stray in self.weather.strays:
            self.agenda.plan(self._began + stray.at_s, partial(self._stray, stray))

    def _befall(self, mishap: Mishap, at: float) -> None:
        victim = None if self._is_calm else self._datacenter.victim(mishap.machine, mishap.kind, at)
        if victim is not None:
            self._datacenter.befall(victim, mishap.kind, at, mishap.for_s)

    def _stray(self, stray: Stray, _at: float) -> None:
        if not self._is_calm:
            for listener in self._strayed:
                listener(stray)

    # As the half of a site that has the machines (see `karpy.sim.site`)

    @property
    def machines(self) -> Sequence[Machine]:
        with self.moment() as now:
            self._datacenter.machines.prune(now)
            return tuple(machine for machine in self._datacenter.machines if not machine.is_gone(now))

    def machine(self, provider_id: str) -> Machine | None:
        with self.moment() as now:
            return self._datacenter.machines.get(provider_id, now)

    def cost_per_hour(self) -> Price:
        with self.moment():
            return self._datacenter.bill.per_hour

    def cost(self, until: float | None = None) -> float:
        with self.moment() as now:
            return self._datacenter.bill.total(now if until is None else until)

    def subscribe(self, listener: Listener) -> None:
        self._datacenter.subscribe(listener)

    def on_plan(self, listener: Callable[[float], None]) -> None:
        self.agenda.on_plan(listener)

    def catch_up(self) -> float | None:
        with self.moment():
            return self.agenda.next_time()
