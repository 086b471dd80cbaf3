"""The run loop of a simulated world: every controller in one thread, on virtual time, in a seeded order.

Watch events wake requests, requests are reconciled in rounds, and when nothing is left to do at this instant the clock jumps
to the next timer. A controller that nothing wakes costs nothing. Two runs of the same seed do the same calls in the same order.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

import attrs

from karpy.controllers.base import Controller, Request, Result
from karpy.errors import InternalError, KarpyError, KubeError, PluginError, Throttled
from karpy.kube.client import KubeClient, RawObject
from karpy.kube.watch import Reflector
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.clock import VirtualClock

__all__ = ["Guest", "Loop", "News"]

Listener = Callable[[WatchEvent], None]

FIRST_BACKOFF_S = 0.1
LONGEST_BACKOFF_S = 30.0
FIRST_WATCH_BACKOFF_S = 1.0
ROUNDS_PER_INSTANT = 10_000
"""A world that is still busy after so many rounds without time passing never comes to rest: that is a bug."""


@attrs.define(eq=False)
class _Seat:
    """One controller in the loop: which of its requests are ready, when the others are due, how often they failed."""

    controller: Controller
    ready: dict[Request, None] = attrs.field(factory=dict)
    due: dict[Request, float] = attrs.field(factory=dict)
    failures: dict[Request, int] = attrs.field(factory=dict)


@attrs.define(eq=False)
class _Feed:
    """Everything that listens to one kind."""

    reflector: Reflector
    place: tuple[str, str]
    """The group and the plural of the kind."""
    heard: int | None = None
    """Up to which change its watch was asked; None: it must be asked."""
    listeners: list[Listener] = attrs.field(factory=list)
    retainers: list[Callable[[Kind, AbstractSet[str]], None]] = attrs.field(factory=list)
    sources: list[tuple[_Seat, Callable[[WatchEvent], Iterable[Request]]]] = attrs.field(factory=list)
    resting_until: float = 0.0
    rest_s: float = FIRST_WATCH_BACKOFF_S


class News(Protocol):
    """What tells that a watch has something to say, so that none is asked in vain."""

    @property
    def changes(self) -> int:
        """A number that grows with every change to the cluster, once watches can tell of it."""
        ...

    @property
    def changed(self) -> Mapping[tuple[str, str], int]:
        """That number as of the last change to a kind, by its group and plural."""
        ...


class Guest(Protocol):
    """Something with a life of its own that takes part in every round."""

    def step(self) -> bool:
        """Do what is ready now; False when there was nothing to do."""
        ...

    def next_time(self) -> float | None:
        """When it has something to do again though nothing happens."""
        ...

    @property
    def acting(self) -> Collection[str]:
        """The names of the controllers that reconciled last, if that was at this instant."""
        ...

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is ready now."""
        ...


