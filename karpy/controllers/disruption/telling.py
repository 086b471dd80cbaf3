"""What disruption says: events on nodes, claims and pods, and log lines, with Karpenter's words (core specification 5.12)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from karpy import labels
from karpy.controllers.metrics.decisions import DecisionCounts, pools_of
from karpy.controllers.shared import Shared
from karpy.disruption.command import Command, Method
from karpy.disruption.engine import Pass
from karpy.disruption.verdicts import (
    BlockedBy,
    BudgetSpent,
    Chosen,
    NoCheaper,
    NotJudgedYet,
    NotWanted,
    ScoreBelow,
    ValidationFailed,
    Verdict,
)
from karpy.objects.kinds import NODE, NODE_CLAIM, POD
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.scheduling.plan import Launch
from karpy.state.snapshot import Snapshot

__all__ = ["Telling"]

_BLOCKED, _UNCONSOLIDATABLE = "DisruptionBlocked", "Unconsolidatable"
_TOLD_AGAIN_S: Mapping[str, float] = {_BLOCKED: 120.0, _UNCONSOLIDATABLE: 900.0}
_CONSOLIDATING = frozenset({Method.EMPTINESS, Method.MULTI_NODE, Method.SINGLE_NODE})
_TOLD_ELSEWHERE = (BudgetSpent, Chosen, NotJudgedYet, ScoreBelow, ValidationFailed)
"""Verdicts that are told on the pool, or as what becomes of a command, or only counted."""
_DEAR = (BlockedBy, NoCheaper)
"""Verdicts whose words may have to be found by simulating what they are about."""
_MOST_DEAR = 100
"""Of so many nodes such words are found in one pass; the others have theirs told in the next ones."""
_IDS = uuid.UUID("5f1a6b1e-7f0c-4a53-9a0e-3f4f6c9f1d27")
"""The name space of the ids of commands."""


class Telling:
    """Events and log lines; what is counted goes with them. Remembers what it said, so as not to find the words again."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._counts = DecisionCounts(shared)
        self.timed = self._counts.timed
        self._said: dict[tuple[str, str], tuple[Verdict, float]] = {}
        """What was last said of a machine, by uid and reason of the event, and when."""

    # What a pass comes to

    def judged(self, found: Pass, snapshot: Snapshot, busy: AbstractSet[str]) -> None:
        """Why each node stays. What all of a pool's nodes have in common is told on the pool, and not here."""
        self._counts.judged(found, snapshot)
        holds = {candidate.view.name: candidate.hold for candidate in found.candidates}
        there: set[tuple[str, str]] = set()
        dear, now = 0, self._shared.clock.now()
        for name, view in snapshot.nodes.by_name.items():
            if view.claim is None or not view.is_initialized or view.is_leaving or view.claim.name in busy:
                continue  # it is on its way here, or away, and its own events say so
            verdicts, hold = found.docket.of(name), holds.get(name)
            for reason, verdict in _to_tell(verdicts, hold):
                key = (view.claim.metadata.uid, reason)
                there.add(key)
                has_words = verdict is hold or verdict is verdicts.get(None)
                if not has_words and self._is_said(key, verdict, now):
                    continue
                if not has_words and isinstance(verdict, _DEAR):
                    dear += 1
                    if dear > _MOST_DEAR:
                        continue
                self._said[key] = (verdict, now)
                self._tell(view.claim, view.node, reason, str(verdict), repeat_s=_TOLD_AGAIN_S[reason])
        self._said = {key: said for key, said in self._said.items() if key in there}

    def _is_said(self, key: tuple[str, str], verdict: Verdict, now: float) -> bool:
        """Whether just that was said of the machine lately. Where there are words already, they decide what is the same."""
        said, at = self._said.get(key, (None, 0.0))
        return said == verdict and 0 <= now - at < _TOLD_AGAIN_S[key[1]]

    def found(self, command: Command, snapshot: Snapshot) -> None:
        """It will be carried out if it is still right a while later."""
        if command.method in (Method.MULTI_NODE, Method.SINGLE_NODE):
            self._tell_each(command, snapshot, "ConsolidationCandidate", "Consolidation candidate: {}", "")
            self._approve(command, snapshot)

    def _approve(self, command: Command, snapshot: Snapshot) -> None:
        """Pools of the policy Balanced find it worth its trouble: told on the node, or where several go on each of these pools."""
        view = snapshot.machine(command.claims[0])
        for score in command.scores:
            pool = snapshot.pool(score.pool)
            if len(command.claims) == 1 and view is not None:
                self._tell(view.claim, view.node, "ConsolidationApproved", str(score))
            elif pool is not None:
                self._shared.recorder.normal(pool.origin, pool.metadata, "ConsolidationApproved", str(score))

    def refuted(self, command: Command, why: ValidationFailed, snapshot: Snapshot) -> None:
        """It is not right any more."""
        self._counts.refuted(command)
        said = {"command": _title(command, snapshot), "reason": why.category, "change": why.change}
        self._shared.log.debug("abandoning disruption attempt", **said)
        if command.method in (Method.MULTI_NODE, Method.SINGLE_NODE):
            reason = f", reason: {why.category}"
            self._tell_each(command, snapshot, "ConsolidationRejected", "Consolidation rejected: {}", reason)

    def late(self, method: Method, seconds: float) -> None:
        """This method has not been asked for so long."""
        self._shared.log.warning(f"abnormal time between runs of {method.value} = {seconds:.0f}s")

    # What becomes of a command

    def begins(self, command: Command, snapshot: Snapshot) -> None:
        """It is carried out from now on."""
        self._counts.started(command, snapshot)
        said = f"{command.reason.value}/{_id(command, self._shared.clock.now())}: {_title(command, snapshot)}"
        self._shared.log.info("disrupting node(s)", command=said, **_described(command, snapshot))

    def moves(self, command: Command, replacements: Sequence[str], snapshot: Snapshot) -> None:
        """Where its pods should go, now that their nodes go. Those that nobody brings back go nowhere."""
        pods = {
            pod.key: pod for claim in command.claims for pod in _pods_of(claim, snapshot) if pod.metadata.controller
        }
        for move in command.moves:
            to = move.to
            view = snapshot.node(to) if isinstance(to, str) else snapshot.machine(replacements[to])
            if view is None or move.pod not in pods:
                continue
            claim = f"nodeclaim/{view.claim.name}, " if view.claim is not None else ""
            text = f"Pod should schedule on: {claim}node/{view.name}"
            self._shared.recorder.normal(POD, pods[move.pod].metadata, "Nominated", text)

    def waits(self, names: Iterable[str], command: Command) -> None:
        """These replacements are not ready for pods yet."""
        for name in names:
            claim = self._shared.state.claim(name)
            if claim is not None:
                text = f"Launching NodeClaim: {command.reason.value}"
                self._tell(claim, None, "DisruptionLaunching", text)
                self._tell(claim, None, "DisruptionWaitingReadiness", "Waiting on readiness to continue disruption")

    def ends(self, claim: NodeClaim, node: Node, command: Command) -> None:
        """The claim is deleted now."""
        why = command.reason.value
        self._tell(None, node, "DisruptionTerminating", f"Disrupting Node: {why}")
        self._tell(claim, None, "DisruptionTerminating", f"Disrupting NodeClaim: {why}")

    def succeeded(self, command: Command, snapshot: Snapshot) -> None:
        """All claims are deleted."""
        self._shared.log.debug("command succeeded", **_described(command, snapshot))

    def failed(self, command: Command, claims: Iterable[str], why: str, missing: int) -> None:
        """It is undone; so many replacements had not come up."""
        self._counts.failed(command, missing)
        self._shared.log.error("failed to disrupt nodes", command=str(command), error=why)
        self.stay(dict.fromkeys(claims, why))

    def stay(self, reasons: Mapping[str, str]) -> None:
        """These claims, and their nodes, were to go and stay after all, each for a reason."""
        for name, why in reasons.items():
            view = self._shared.state.machine(name)
            if view is not None:
                self._tell(view.claim, view.node, "DisruptionAbandoned", f"The node stays: {why}")

    # How

    def _tell(
        self, claim: NodeClaim | None, node: Node | None, reason: str, text: str, *, repeat_s: float = 120.0
    ) -> None:
        recorder = self._shared.recorder
        if node is not None:
            recorder.normal(NODE, node.metadata, reason, text, repeat_s=repeat_s)
        if claim is not None:
            recorder.normal(NODE_CLAIM, claim.metadata, reason, text, repeat_s=repeat_s)

    def _tell_each(self, command: Command, snapshot: Snapshot, reason: str, text: str, why: str) -> None:
        """On each node and claim of a command, as a part of it."""
        count = len(command.nodes)
        target = f" (part of {count}-node consolidation)" if count > 1 else _target(command)
        for claim, node in zip(command.claims, command.nodes, strict=True):
            view = snapshot.machine(claim)
            if view is not None:
                part = f"{command.decision.value}: [{node}]{target}"
                said = f"{text.format(part)}{why} (savings: ${command.savings:.2f})"
                self._tell(view.claim, view.node, reason, said)


