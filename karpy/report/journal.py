"""`Journal`: follows a cluster by its watch events and karpy's decisions, and tells what happens, instant by instant."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from karpy.clock import Clock
from karpy.cloud.instancetype import Price
from karpy.disruption.command import Command
from karpy.objects.kinds import NODE_CLAIM, POD
from karpy.objects.watchevent import WatchEvent
from karpy.report.decisions import tell_command, tell_plan
from karpy.report.happening import Happening, What
from karpy.report.machines import MachineLedger
from karpy.report.pods import PodLedger
from karpy.report.scene import Scene
from karpy.scheduling.plan import Plan

__all__ = ["Journal"]

_REMEMBERED = 12
_GATHERED_S = 1.0
_DECISIONS = (What.LAUNCH_DECIDED, What.DISRUPTION_DECIDED, What.UNSCHEDULABLE)


class Journal:
    """Calls ``tell`` with every happening. What pods do at one instant is told together, when time has moved on.

    ``price_of`` gives the price per hour of a provider id. One thread at a time.
    """

    KINDS = (POD, NODE_CLAIM)
    """The kinds whose events `take` wants."""

    def __init__(
        self, clock: Clock, tell: Callable[[Happening], None], price_of: Callable[[str], Price | None]
    ) -> None:
        self._clock = clock
        self._tell = tell
        self.start = clock.now()
        self.pods = PodLedger()
        self.machines = MachineLedger(price_of)
        self.last_change = self.start
        """When a pod or a claim last moved on, or something was decided."""
        self._instant = self.start
        self._starts_since: float | None = None
        self._queue: list[Happening] = []
        self._recent: deque[Happening] = deque(maxlen=_REMEMBERED)
        self._decisions: deque[Happening] = deque(maxlen=_REMEMBERED)
        self._refusals: set[tuple[str, tuple[str, ...]]] = set()

    def take(self, event: WatchEvent) -> None:
        """Take in a watch event of one of `KINDS`."""
        now = self._turn_to_now()
        if event.kind == POD:
            if self.pods.take(event):
                self.last_change = now
                if self._starts_since is None:
                    self._starts_since = now
            return
        happening = self.machines.take(event, now)
        if happening is not None:
            self._add(happening)

    def decide(self, now: float, decision: Any) -> None:
        """Take in a decision of karpy's: a Plan or a Command."""
        self._turn_to_now()
        if isinstance(decision, Plan):
            for happening in tell_plan(now, decision):
                if self._is_news(happening):
                    self._add(happening)
        elif isinstance(decision, Command):
            self._add(tell_command(now, decision))

    def note(self, what: What, text: str, **fields: Any) -> None:
        """Tell of something that neither pods, claims nor decisions show."""
        self._add(Happening(self._turn_to_now(), what, text, fields))

    def flush(self) -> None:
        """Tell what is still held back. Pods that start one after another are told together, up to a second late."""
        at = self._instant
        queue, self._queue = self._queue, []
        happenings = [*queue, *self.pods.changes(at)]
        if self._starts_since is not None and (happenings or self._clock.now() - self._starts_since >= _GATHERED_S):
            self._starts_since = None
            happenings.extend(self.pods.started(at))
        for happening in happenings:
            (self._decisions if happening.what in _DECISIONS else self._recent).append(happening)
            self._tell(happening)

    def scene(self, *, price: Price, cost: float) -> Scene:
        """How things stand, with the bill, which the journal does not know."""
        return Scene(
            start=self.start,
            seconds=self._clock.now() - self.start,
            price=price,
            cost=cost,
            pods_pending=self.pods.pending,
            pods_starting=self.pods.starting,
            pods_running=self.pods.running,
            machines=self.machines.machines,
            pods_on={each.node: self.pods.on_node(each.node) for each in self.machines.machines if each.node},
            decisions=tuple(self._decisions),
            recent=tuple(self._recent),
        )

    def _add(self, happening: Happening) -> None:
        self.last_change = happening.at
        self._queue.append(happening)

    def _is_news(self, happening: Happening) -> bool:
        """A refusal is repeated with every pass; it is told once for the same pods and the same reason."""
        if happening.what is not What.UNSCHEDULABLE:
            return True
        key = (happening.fields["reason"], tuple(happening.fields["pods"]))
        known = key in self._refusals
        self._refusals.add(key)
        return not known

    def _turn_to_now(self) -> float:
        """Begin a new instant if time has moved on."""
        now = self._clock.now()
        if now != self._instant:
            self.flush()
            self._instant = now
        return now