class Loop:
    """Runs controllers over ``kube``. Not safe for threads: one thread owns it."""

    def __init__(self, kube: KubeClient, clock: VirtualClock, seed: int | str = 0, *, news: News | None = None) -> None:
        """With ``news``, if the cluster has them, only watches that have something to say are asked."""
        self._kube = kube
        self._news = news
        self._heard: int | None = None
        self._clock = clock
        self._random = random.Random(f"loop/{seed}")
        self._feeds: dict[Kind, _Feed] = {}
        self._seats: dict[Controller, _Seat] = {}
        self._timers: list[tuple[float, int, _Seat | None, Request]] = []
        self._sequence = 0
        self._guests: list[Guest] = []
        self._acted: tuple[float, Sequence[tuple[_Seat, Request]]] = (-math.inf, ())
        self.reconciles = 0
        self.errors: Counter[tuple[str, str]] = Counter()
        """Failed reconciles by controller and class of error."""

    # Wiring

    def add(self, controller: Controller) -> None:
        """Let ``controller`` take part; it hears of everything that exists already."""
        seat = self._seats[controller] = _Seat(controller)
        for source in controller.sources:
            feed = self._feed(source.kind)
            feed.sources.append((seat, source.requests))
            for obj in tuple(feed.reflector.objects.values()):
                for request in source.requests(WatchEvent(EventType.ADDED, source.kind, obj)):
                    seat.ready[request] = None

    def invite(self, guest: Guest) -> None:
        """Let ``guest`` take part in every round, after the controllers."""
        self._guests.append(guest)

    def subscribe(self, kind: Kind, listener: Listener) -> None:
        """Call ``listener`` with every event of ``kind``, before the controllers hear of it; what exists is told first."""
        feed = self._feed(kind)
        feed.listeners.append(listener)
        for obj in tuple(feed.reflector.objects.values()):
            listener(WatchEvent(EventType.ADDED, kind, obj))

    def objects(self, kind: Kind) -> Mapping[tuple[str, str], RawObject]:
        """The objects of a kind by namespace and name, as of the last events taken in. It is live: do not change it."""
        return self._feed(kind).reflector.objects

    def wake(self, controller: Controller, request: Request, after_s: float = 0.0) -> None:
        """Have ``request`` looked at, at the latest ``after_s`` seconds from now."""
        seat = self._seats[controller]
        if after_s <= 0:
            seat.ready[request] = None
            return
        at = self._clock.now() + after_s
        known = seat.due.get(request)
        if known is None or at < known:
            self._set_timer(seat, request, at)

    def _feed(self, kind: Kind) -> _Feed:
        feed = self._feeds.get(kind)
        if feed is None:
            feed = _Feed(Reflector(self._kube, kind, self._take, self._listed), (kind.group, kind.plural))
            self._feeds[kind] = feed
            self._heard = None
        return feed

    def on_list(self, kind: Kind, listener: Callable[[Kind, AbstractSet[str]], None]) -> None:
        """Call ``listener`` with the keys of all objects of ``kind`` whenever they were listed; at once if they were before."""
        feed = self._feed(kind)
        feed.retainers.append(listener)
        if feed.reflector.has_listed:
            listener(kind, feed.reflector.keys())

    # Events

    def _listed(self, kind: Kind, keys: AbstractSet[str]) -> None:
        for retain in self._feeds[kind].retainers if kind in self._feeds else ():
            retain(kind, keys)

    def _take(self, event: WatchEvent) -> None:
        feed = self._feeds[event.kind]
        for listener in feed.listeners:
            listener(event)
        for seat, requests in feed.sources:
            for request in requests(event):
                seat.ready[request] = None

    def _poll(self) -> int:
        """Take in what happened; returns how many events that were."""
        at = None if self._news is None else self._news.changes
        if at is not None and at == self._heard:
            return 0
        self._heard = at
        changed = {} if self._news is None else self._news.changed
        taken = 0
        for feed in tuple(self._feeds.values()):
            if feed.heard is not None and changed.get(feed.place, 0) <= feed.heard:
                continue
            if feed.resting_until > self._clock.now():
                self._heard = None
                continue
            feed.heard = at
            try:
                taken += feed.reflector.poll()
            except KubeError:
                self._rest(feed)
            else:
                feed.rest_s = FIRST_WATCH_BACKOFF_S
        return taken

    def _rest(self, feed: _Feed) -> None:
        """Leave a kind alone for a while that cannot be listed, such as one whose definition is not installed."""
        self.errors["watch", feed.reflector.kind.resource] += 1
        feed.resting_until = self._clock.now() + feed.rest_s
        self._heard = feed.heard = None
        feed.rest_s = min(feed.rest_s * 2, LONGEST_BACKOFF_S)
        self._sequence += 1
        heapq.heappush(self._timers, (feed.resting_until, self._sequence, None, Request()))

    def sync(self) -> bool:
        """Take in events, but reconcile nothing yet; whether every kind has been listed."""
        self._poll()
        self._ring()
        return all(feed.reflector.has_listed for feed in self._feeds.values())

    # Rounds

    def step(self) -> bool:
        """Take in events and reconcile once whatever is ready; False when there was nothing to do."""
        taken = self._poll()
        self._ring()
        batch: list[tuple[_Seat, Request]] = []
        for seat in self._seats.values():
            if seat.ready:
                batch += [(seat, request) for request in seat.ready]
                seat.ready = {}
        if batch:
            self._acted = (self._clock.now(), batch)
        self._random.shuffle(batch)
        for seat, request in batch:
            self._reconcile(seat, request)
        busy = bool(batch) or taken > 0
        for guest in self._guests:
            busy = guest.step() or busy
        return busy

    def run_ready(self) -> int:
        """Step until nothing is left to do at this instant; returns the number of steps.

        Raises:
            InternalError: the controllers keep waking each other without time passing.
        """
        steps = 0
        while self.step():
            steps += 1
            if steps > ROUNDS_PER_INSTANT:
                busy = ", ".join(sorted(self.acting)) or "events only"
                raise InternalError(f"no rest after {steps} rounds at one instant; still busy: {busy}")
        return steps

    @property
    def acting(self) -> frozenset[str]:
        """The names of the controllers that reconciled last, its own and its guests', if that was at this instant."""
        at, batch = self._acted
        own = frozenset(seat.controller.name for seat, _ in batch if at == self._clock.now())
        return own.union(*(guest.acting for guest in self._guests))

    def next_time(self) -> float | None:
        """When the next timer rings, or None when only an event can wake anything."""
        while self._timers:
            at, _, seat, request = self._timers[0]
            if seat is None or seat.due.get(request) == at:
                break
            heapq.heappop(self._timers)
        own = self._timers[0][0] if self._timers else None
        if not self._guests:
            return own
        times = (own, *(guest.next_time() for guest in self._guests))
        return min((at for at in times if at is not None), default=None)

    def run(self, until: float) -> None:
        """Run to the time ``until``: everything that is due by then is done when this returns."""
        while True:
            self.run_ready()
            at = self.next_time()
            if at is None or at > until:
                break
            self._clock.set(max(at, self._clock.now()))
        self._clock.set(max(until, self._clock.now()))

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is ready now. Events that were not taken in yet do not count."""
        return not any(seat.ready for seat in self._seats.values()) and all(guest.is_quiet for guest in self._guests)

    def _ring(self) -> None:
        now = self._clock.now()
        while self._timers and self._timers[0][0] <= now:
            at, _, seat, request = heapq.heappop(self._timers)
            if seat is not None and seat.due.get(request) == at:
                del seat.due[request]
                seat.ready[request] = None

    def _set_timer(self, seat: _Seat, request: Request, at: float) -> None:
        seat.due[request] = at
        self._sequence += 1
        heapq.heappush(self._timers, (at, self._sequence, seat, request))

    def _reconcile(self, seat: _Seat, request: Request) -> None:
        """Run one request. What it answers replaces any timer that it had: the newest look at the world decides."""
        self.reconciles += 1
        seat.due.pop(request, None)
        try:
            result = seat.controller.reconcile(request)
        except InternalError:
            raise  # a bug of ours must be seen
        except KarpyError as error:
            self._back_off(seat, request, error)
            return
        after = _when(seat.controller, result)
        seat.failures.pop(request, None)
        if after is None:
            return
        if after <= 0:
            seat.ready[request] = None
        else:
            self._set_timer(seat, request, self._clock.now() + after)

    def _back_off(self, seat: _Seat, request: Request, error: KarpyError) -> None:
        self.errors[seat.controller.name, type(error).__name__] += 1
        failures = seat.failures.get(request, 0)
        seat.failures[request] = failures + 1
        delay = min(FIRST_BACKOFF_S * 2 ** min(failures, 20), LONGEST_BACKOFF_S)
        if isinstance(error, KubeError | Throttled):
            delay = max(delay, error.retry_after_s)
        self._set_timer(seat, request, self._clock.now() + delay)


def _when(controller: Controller, result: object) -> float | None:
    """When a controller wants to look again, as it said itself.

    Raises:
        PluginError: it said nothing of the kind.
    """
    if not isinstance(result, Result):
        found = f"controller {controller.name} returned {type(result).__name__} from reconcile"
        raise PluginError(f"{found}; accepted: a Result, such as DONE")
    return result.requeue_after_s
