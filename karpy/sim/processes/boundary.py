"""The boundary between controllers and everything else: every call crosses it, is counted, written down, and may meet a fault."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import attrs

from karpy.sim.clock import VirtualClock
from karpy.sim.faults import Fault, Faults, Planned
from karpy.sim.processes.trace import Call, Trace

__all__ = ["Boundary"]


@attrs.define(eq=False)
class Boundary:
    """What all processes of a world share: the count of crossings, the faults, the trace, and who looks on."""

    clock: VirtualClock
    faults: Faults = attrs.field(factory=Faults)
    trace: Trace = attrs.field(factory=Trace)
    calls: int = 0
    deliveries: int = 0
    injected: Counter[Fault] = attrs.field(factory=Counter)
    happened: list[Planned] = attrs.field(factory=list)
    """The faults that came, in order: a plan that brings them again."""
    watchers: list[Callable[[Call], None]] = attrs.field(factory=list)
    """Called after each call that reached the other side, with what came of it."""
    guards: list[Callable[[Call], None]] = attrs.field(factory=list)
    """Called before each call."""
    pass_time: Callable[[float], None] = lambda _seconds: None
    """Lets the world go on for so many seconds while a call is under way."""
    _start: float = attrs.field(init=False)
    _dice: random.Random = attrs.field(init=False)
    _planned: dict[tuple[bool, int], Fault] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._start = self.clock.now()
        self._dice = random.Random(f"boundary/{self.faults.seed}")
        self._planned = {(each.fault.is_of_delivery, each.number): each.fault for each in self.faults.plan}

    def plan(self, planned: Planned) -> None:
        """Have one more fault come."""
        self._planned[planned.fault.is_of_delivery, planned.number] = planned.fault

    @property
    def is_calm(self) -> bool:
        """Whether no fault will come any more by chance or by plan."""
        chance = bool(self.faults.rates) and self.clock.now() - self._start < self.faults.until_s
        reached = {True: self.deliveries, False: self.calls}
        return not chance and all(number <= reached[delivery] for delivery, number in self._planned)

    def fault_of_call(self, call: Call, meets: Callable[[Fault], bool]) -> Fault | None:
        """What this call meets, if ``meets`` says that it can."""
        return self._fault(call.number, delivery=False, meets=meets)

    def fault_of_delivery(self) -> tuple[Fault | None, int]:
        """What the next delivery meets, and its number."""
        self.deliveries += 1
        return self._fault(self.deliveries, delivery=True, meets=lambda _: True), self.deliveries

    def _fault(self, number: int, *, delivery: bool, meets: Callable[[Fault], bool]) -> Fault | None:
        found = self._planned.get((delivery, number)) if self._planned else None
        if found is None and self.faults.rates and self.clock.now() - self._start < self.faults.until_s:
            found = self._by_chance(delivery=delivery)
        if found is None or not meets(found):
            return None
        self.injected[found] += 1
        self.happened.append(Planned(number, found))
        return found

    def _by_chance(self, *, delivery: bool) -> Fault | None:
        left = self._dice.random()
        for fault, rate in self.faults.rates.items():
            if fault.is_of_delivery is delivery:
                left -= rate
                if left < 0:
                    return fault
        return None

    def drawn(self, number: int, low: float, high: float) -> float:
        """How long or late a fault is: the same whenever it comes at that crossing."""
        return round(random.Random(f"{self.faults.seed}/{number}").uniform(low, high), 3)
