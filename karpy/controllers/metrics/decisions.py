"""What is told of decisions to take nodes away: how many there are, how long they are searched for, and what a log line says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from karpy import labels
from karpy.cloud.instancetype import Catalog
from karpy.controllers.shared import Shared
from karpy.disruption.candidates import candidates
from karpy.disruption.command import Command, Reason
from karpy.disruption.engine import eligible
from karpy.metrics import (
    DISRUPTION_DECISIONS,
    DISRUPTION_DECISIONS_BY_NODEPOOL,
    DISRUPTION_ELIGIBLE_NODES,
    DISRUPTION_EVALUATION_DURATION,
    DISRUPTION_FAILED_VALIDATIONS,
    DISRUPTION_QUEUE_FAILURES,
    Reading,
)
from karpy.scheduling.plan import Launch
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot

__all__ = ["DecisionRecord", "read_eligible"]

_SEARCHES = {Reason.EMPTY: "empty", Reason.UNDERUTILIZED: "single"}
"""What the search for each reason is called; others are no consolidation."""


class DecisionRecord:
    """Tells metrics and log what becomes of commands."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def timed(self, reason: Reason, search: Callable[[], Command | None]) -> Command | None:
        """One search, and how long it took."""
        start = self._shared.clock.now()
        found = search()
        took = max(self._shared.clock.now() - start, 0.0)
        kind = {"reason": reason.value.lower(), "consolidation_type": _SEARCHES.get(reason, "")}
        self._shared.metrics.observe(DISRUPTION_EVALUATION_DURATION, took, **kind)
        return found

    def started(self, command: Command, snapshot: Snapshot) -> None:
        """It is carried out from now on."""
        kind = _kind(command)
        self._shared.metrics.add(DISRUPTION_DECISIONS, **kind)
        for pool in _pools(command, snapshot):
            self._shared.metrics.add(DISRUPTION_DECISIONS_BY_NODEPOOL, nodepool=pool, **kind)
        said = f"{command.reason.value}/{command.version}: {_with_pools(command, snapshot)}"
        self._shared.log.info("disrupting node(s)", command=said, **_described(command, snapshot))

    def refuted(self, command: Command) -> None:
        """It was no longer right when it was to be carried out."""
        self._shared.metrics.add(DISRUPTION_FAILED_VALIDATIONS, consolidation_type=_SEARCHES.get(command.reason, ""))

    def succeeded(self, command: Command, snapshot: Snapshot) -> None:
        """The replacements are up, and the nodes go."""
        self._shared.log.debug("command succeeded", **_described(command, snapshot))

    def failed(self, command: Command) -> None:
        """The replacements did not come up."""
        self._shared.metrics.add(DISRUPTION_QUEUE_FAILURES, **_kind(command))
        self._shared.log.error("failed to disrupt nodes, replacements did not come up", command=str(command))


def read_eligible(snapshot: Snapshot, catalog: Catalog, now: float, settings: Settings) -> Iterator[Reading]:
    """How many nodes might go now for each reason, if budgets and the other nodes allow it."""
    found, _refused = candidates(snapshot, catalog, now=now, settings=settings)
    for reason, count in eligible(found).items():
        yield Reading(DISRUPTION_ELIGIBLE_NODES, count, {"reason": reason.value.lower()})


def _kind(command: Command) -> dict[str, str]:
    """What tells this decision from others in metrics."""
    return {
        "decision": command.decision.value,
        "reason": command.reason.value.lower(),
        "consolidation_type": _SEARCHES.get(command.reason, ""),
    }


def _pools(command: Command, snapshot: Snapshot) -> list[str]:
    """The pools that lose nodes."""
    views = (snapshot.machine(claim) for claim in command.claims)
    return sorted({view.pool for view in views if view is not None})


def _with_pools(command: Command, snapshot: Snapshot) -> str:
    decision, _, rest = str(command).partition(": ")
    return f"{decision}: nodepools=[{', '.join(_pools(command, snapshot))}]: {rest}"


def _described(command: Command, snapshot: Snapshot) -> dict[str, Any]:
    """The keys of a log line about a command."""
    views = [snapshot.machine(claim) for claim in command.claims]
    return {
        "decision": command.decision.value,
        "disrupted_node_count": len(command.nodes),
        "replacement_node_count": len(command.replacements),
        "pod_count": sum(len(view.reschedulable_pods) for view in views if view is not None),
        "disrupted_nodes": [
            {
                "Node": {"name": view.name},
                "NodeClaim": {"name": claim},
                "capacity-type": view.labels.get(labels.CAPACITY_TYPE, ""),
                "instance-type": view.labels.get(labels.INSTANCE_TYPE, ""),
            }
            for claim, view in zip(command.claims, views, strict=True)
            if view is not None
        ],
        "replacement_nodes": [_replacement(launch) for launch in command.replacements],
    }


def _replacement(launch: Launch) -> dict[str, str]:
    allowed = launch.requirements.get(labels.CAPACITY_TYPE)
    chosen = allowed.single() if allowed is not None else None
    return {"capacity-type": chosen or "", "instance-types": launch.instance_types_text}
