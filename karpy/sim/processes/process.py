"""A controller process in a simulated world: it starts with nothing, lists, acts, may die at any call, and starts again.

What a process knows is its own: its watches, its caches, its clock. Nothing of that survives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol, runtime_checkable

import attrs

from karpy.clock import Clock
from karpy.cloud.provider import CloudProvider
from karpy.controllers.base import Controller, Request
from karpy.errors import PluginError
from karpy.kube.client import KubeClient
from karpy.kube.leader import ELECTION_NAME, ELECTION_NAMESPACE, LeaderElector
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import WatchEvent
from karpy.sim.loop import Loop
from karpy.sim.processes.boundary import Boundary
from karpy.sim.processes.gate import Crashed, Gate
from karpy.sim.processes.gatedkube import GatedKube

__all__ = ["Autoscaler", "Log", "Process", "Program", "Surroundings", "install"]

RESTART_S = 2.0
"""From a crash until the process runs again."""


class _State(Protocol):
    def apply(self, event: WatchEvent) -> Any: ...

    def retain(self, kind: Kind, keys: AbstractSet[str]) -> Any: ...


class Autoscaler(Protocol):
    """A state that is fed with the events of some kinds, and controllers: `karpy.operator.Operator`, or anything of its form."""

    @property
    def kinds(self) -> Sequence[Kind]: ...

    @property
    def controllers(self) -> Sequence[Controller]: ...

    @property
    def state(self) -> _State: ...


@runtime_checkable
class TakingTurns(Protocol):
    """An autoscaler whose controllers are to be called in a way of its own. When they act before everything was listed, that is
    theirs to say."""

    @property
    def turns(self) -> Sequence[Controller]: ...


@runtime_checkable
class Comparing(Protocol):
    """An autoscaler that finds out what its watches lost."""

    def on_missed(self, tell: Callable[[WatchEvent], None]) -> None: ...


class Log:
    """A structlog logger of which only the number of lines counts, by level and event."""

    def __init__(self, told: Callable[[str, str], None]) -> None:
        self._told = told

    def bind(self, **_context: Any) -> Log:
        return self

    def debug(self, event: str, **_fields: Any) -> None:
        """Production does not write these."""

    def info(self, event: str, **_fields: Any) -> None:
        self._told("info", event)

    def warning(self, event: str, **_fields: Any) -> None:
        self._told("warning", event)

    def error(self, event: str, **_fields: Any) -> None:
        self._told("error", event)


@attrs.frozen(kw_only=True, eq=False)
class Surroundings:
    """What a process is started with: all that it may talk to."""

    kube: KubeClient
    providers: tuple[CloudProvider, ...]
    clock: Clock
    log: Log
    on_decision: Callable[[float, Any], None]
    """For autoscalers that tell what they are about to do."""


Program = Callable[[Surroundings], Autoscaler | Sequence[Controller]]
"""Makes the controllers of one process, from nothing: called at each start."""


class Process:
    """One process, or one of several that elect a leader when ``elects``. A guest of the world's loop."""

    def __init__(
        self,
        name: str,
        program: Program,
        boundary: Boundary,
        kube: KubeClient,
        connect: Callable[[Gate], CloudProvider],
        *,
        seed: int = 0,
        elects: bool = False,
        told: Callable[[str, str, str], None] = lambda _who, _level, _event: None,
        decided: Callable[[str, Any], None] = lambda _who, _decision: None,
    ) -> None:
        self.name = name
        self.elects = elects
        self.lives = 0
        """How often it started to act."""
        self.running: Autoscaler | Sequence[Controller] | None = None
        """What the program made for this life; None while the process is down, or stands by."""
        self._program = program
        self._boundary = boundary
        self._kube = kube
        self._connect = connect
        self._seed = seed
        self._told = told
        self._decided = decided
        self._loop: Loop | None = None
        self._stood = 0
        self._begin()
        self._down_until = 0.0
        self._is_synced = False
        self._is_busy = False
        """Whether a call of its controllers is under way, and the world goes on meanwhile."""
        self._is_electing = False

    # As a guest of a loop

    def step(self) -> bool:
        """Do what is ready now; False when there was nothing to do."""
        if self._idle_until() > self._boundary.clock.now() or self._is_electing:
            return False
        if self._is_busy:
            self._renew()
            return False
        self._is_busy, gate = True, self._gate
        try:
            return self._act()
        except Crashed:
            if not gate.is_closed:
                self.crash()
            return True
        finally:
            self._is_busy = False

    def _act(self) -> bool:
        if self._elector is not None and not self._leads(self._elector):
            return False
        if self._loop is None:
            self._loop = self._started()
            self._is_synced = isinstance(self.running, TakingTurns)
        if not self._is_synced:
            # Controllers that act before everything was listed would act on a cluster that looks empty.
            self._is_synced = self._loop.sync()
            return self._is_synced
        return self._loop.step()

    def _renew(self) -> None:
        """Keep the lease while a call is under way, as a thread of its own does; without it, what is under way ends."""
        if self._elector is not None and self._elector.next_at <= self._boundary.clock.now():
            try:
                self._leads(self._elector)
            except Crashed:
                self.crash()

    def next_time(self) -> float | None:
        """When it has something to do again, if nothing happens before."""
        idle_until = self._idle_until()
        if idle_until > self._boundary.clock.now():
            return idle_until
        if self._is_electing:
            return None
        times = [] if self._elector is None else [self._elector.next_at]
        if self._is_busy:
            return min(times, default=None)
        times += self._gate.late.values()
        at = self._loop.next_time() if self._loop is not None else None
        return min(times if at is None else [*times, at], default=None)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is ready now."""
        return self._loop is None or (self._loop.is_quiet and not self._gate.late)

    @property
    def loop(self) -> Loop | None:
        """The loop of this life; None while the process is down, or stands by."""
        return self._loop

    @property
    def acting(self) -> frozenset[str]:
        """The names of its controllers that reconciled last, if that was at this instant."""
        return frozenset() if self._loop is None else self._loop.acting

    @property
    def is_up(self) -> bool:
        """Whether it runs, or stands by, and sees things as they are."""
        gate, now = self._gate, self._boundary.clock.now()
        is_hindered = self._is_busy or bool(gate.late) or gate.deposed_until > now
        return self._idle_until() <= now and not is_hindered

    def is_named(self, identity: str) -> bool:
        """Whether the lease of this holder is this process's."""
        return self._elector is not None and identity == f"{self.name}_{self._stood}"

    @property
    def lease(self) -> tuple[str, str]:
        """Namespace and name of the lease over which processes of this kind elect."""
        return ELECTION_NAMESPACE, ELECTION_NAME

    def _idle_until(self) -> float:
        return max(self._down_until, self._gate.stalled_until)

    # Its life

    def crash(self, down_s: float = RESTART_S) -> None:
        """End this life; the next one begins some seconds later, knowing nothing."""
        self._gate.is_closed = True
        self._loop = self.running = None
        self._begin()
        self._down_until = self._boundary.clock.now() + down_s

    def _begin(self) -> None:
        """A new life: through its own gate it stands for election."""
        gate = self._gate = Gate(self._boundary, self.name, elects=self.elects)
        self._elector: LeaderElector | None = None
        if self.elects:
            self._stood += 1
            # A name of its own for each life: the lease of the last one is not this one's.
            identity = f"{self.name}_{self._stood}"
            # Clocks that measure spans do not jump, so this is not the gate's.
            elector = self._elector = LeaderElector(GatedKube(self._kube, gate), self._boundary.clock, identity)
            gate.may_act = lambda: elector.is_leader

    def _leads(self, elector: LeaderElector) -> bool:
        """Keep the lease; a process that led and does not any more ends, as there is no telling what it was about to do."""
        self._is_electing = True
        try:
            leads = elector.attend()
        finally:
            self._is_electing = False
        if not leads and self._loop is not None:
            self.crash()
        return leads

    def _started(self) -> Loop:
        gate, clock = self._gate, self._boundary.clock
        kube = GatedKube(self._kube, gate)
        self.lives += 1
        surroundings = Surroundings(
            kube=kube,
            providers=(self._connect(gate),),
            clock=gate,
            log=Log(lambda level, event: self._told(self.name, level, event)),
            on_decision=lambda _now, decision: self._decided(self.name, decision),
        )
        made = self._program(surroundings)
        # Another order in each life: a restart must not repeat the very moves that led to it.
        loop = Loop(kube, clock, seed=f"{self._seed}/{self.name}/{self.lives}")
        install(loop, made)
        self.running = made
        return loop


