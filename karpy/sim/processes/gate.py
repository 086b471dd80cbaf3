"""One process's way across the boundary: where its calls meet faults, and where it dies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from karpy.errors import KarpyError, KubeError, ProviderError, Throttled
from karpy.objects.kinds import LEASE, Kind
from karpy.sim.faults import Fault
from karpy.sim.processes.boundary import Boundary
from karpy.sim.processes.trace import Call

__all__ = ["Crashed", "Gate", "can_meet"]

T = TypeVar("T")

RETRY_AFTER_S = 1.0
SLOW_S = (5.0, 15.0)
STALL_S = (2.0, 40.0)
DEPOSED_S = (20.0, 30.0)
LONGEST_JUMP_S = 120.0
_CONDITIONAL = frozenset({"replace", "patch"})


class Crashed(BaseException):
    """The process ends here and now. Not an `Exception`: nothing that a controller catches may catch it."""


class Gate:
    """The gate of one life of a process. ``elects``: it acts only while it leads."""

    def __init__(self, boundary: Boundary, who: str, *, elects: bool = False) -> None:
        self.boundary = boundary
        self.who = who
        self.elects = elects
        self.offset = 0.0
        """By how much the process's clock is wrong."""
        self.stalled_until = 0.0
        """For how long the process hangs."""
        self.deposed_until = 0.0
        """For how long it does not reach its lease."""
        self.is_closed = False
        """Whether the life is over: what is still under way ends there."""
        self.may_act: Callable[[], bool] = lambda: True
        """Asked before each call but those for the lease: a process that may not act any more ends instead."""
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
        if self.is_closed or (kind != LEASE and not self.may_act()):
            raise Crashed
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
        call.fault = boundary.fault_of_call(call, lambda fault: can_meet(call, fault, elects=self.elects))
        if kind == LEASE and self.deposed_until > call.at:
            self._refuse(call, KubeError("the lease is out of reach", code=503, reason="ServiceUnavailable"))
        if call.fault is not None:
            self._before(call, call.fault)
        for guard in boundary.guards:
            guard(call)
        if call.fault is Fault.SLOW:
            return self._slowly(call, act)
        answer = self._cross(call, act)
        if call.fault is not None:
            self._after(call, call.fault)
        return answer

    def _slowly(self, call: Call, act: Callable[[], T]) -> T:
        """Take effect after a while, and be answered after another. What was sent takes effect though its sender may be gone."""
        takes_s = self.boundary.drawn(call.number, *SLOW_S)
        until_effect_s = round(takes_s * self.boundary.drawn(-call.number, 0, 1), 3)
        call.ends_at = call.at + takes_s
        self.boundary.pass_time(until_effect_s)
        answer = self._cross(call, act)
        self.boundary.pass_time(takes_s - until_effect_s)
        call.answer += f", after {takes_s} s"
        self._go_on()
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
        """Faults that keep the call from the other side, and those that do nothing to it."""
        drawn, now = self.boundary.drawn, self.boundary.clock.now()
        if fault is Fault.CRASH_BEFORE:
            call.answer = "the process crashed before it"
            raise Crashed
        if fault is Fault.JUMP:
            self.offset = drawn(call.number, -LONGEST_JUMP_S, LONGEST_JUMP_S)
        elif fault is Fault.DEPOSED:
            self.deposed_until = now + drawn(call.number, *DEPOSED_S)
        elif fault is Fault.STALL:
            self._stall(call, drawn(call.number, *STALL_S))
        elif fault is Fault.CONFLICT:
            self._refuse(call, KubeError("the object has been modified", code=409, reason="Conflict"))
        elif fault is Fault.THROTTLED:
            told = "the server has received too many requests"
            error = KubeError(told, code=429, reason="TooManyRequests", retry_after_s=RETRY_AFTER_S)
            self._refuse(call, error)
        elif fault is Fault.ERROR:
            self._refuse(call, KubeError("an internal error", code=500, reason="InternalError"))

    def _stall(self, call: Call, hangs_s: float) -> None:
        self.stalled_until = self.boundary.clock.now() + hangs_s
        self.boundary.pass_time(hangs_s)
        self._go_on()
        self._refuse(call, KubeError(f"no answer for {hangs_s} s", code=504, reason="Timeout"))

    def _go_on(self) -> None:
        """After a while in which anything may have happened, the end of this life too."""
        if self.is_closed:
            raise Crashed

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


def can_meet(call: Call, fault: Fault, *, elects: bool) -> bool:
    """A conflict needs something that may have changed, and who does not elect has no lease to lose."""
    if fault.is_of_delivery:
        return False
    if fault is Fault.CONFLICT:
        return call.kind is not None and call.verb in _CONDITIONAL
    return fault is not Fault.DEPOSED or elects


def _as_of(call: Call, error: KubeError) -> KarpyError:
    """The error as the side raises it that was called."""
    if call.kind is not None:
        return error
    if error.code == 429:
        return Throttled(str(error), error.retry_after_s)
    return ProviderError(str(error))
