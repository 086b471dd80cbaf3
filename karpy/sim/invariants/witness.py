"""Watches over a world: every invariant of `karpy.sim.invariants`, at each call or every quarter of a virtual minute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from karpy.controllers.base import Request, Result, Source
from karpy.disruption.command import Command
from karpy.objects import kinds
from karpy.sim.apiserver import ApiServer
from karpy.sim.invariants.facts import Facts, Findings, Violation
from karpy.sim.invariants.noise import events_are_bounded, log_is_bounded, one_leader_acts, writes_are_bounded
from karpy.sim.invariants.ownership import claims_have_instances, instances_have_claims, nodes_have_claims
from karpy.sim.invariants.progress import lives_bring_progress, pods_run, state_is_current
from karpy.sim.invariants.protection import budgets_hold, limits_hold, pods_are_not_disturbed
from karpy.sim.invariants.thrift import (
    consolidation_rests,
    consolidation_saves,
    launches_are_bounded,
    replacements_come_first,
)
from karpy.sim.processes.boundary import Boundary
from karpy.sim.processes.process import Process
from karpy.sim.processes.trace import Call
from karpy.sim.site import Site

__all__ = ["AFTER_CALLS", "BEFORE_CALLS", "SAMPLED", "Violation", "Witness"]

SAMPLE_S = 15.0
LONGEST_REST_S = 240.0
LONGEST_DOUBT_S = 60.0
"""Between two looks at a cluster in which nothing is written, and at one where something may turn out wrong."""

SAMPLED: Sequence[Callable[[Facts], Findings]] = (
    instances_have_claims,
    claims_have_instances,
    nodes_have_claims,
    pods_run,
    state_is_current,
    lives_bring_progress,
)
BEFORE_CALLS: Sequence[Callable[[Facts, Call], Findings]] = (
    pods_are_not_disturbed,
    writes_are_bounded,
    events_are_bounded,
    one_leader_acts,
    replacements_come_first,
    consolidation_rests,
)
AFTER_CALLS: Sequence[Callable[[Facts, Call], Findings]] = (
    limits_hold,
    budgets_hold,
    consolidation_saves,
    launches_are_bounded,
)


class Witness:
    """A controller of the world that changes nothing. Each violation is told once, when it is first seen."""

    name = "witness"
    sources: Sequence[Source] = ()

    def __init__(self, api: ApiServer, site: Site, boundary: Boundary, processes: Sequence[Process]) -> None:
        self.facts = Facts(api, site, boundary, processes)
        self.violations: dict[tuple[str, str], Violation] = {}
        self._rest_s = SAMPLE_S
        self._wake: Callable[[float], None] = lambda _after_s: None
        boundary.guards.append(self._before)
        boundary.watchers.append(self._after)

    def reconcile(self, request: Request) -> Result:
        del request
        before = self.facts.last_written[0]
        self.check()
        most_s = LONGEST_DOUBT_S if self.facts.is_in_doubt else LONGEST_REST_S
        self._rest_s = min(2 * self._rest_s, most_s) if self.facts.last_written[0] == before else SAMPLE_S
        return Result(self._rest_s)

    def wake_by(self, wake: Callable[[float], None]) -> None:
        """Have ``wake`` called with the seconds in which to look again, when something is written after a rest."""
        self._wake = wake
        self.facts.api.on_write(self._stir)

    def _stir(self) -> None:
        if self._rest_s > SAMPLE_S:
            self._rest_s = SAMPLE_S
            self._wake(SAMPLE_S)

    def check(self) -> tuple[Violation, ...]:
        """Look at everything now; returns all that was ever found, in order."""
        self.facts.tick()
        for invariant in SAMPLED:
            self._found(invariant.__name__, invariant(self.facts))
        return tuple(self.violations.values())

    def hear(self, who: str, level: str, event: str) -> None:
        """A process wrote a line to its log."""
        del level
        self._found(log_is_bounded.__name__, log_is_bounded(self.facts, who, event))

    def note_decision(self, who: str, decision: Any) -> None:
        """A process told what it is about to do."""
        if isinstance(decision, Command):
            self.facts.note_move(who, decision)

    def _before(self, call: Call) -> None:
        self.facts.calls[call.who] += 1
        if call.is_of_cloud and call.verb == "delete":
            self.facts.note_ending(call.name)
        for invariant in BEFORE_CALLS:
            self._found(invariant.__name__, invariant(self.facts, call))

    def _after(self, call: Call) -> None:
        if call.verb == "create":
            if call.is_of_cloud:
                self.facts.note_launch(call.body)
            elif call.kind == kinds.NODE_CLAIM:
                self.facts.note_claim(call.who, call.result, call.at)
        if call.ends_at is not None:
            self.facts.note_slowness(call.who, call.at, call.ends_at)
        for invariant in AFTER_CALLS:
            self._found(invariant.__name__, invariant(self.facts, call))

    def _found(self, invariant: str, findings: Iterable[tuple[str, str]]) -> None:
        for about, words in findings:
            if (invariant, about) not in self.violations:
                self.violations[invariant, about] = Violation(invariant, about, self.facts.now, words)