def install(loop: Loop, made: Autoscaler | Sequence[Controller]) -> None:
    """Have the loop run these controllers, and tell the state of an autoscaler what happens.

    Raises:
        PluginError: it is neither an autoscaler nor controllers.
    """
    controllers = made if isinstance(made, Sequence) else _fed(loop, made)
    for controller in controllers:
        loop.add(controller)
        if not controller.sources:
            loop.wake(controller, Request())  # nothing else would ever
    if isinstance(made, Comparing):
        made.on_missed(lambda event: _wake(loop, controllers, event))


def _wake(loop: Loop, controllers: Sequence[Controller], event: WatchEvent) -> None:
    """Wake those whom the event would have woken, had a watch told it."""
    for controller in controllers:
        for source in controller.sources:
            for request in source.requests(event) if source.kind == event.kind else ():
                loop.wake(controller, request)


def _fed(loop: Loop, made: Autoscaler) -> Sequence[Controller]:
    if not all(hasattr(made, part) for part in ("kinds", "state", "controllers")):
        raise PluginError(
            f"a program made {type(made).__name__}; accepted: controllers, or an object with kinds, state and controllers"
        )
    for kind in made.kinds:
        loop.subscribe(kind, made.state.apply)
        loop.on_list(kind, made.state.retain)
    return made.turns if isinstance(made, TakingTurns) else made.controllers
