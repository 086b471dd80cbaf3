"""Where the machines of the simulated cloud stand: from launch to end, what befalls them, and who is told.

Everything here is given the time at which it happens, so that what was planned for a time is as if it had been done then.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from karpy import labels
from karpy.cloud.instancetype import Price
from karpy.cloud.notices import NoticeKind
from karpy.sim.machines import HOUR_S, Bill, Machine, Machines
from karpy.sim.region.agenda import Agenda
from karpy.sim.region.mishaps import NOTICE_S, Hazard, MishapKind
from karpy.sim.region.notices import NoticeQueue
from karpy.sim.region.quotas import Quotas

__all__ = ["Datacenter", "Listener"]

Listener = Callable[[Machine], None]


class Datacenter:
    """The machines, their bill, what is used of quotas, and the notices about them.

    ``ends_after_s`` draws how long a machine takes to terminate. ``hazards`` are what may befall each machine.
    """

    def __init__(
        self,
        agenda: Agenda,
        notices: NoticeQueue,
        quotas: Quotas,
        hazards: Sequence[Hazard],
        ends_after_s: Callable[[], float],
        *,
        seed: int,
        now: float,
    ) -> None:
        self.machines = Machines()
        self.bill = Bill(now)
        self.quotas = quotas
        self.notices = notices
        self._agenda = agenda
        self._hazards = tuple(hazards)
        self._ends_after_s = ends_after_s
        self._seed = seed
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def launch(self, machine: Machine) -> None:
        self.machines.add(machine)
        self.bill.change(machine.price, machine.created)
        self.quotas.count(machine.offering_key, machine.instance_type.capacity, by=1)
        for hazard in self._hazards:
            self._expose(machine, hazard)
        self._tell(machine)

    def end(self, machine: Machine, at: float) -> None:
        """The machine begins to terminate, unless it does so already."""
        if machine.terminating_since is not None:
            return
        machine.terminating_since = at
        machine.gone_at = at + self._ends_after_s()
        self._stop_paying(machine, at)
        self.notices.send(NoticeKind.TERMINATED, machine.provider_id, at, state="shutting-down")
        self.notices.send(NoticeKind.TERMINATED, machine.provider_id, machine.gone_at, state="terminated")
        self._tell(machine)

    def reprice(self, machine: Machine, price: Price, at: float) -> None:
        """A machine that runs costs something else from now on."""
        if machine.is_paid and price != machine.price:
            self.bill.change(price - machine.price, at)
            machine.price = price

    def clear_up(self) -> None:
        """From now on nothing befalls a machine by chance, and everything that is told of it is true."""
        self._hazards = ()
        self.notices.clear_up()
        for machine in self.machines:
            machine.lag_s = 0.0
            machine.dies_at = machine.dies_at if machine.is_dead else None

    # What befalls a machine

    def befall(self, machine: Machine, kind: MishapKind, at: float, for_s: float = NOTICE_S) -> None:
        """Let something happen to a machine that it `can_befall`."""
        if not self.can_befall(machine, kind):
            return
        due = at + for_s
        match kind:
            case MishapKind.INTERRUPTION:
                self._announce(NoticeKind.SPOT_INTERRUPTION, machine, at, due)
                self._agenda.plan(due, lambda then: self.end(machine, then))
            case MishapKind.REBALANCE:
                self._announce(NoticeKind.REBALANCE, machine, at, None)
            case MishapKind.MAINTENANCE:
                self._announce(NoticeKind.SCHEDULED_CHANGE, machine, at, due)
                self._agenda.plan(due, lambda then: self.befall(machine, MishapKind.STOP, then))
            case MishapKind.STOP:
                self._stop(machine, at)
            case MishapKind.TERMINATION:
                self.end(machine, at)
            case MishapKind.SILENCE:
                self._fall_silent(machine, at, due)
            case MishapKind.DEATH:
                self._fall_silent(machine, at, None)
            case MishapKind.VANISHING:
                self._vanish(machine, at)

    @staticmethod
    def can_befall(machine: Machine, kind: MishapKind) -> bool:
        """What is on its way out can only vanish, and what is stopped can only end; only spot machines are interrupted."""
        if machine.terminating_since is not None:
            return kind is MishapKind.VANISHING
        if not machine.is_paid:
            return kind in (MishapKind.TERMINATION, MishapKind.VANISHING)
        if kind is MishapKind.INTERRUPTION:
            return machine.offering.capacity_type == labels.SPOT
        return kind is not MishapKind.SILENCE or not machine.is_dead

    def victim(self, number: int, kind: MishapKind, now: float) -> Machine | None:
        """The machine of this number, or for 0 the oldest that runs, if this can befall it."""
        able = (machine for machine in self.machines if not machine.is_gone(now) and self.can_befall(machine, kind))
        if number:
            return next((machine for machine in able if machine.serial == number), None)
        return next((machine for machine in able if machine.is_paid), None)

    def _expose(self, machine: Machine, hazard: Hazard) -> None:
        """Each machine and kind is drawn by itself, so that one hazard less changes no other."""
        if not hazard.per_hour or not self.can_befall(machine, hazard.kind):
            return
        dice = random.Random(f"hazard/{self._seed}/{hazard.kind.value}/{machine.serial}")
        at = machine.created + dice.expovariate(hazard.per_hour / HOUR_S)
        if hazard.kind is MishapKind.DEATH:
            machine.dies_at = min(at, machine.dies_at or at)

        def strike(then: float) -> None:
            if hazard in self._hazards:
                self.befall(machine, hazard.kind, then, hazard.for_s)

        self._agenda.plan(at, strike)

    def _announce(self, kind: NoticeKind, machine: Machine, at: float, due: float | None) -> None:
        machine.taken_at = due if machine.taken_at is None else machine.taken_at
        self.notices.send(kind, machine.provider_id, at, due=due)

    def _stop(self, machine: Machine, at: float) -> None:
        machine.is_dead = True
        machine.returns_at = None
        self._stop_paying(machine, at)
        for state in ("stopping", "stopped"):
            self.notices.send(NoticeKind.STOPPED, machine.provider_id, at, state=state)
        self._tell(machine)

    def _fall_silent(self, machine: Machine, at: float, until: float | None) -> None:
        machine.is_dead = True
        machine.dies_at = at
        machine.returns_at = until
        self._tell(machine)
        if until is not None:
            self._agenda.plan(until, lambda _then: self._answer_again(machine, until))

    def _answer_again(self, machine: Machine, at: float) -> None:
        """Unless something else has befallen the machine meanwhile."""
        if machine.returns_at == at and machine.is_paid:
            machine.is_dead = False
            self._tell(machine)

    def _vanish(self, machine: Machine, at: float) -> None:
        if machine.terminating_since is None:
            machine.terminating_since = at
        self._stop_paying(machine, at)
        machine.gone_at = at
        self._tell(machine)

    def _stop_paying(self, machine: Machine, at: float) -> None:
        if machine.is_paid:
            machine.is_paid = False
            self.bill.change(-machine.price, at)
            self.quotas.count(machine.offering_key, machine.instance_type.capacity, by=-1)

    def _tell(self, machine: Machine) -> None:
        for listener in self._listeners:
            listener(machine)
