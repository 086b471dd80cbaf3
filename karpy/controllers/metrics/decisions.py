"""What is measured of decisions to take nodes away: how many, how long they are searched for, and what was found of each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from karpy.cloud.instancetype import Catalog
from karpy.controllers.shared import Shared
from karpy.disruption.candidates import candidates
from karpy.disruption.command import Command, Method, Reason
from karpy.disruption.engine import Pass, eligible
from karpy.disruption.verdicts import ScoreBelow, Verdict
from karpy.metrics import (
    CONSOLIDATION_MOVES,
    CONSOLIDATION_SCORE,
    DISRUPTION_DECISIONS,
    DISRUPTION_DECISIONS_BY_NODEPOOL,
    DISRUPTION_ELIGIBLE_NODES,
    DISRUPTION_EVALUATION_DURATION,
    DISRUPTION_FAILED_VALIDATIONS,
    DISRUPTION_PASSES_SINCE_JUDGED,
    DISRUPTION_QUEUE_FAILURES,
    DISRUPTION_VERDICTS,
    Reading,
)
from karpy.objects.nodepool import BALANCED
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot

__all__ = ["DecisionCounts", "pools_of", "read_eligible"]


class DecisionCounts:
    """Tells metrics what searches come to and what becomes of commands."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._shown: frozenset[tuple[str, str]] = frozenset()
        """The pools and verdicts that the gauge shows."""
        self._rejected: Mapping[str, Verdict] = {}
        """The nodes of which it was found that they save too little, so that this is counted once."""

    def timed(self, method: Method, search: Callable[[], Sequence[Command]]) -> Sequence[Command]:
        """One search, and how long it took."""
        start = self._shared.clock.now()
        found = search()
        took = max(self._shared.clock.now() - start, 0.0)
        kind = {"reason": method.reason.value.lower(), "consolidation_type": method.consolidation_type}
        self._shared.metrics.observe(DISRUPTION_EVALUATION_DURATION, took, **kind)
        return found

    def judged(self, found: Pass, snapshot: Snapshot) -> None:
        """The verdicts of a pass, counted, and the longest that a node has been waiting for its own."""
        metrics, by_name = self._shared.metrics, snapshot.nodes.by_name
        counts = Counter((by_name[name].pool, verdict.kind) for name, verdict in found.verdicts.items())
        for pool, kind in self._shown - counts.keys():
            metrics.forget(DISRUPTION_VERDICTS, nodepool=pool, verdict=kind)
        for (pool, kind), count in counts.items():
            metrics.set(DISRUPTION_VERDICTS, count, nodepool=pool, verdict=kind)
        self._shown = frozenset(counts)
        metrics.set(DISRUPTION_PASSES_SINCE_JUDGED, found.longest_wait)
        rejected = {name: verdict for name, verdict in found.verdicts.items() if isinstance(verdict, ScoreBelow)}
        for name, verdict in rejected.items():
            if verdict != self._rejected.get(name):
                self._moved("rejected", by_name[name].pool, snapshot)
                self._scored("rejected", by_name[name].pool, verdict.score)
        self._rejected = rejected

    def started(self, command: Command, snapshot: Snapshot) -> None:
        """It is carried out from now on."""
        kind = _kind(command)
        self._shared.metrics.add(DISRUPTION_DECISIONS, **kind)
        for pool in pools_of(command, snapshot):
            self._shared.metrics.add(DISRUPTION_DECISIONS_BY_NODEPOOL, nodepool=pool, **kind)
            if command.reason is Reason.UNDERUTILIZED:
                self._moved("approved", pool, snapshot)

        for each in command.scores:
            self._scored("approved", each.pool, each.value)

    def _scored(self, decision: str, pool: str, score: float) -> None:
        self._shared.metrics.observe(CONSOLIDATION_SCORE, score, decision=decision, nodepool=pool, policy=BALANCED)

    def _moved(self, decision: str, name: str, snapshot: Snapshot) -> None:
        pool = snapshot.pool(name)
        policy = pool.consolidation_policy if pool is not None else ""
        self._shared.metrics.add(CONSOLIDATION_MOVES, decision=decision, nodepool=name, policy=policy)

    def refuted(self, command: Command) -> None:
        """It was no longer right when it was to be carried out."""
        self._shared.metrics.add(DISRUPTION_FAILED_VALIDATIONS, consolidation_type=command.method.consolidation_type)

    def failed(self, command: Command, missing: int) -> None:
        """It was undone; so many of its replacements had not come up."""
        self._shared.metrics.add(DISRUPTION_QUEUE_FAILURES, missing, **_kind(command))


def read_eligible(snapshot: Snapshot, catalog: Catalog, now: float, settings: Settings) -> Iterator[Reading]:
    """How many nodes might go now for each reason, if budgets and the other nodes allow it."""
    found, _refused = candidates(snapshot, catalog, now=now, settings=settings)
    for reason, count in eligible(found).items():
        yield Reading(DISRUPTION_ELIGIBLE_NODES, count, {"reason": reason.value.lower()})


def pools_of(command: Command, snapshot: Snapshot) -> list[str]:
    """The pools that lose nodes."""
    views = (snapshot.machine(claim) for claim in command.claims)
    return sorted({view.pool for view in views if view is not None})


def _kind(command: Command) -> dict[str, str]:
    """What tells this decision from others in metrics."""
    return {
        "decision": command.decision.value,
        "reason": command.reason.value.lower(),
        "consolidation_type": command.method.consolidation_type,
    }
