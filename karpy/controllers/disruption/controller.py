"""Nodes that should go: look for commands, make sure a while later that they are still right, and begin them (core specification
5.1). What becomes of them then is the queue's business (`karpy.controllers.disruption.queue`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs

from karpy.controllers.base import Request, Result, Source, singleton
from karpy.controllers.disruption.intruders import newcomers
from karpy.controllers.disruption.lastlook import LastLook
from karpy.controllers.disruption.leftovers import undo_leftovers
from karpy.controllers.disruption.queue import Queue
from karpy.controllers.disruption.telling import Telling
from karpy.controllers.disruption.windows import tell_closed_budgets
from karpy.controllers.shared import Shared
from karpy.disruption.command import Command, Method
from karpy.disruption.engine import METHODS, Pass, eligible, look
from karpy.disruption.past import Past
from karpy.disruption.validation import validate
from karpy.disruption.verdicts import BudgetSpent, NotJudgedYet, Quarantined, ValidationFailed
from karpy.errors import KarpyError
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.nodeclaim import CONSOLIDATABLE, DRIFTED, INITIALIZED
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.catalogs import with_catalog
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Disruption"]

_BETWEEN_LOOKS_S = 1.0
"""Claims that turn consolidatable one shortly after another are looked at together: they may go together."""
_VERDICTS_EVERY_S = 300.0
"""So often it is told at least why nodes stay, though no method might want any of them to go."""
_LATE_S = 900.0
_MATTERING = frozenset((CONSOLIDATABLE, DRIFTED, INITIALIZED))


@attrs.frozen(eq=False)
class _Found:
    """Commands of one method that will be begun if they are still right a while later, and the picture they were found in."""

    method: Method
    commands: tuple[Command, ...]
    picture: Snapshot
    at: float


class Disruption:
    """One look after another; commands that were begun go on meanwhile."""

    name = "disruption"

    def __init__(self, shared: Shared, telling: Telling, queue: Queue) -> None:
        self._shared = shared
        self._telling = telling
        self._queue = queue
        self._last_look = LastLook()
        self._past = Past()
        self._found: _Found | None = None
        self._ended, self._pause_s = -math.inf, 0.0
        """When the last look ended, and how long there is none after it."""
        self._heard = -math.inf
        """When the first thing was heard that was not looked at yet."""
        self._looked: float | None = None
        self._asked: dict[Method, float] = {}
        """When each method was last asked, or had nothing to be asked about."""
        self._reached: dict[str, frozenset[str]] = {}

    # What wakes it

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE_CLAIM, self._when_it_matters),)

    def _when_it_matters(self, event: WatchEvent) -> Sequence[Request]:
        """Claims that turn consolidatable, drift, come up, or are gone; all else is looked at by polling."""
        name = event.object["metadata"]["name"]
        before = self._reached.pop(name, frozenset())
        if event.type is EventType.DELETED:
            return singleton(event)
        conditions = (event.object.get("status") or {}).get("conditions") or ()
        reached = frozenset(c.get("type") for c in conditions if c.get("status") == "True") & _MATTERING
        if reached:
            self._reached[name] = reached
        if not reached - before:
            return ()
        if self._heard == -math.inf:
            self._heard = self._shared.clock.now()
        return singleton(event)

    # What it does

    def reconcile(self, _request: Request) -> Result:
        now = self._shared.clock.now()
        if self._found is not None:
            left = self._found.at + self._shared.settings.validation_delay_s - now
            return Result(left) if 0 < left <= self._shared.settings.validation_delay_s else self._make_sure()
        left = max(self._ended + self._pause_s, self._heard + _BETWEEN_LOOKS_S) - now
        if 0 < left <= max(self._pause_s, _BETWEEN_LOOKS_S):
            return Result(left)
        self._heard = -math.inf
        self._note_failures()
        undo_leftovers(self._shared, self._queue.busy)
        result = self._look()
        self._ended = self._shared.clock.now()
        is_first_of_several = result.requeue_after_s == 0
        # At most half of the time is spent looking.
        self._pause_s = 0.0 if is_first_of_several else max(self._ended - now, _BETWEEN_LOOKS_S)
        return result

    def _look(self, after: Method | None = None) -> Result:
        """Look for commands, of the methods that come after that one if it is given. Some are begun at once."""
        shared, now = self._shared, self._shared.clock.now()
        poll_s = shared.settings.disruption_poll_s
        snapshot = shared.state.snapshot()
        if not snapshot.nodes:
            self._note_asked(now)
            return Result(None)
        self._looked = now if self._looked is None else self._looked
        if 0 <= now - self._looked < _VERDICTS_EVERY_S and not any(map(_may_go, snapshot.nodes)):
            self._note_asked(now)
            return Result(poll_s)
        complete, catalog = with_catalog(snapshot, shared.clouds, shared.settings)
        rest_s = self._last_look.left_s(complete, catalog, now)
        if rest_s > 0:
            self._note_asked(now)
            return Result(min(poll_s, rest_s))
        busy, self._looked = self._queue.busy, now
        with shared.passes.of(self.name, len(snapshot.to_place)):
            found = look(
                complete,
                catalog,
                now=now,
                settings=shared.settings,
                past=attrs.evolve(self._past, busy=busy),
                after=after,
                through=self._ask,
            )
        self._past = found.past
        self._tell(found, complete, busy, now)
        if found.commands:
            return self._take_up(found.commands, complete)
        if after is None and _is_complete(found):
            released = (each.until for each in found.verdicts.values() if isinstance(each, Quarantined))
            self._last_look.rest(complete, catalog, now, min(released, default=math.inf))
        return Result(min(poll_s, self._last_look.left_s(complete, catalog, now) or poll_s))

    def _take_up(self, commands: tuple[Command, ...], picture: Snapshot) -> Result:
        """Begin them, or wait whether they stay right. All commands of a look are of one method."""
        self._last_look.forget()
        method = commands[0].method
        if not method.is_graceful:
            return self._begin(commands, picture)
        self._found = _Found(method, commands, picture, self._shared.clock.now())
        for command in commands:
            self._telling.found(command, picture)
        return Result(self._shared.settings.validation_delay_s)

    def _make_sure(self) -> Result:
        """Begin those of the commands that are still right; if none is, the other methods are asked."""
        shared, now = self._shared, self._shared.clock.now()
        found, self._found = self._found, None
        assert found is not None
        newer, catalog = with_catalog(shared.state.snapshot(), shared.clouds, shared.settings)
        confirmed: list[Command] = []
        for command in found.commands:
            past = attrs.evolve(self._past, busy=self._queue.busy)
            again = validate(command, newer, catalog, now=now, settings=shared.settings, past=past)
            if isinstance(again, Command):
                again = _unless_disturbed(again, found.picture, newer)
            if isinstance(again, ValidationFailed):
                self._telling.refuted(command, again, newer)
            else:
                confirmed.append(again)
        return self._begin(confirmed, newer) if confirmed else self._look(found.method)

    def _begin(self, commands: Sequence[Command], picture: Snapshot) -> Result:
        """Begin them all. What one of them fails with keeps none of the others."""
        begun, failures = 0, []
        for command in commands:
            try:
                if self._queue.begin(command, picture):
                    begun += 1
                    self._past = self._past.after(command, picture, self._shared.clock.now())
            except KarpyError as error:
                failures.append(error)
        self._pause_s = 0.0
        if failures:
            raise failures[0]
        return Result(0 if begun else self._shared.settings.disruption_poll_s)

    # What it remembers

    def _note_failures(self) -> None:
        """After a command that was undone, there is something to look for again."""
        for command in self._queue.take_failed():
            self._past = self._past.failed(command)
            self._last_look.forget()

    def _ask(self, method: Method, search: Callable[[], Sequence[Command]]) -> Sequence[Command]:
        """One search."""
        self._asked[method] = self._shared.clock.now()
        return self._telling.timed(method, search)

    def _note_asked(self, now: float) -> None:
        """There is nothing that methods could be asked about."""
        self._asked = dict.fromkeys(METHODS, now)

    def _tell(self, found: Pass, snapshot: Snapshot, busy: frozenset[str], now: float) -> None:
        self._telling.judged(found, snapshot, busy)
        wanted = [reason for reason, count in eligible(found.candidates).items() if count]
        tell_closed_budgets(self._shared, snapshot, wanted, now)
        for method in METHODS:
            late_s = now - self._asked.setdefault(method, now)
            if late_s > _LATE_S:
                self._asked[method] = now
                self._telling.late(method, late_s)


def _may_go(view: NodeView) -> bool:
    """Whether any method might want it to go."""
    claim = view.claim
    return claim is not None and (claim.is_true(CONSOLIDATABLE) or claim.is_true(DRIFTED))


def _is_complete(found: Pass) -> bool:
    """Whether every node was judged, and none stays for the budgets alone: only then is there nothing to be found."""
    return not any(isinstance(verdict, (BudgetSpent, NotJudgedYet)) for verdict in found.verdicts.values())


def _unless_disturbed(command: Command, before: Snapshot, now: Snapshot) -> Command | ValidationFailed:
    """The command, if no pod has come in between that would have to move."""
    pod = next(iter(newcomers(command.claims, before, now).values()), None)
    return command if pod is None else ValidationFailed("churn", f"pod {pod} came to the node")
