"""The boundary between controllers and everything else: every call crosses it, is counted, written down, and may meet a fault."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from karpy.errors import KarpyError, KubeError, ProviderError, Throttled
from karpy.objects.kinds import Kind
from karpy.sim.clock import VirtualClock
from karpy.sim.faults import Fault, Faults, Planned
from karpy.sim.trace import Call, Trace

__all__ = ["Boundary", "Crashed", "Gate"]

T = TypeVar("T")

RETRY_AFTER_S = 1.0
LONGEST_LATE_S = 5.0
STALL_S = (2.0, 40.0)
LONGEST_JUMP_S = 120.0
_CONDITIONAL = frozenset({"replace", "patch"})


class Crashed(BaseException):
    """The process ends here and now. Not an `Exception`: nothing that a controller catches may catch it."""


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

    def fault_of_call(self, call: Call) -> Fault | None:
        return self._fault(call.number, delivery=False, meets=lambda fault: _meets(call, fault))

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


def _meets(call: Call, fault: Fault) -> bool:
    """A conflict needs something that may have changed; all else may happen to any call."""
    return fault is not Fault.CONFLICT or (call.kind is not None and call.verb in _CONDITIONAL)


class Gate:
    """One process's way across. ``offset`` is by how much its clock is wrong, ``stalled_until`` for how long it hangs."""

    def __init__(self, boundary: Boundary, who: str) -> None:
        self.boundary = boundary
        self.who = who
        self.offset = 0.0
        self.stalled_until = 0.0
        self.late: dict[object, float] = {}
        """Watches that hold something back, and until when."""

    def now(self) -> float:
        """The time as the process sees it (it is the process's `karpy.clock.Clock`)."""
        return self.boundary.clock.now() + self.offset

    def call(
        self,
        act: Callable[[], T],
        verb: str,
        kind: Kind | None,
        name: str,
        namespace: str = "",
        body: Any = None,
        subresource: str = "",
    ) -> T:
        """Cross, unless a fault comes.

        Raises:
            Crashed, KubeError, ProviderError: as the other side or the fault has it.
        """
        boundary = self.boundary
        boundary.calls += 1
        call = Call(
            number=boundary.calls,
            at=boundary.clock.now(),
            who=self.who,
            verb=verb,
            kind=kind,
            name=name,
            namespace=namespace,
            body=body,
            subresource=subresource,
        )
        boundary.trace.add(call)
        call.fault = boundary.fault_of_call(call)
        if call.fault is not None:
            self._before(call, call.fault)
        for guard in boundary.guards:
            guard(call)
        answer = self._cross(call, act)
        if call.fault is not None:
            self._after(call, call.fault)
        return answer

    def _cross(self, call: Call, act: Callable[[], T]) -> T:
        try:
            answer = act()
        except KarpyError as error:
            call.answer = f"{error.code} {error.reason}" if isinstance(error, KubeError) else type(error).__name__
            call.answer += f": {error}"
            raise
        call.answer, call.result = "ok", answer
        for watcher in self.boundary.watchers:
            watcher(call)
        if call.verb == "create" and call.kind is not None:
            call.name = answer["metadata"]["name"]  # type: ignore[index]  # the server may have completed it
        call.result = call.body = None  # a trace is kept for long: it must not keep every object that ever was
        return answer

    def _before(self, call: Call, fault: Fault) -> None:
        """Faults that keep the call from the other side."""
        if fault is Fault.CRASH_BEFORE:
            call.answer = "the process crashed before it"
            raise Crashed
        if fault is Fault.JUMP:
            span = LONGEST_JUMP_S
            self.offset = round(self.offset + self.boundary.drawn(call.number, -span, span), 3)
        elif fault is Fault.STALL:
            hangs_s = self.boundary.drawn(call.number, *STALL_S)
            self.stalled_until = self.boundary.clock.now() + hangs_s
            self._refuse(call, KubeError(f"no answer for {hangs_s} s", code=504, reason="Timeout"))
        elif fault is Fault.CONFLICT:
            self._refuse(call, KubeError("the object has been modified", code=409, reason="Conflict"))
        elif fault is Fault.THROTTLED:
            told = "the server has received too many requests"
            error = KubeError(told, code=429, reason="TooManyRequests", retry_after_s=RETRY_AFTER_S)
            self._refuse(call, error)
        elif fault is Fault.ERROR:
            self._refuse(call, KubeError("an internal error", code=500, reason="InternalError"))

    def _after(self, call: Call, fault: Fault) -> None:
        """Faults that keep the answer from the process."""
        if fault is Fault.CRASH_AFTER:
            call.answer += ", then the process crashed"
            raise Crashed
        if fault is Fault.LOST:
            call.answer += ", but the answer was lost"
            raise _as_of(call, KubeError("the request timed out", code=504, reason="Timeout"))

    def _refuse(self, call: Call, error: KubeError) -> None:
        call.answer = f"{error.code} {error.reason}: {error} (injected)"
        raise _as_of(call, error)


def _as_of(call: Call, error: KubeError) -> KarpyError:
    """The error as the side raises it that was called."""
    if call.kind is not None:
        return error
    if error.code == 429:
        return Throttled(str(error), error.retry_after_s)
    return ProviderError(str(error))