def _to_tell(verdicts: Mapping[Method | None, Verdict], hold: Verdict | None) -> Iterator[tuple[str, Verdict]]:
    """What of a machine's verdicts is told, and the reason of the event. Of several methods that have something to say the last
    counts."""
    found: dict[str, Verdict] = {}
    for method, verdict in verdicts.items():
        if isinstance(verdict, _TOLD_ELSEWHERE) or (isinstance(verdict, NotWanted) and not verdict.is_told):
            continue
        is_about_money = method in _CONSOLIDATING and verdict is not hold
        found[_UNCONSOLIDATABLE if is_about_money else _BLOCKED] = verdict
    yield from found.items()


def _pods_of(claim: str, snapshot: Snapshot) -> Sequence[Any]:
    view = snapshot.machine(claim)
    return () if view is None else view.reschedulable_pods


def _target(command: Command) -> str:
    count = len(command.replacements)
    return f" -> [{count} replacement{'s' if count > 1 else ''}]" if count else ""


def _title(command: Command, snapshot: Snapshot) -> str:
    """The command in one line, with the pools that lose nodes."""
    decision, _, rest = str(command).partition(": ")
    return f"{decision}: nodepools=[{', '.join(pools_of(command, snapshot))}]: {rest}"


def _id(command: Command, now: float) -> str:
    """One that no other command has, and the same in each run of a world."""
    return str(uuid.uuid5(_IDS, f"{now!r} {' '.join(command.claims)}"))


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
