"""Nodes that should go: find a command, make sure that it is still right, launch what replaces them, delete them.

The order is what makes it safe to be interrupted (core specification 5.11): taint first, then replacements, and the claims
are deleted only when those are up. A command that was under way when karpy stopped is undone by the next pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs

from karpy.cloud.instancetype import Catalog, InstanceTypes
from karpy.controllers.base import Request, Result, Source, singleton
from karpy.controllers.metrics.decisions import DecisionRecord
from karpy.controllers.nodeclaim.creating import create_claim
from karpy.controllers.nodeclaim.ending import end_claim
from karpy.controllers.shared import Shared
from karpy.disruption.command import Command
from karpy.disruption.engine import next_command, still_valid
from karpy.objects.kinds import NODE, NODE_CLAIM
from karpy.objects.meta import Condition, to_wire
from karpy.objects.node import Node
from karpy.objects.nodeclaim import CONSOLIDATABLE, DISRUPTION_REASON, INITIALIZED, NodeClaim
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.catalogs import with_catalog
from karpy.state.snapshot import NodeView, Snapshot
from karpy.taints import DISRUPTED

__all__ = ["Disruption"]

_WATCH_REPLACEMENTS_S = 1.0
_LONGEST_REST_S = 300.0
"""A search that found nothing is repeated after so long, though nothing happened (core specification 6.5)."""
_BETWEEN_SEARCHES_S = 1.0
"""Claims that turn consolidatable one shortly after another are looked at together."""
_MATTERING = frozenset((CONSOLIDATABLE, INITIALIZED))


@attrs.define
class _UnderWay:
    """A command whose replacements are coming up."""

    command: Command
    replacements: tuple[str, ...]
    started: float
    ended: set[str] = attrs.field(factory=set)
    """Claims whose end was asked for already: where one cannot be asked for, it is tried again with the others."""


@attrs.frozen(eq=False)
class _AtRest:
    """What a search that found nothing looked at. Time alone can change its answer at ``until``."""

    version: int
    types: tuple[InstanceTypes, ...]
    until: float


class Disruption:
    """One command at a time."""

    name = "disruption"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._record = DecisionRecord(shared)
        self._found: tuple[Command, float] | None = None
        self._under_way: _UnderWay | None = None
        self._at_rest: _AtRest | None = None
        self._searched = -math.inf
        self._reached: dict[str, frozenset[str]] = {}

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE_CLAIM, self._when_it_matters),)

    def _when_it_matters(self, event: WatchEvent) -> Sequence[Request]:
        """Claims that turn consolidatable, or come up as a replacement, or go; all else is looked at by polling."""
        name = event.object["metadata"]["name"]
        before = self._reached.pop(name, frozenset())
        if event.type is EventType.DELETED:
            return singleton(event)
        conditions = (event.object.get("status") or {}).get("conditions") or ()
        reached = frozenset(c.get("type") for c in conditions if c.get("status") == "True") & _MATTERING
        if reached:
            self._reached[name] = reached
        return singleton(event) if reached - before else ()

    def reconcile(self, _request: Request) -> Result:
        if self._under_way is not None:
            return self._continue(self._under_way)
        if self._found is not None:
            return self._validate(*self._found)
        now = self._shared.clock.now()
        left = self._searched + _BETWEEN_SEARCHES_S - now
        if 0 < left <= _BETWEEN_SEARCHES_S:
            return Result(left)
        self._searched = now
        self._undo_leftovers()
        return self._search()

    def _search(self) -> Result:
        shared, now = self._shared, self._shared.clock.now()
        snapshot = shared.state.snapshot()
        if not any(view.claim is not None and view.claim.is_true(CONSOLIDATABLE) for view in snapshot.nodes):
            return Result(shared.settings.disruption_poll_s if snapshot.nodes else None)
        complete, catalog = with_catalog(snapshot, shared.clouds, shared.settings)
        if self._nothing_new(snapshot, catalog, now):
            return Result(shared.settings.disruption_poll_s)
        with shared.passes.of(self.name, len(snapshot.to_place)):
            command = next_command(complete, catalog, now=now, settings=shared.settings, through=self._record.timed)
        if command is None:
            self._at_rest = _AtRest(snapshot.version, tuple(catalog.types.values()), _next_release(snapshot, now))
            return Result(shared.settings.disruption_poll_s)
        self._found = (command, now)
        return Result(shared.settings.validation_delay_s)

    def _nothing_new(self, snapshot: Snapshot, catalog: Catalog, now: float) -> bool:
        """Whether the last search found nothing, and nothing that it looked at is different now."""
        rest = self._at_rest
        if rest is None or rest.version != snapshot.version or now >= rest.until:
            return False
        return len(rest.types) == len(catalog.types) and all(
            old is new for old, new in zip(rest.types, catalog.types.values(), strict=True)
        )

    def _validate(self, command: Command, found_at: float) -> Result:
        shared, now = self._shared, self._shared.clock.now()
        left = found_at + shared.settings.validation_delay_s - now
        if left > 0:
            return Result(left)
        self._found = None
        newer, catalog = with_catalog(shared.state.snapshot(), shared.clouds, shared.settings)
        confirmed = still_valid(command, newer, catalog, now=now, settings=shared.settings)
        if confirmed is None:
            self._record.refuted(command)
            return Result(shared.settings.disruption_poll_s)
        return self._start(confirmed)

    def _start(self, command: Command) -> Result:
        shared = self._shared
        shared.on_decision(shared.clock.now(), command)
        self._record.started(command, shared.state.snapshot())
        for claim, node in self._members(command):
            self._taint(node)
            reason = command.reason.value
            shared.set_condition(claim, Condition(DISRUPTION_REASON, "True", reason, reason))
        replacements = tuple(self._launch(command))
        # Marked only now: earlier, provisioning would launch for the same pods beside us.
        shared.state.mark_for_deletion(command.claims)
        self._under_way = _UnderWay(command, replacements, shared.clock.now())
        return Result(0)

    def _launch(self, command: Command) -> Iterable[str]:
        for launch in command.replacements:
            yield create_claim(self._shared, launch, command.reason.value.lower()).name

    def _nominated_until(self) -> float:
        return self._shared.clock.now() + self._shared.settings.nomination_window_s

    def _continue(self, under_way: _UnderWay) -> Result:
        shared, command = self._shared, under_way.command
        claims = [shared.state.claim(name) for name in under_way.replacements]
        late = shared.clock.now() - under_way.started > shared.settings.replacement_timeout_s
        if late or any(claim is None or claim.metadata.is_deleting for claim in claims):
            self._abandon(under_way)
            return Result(shared.settings.disruption_poll_s)
        if not all(claim is not None and claim.is_initialized for claim in claims):
            return Result(_WATCH_REPLACEMENTS_S)
        for name in under_way.replacements:  # its pods come only now
            shared.state.nominate(name, (), until=self._nominated_until())
        picture = shared.state.snapshot()
        for claim, node in self._members(command):
            if claim.name not in under_way.ended:
                self._end(claim, node, command.reason.value)
                under_way.ended.add(claim.name)
        self._record.succeeded(command, picture)
        self._under_way = None
        return Result(0)

    def _end(self, claim: NodeClaim, node: Node, why: str) -> None:
        recorder = self._shared.recorder
        recorder.normal(NODE, node.metadata, "DisruptionTerminating", f"Disrupting Node: {why}")
        recorder.normal(NODE_CLAIM, claim.metadata, "DisruptionTerminating", f"Disrupting NodeClaim: {why}")
        end_claim(self._shared, claim, why.lower())

    def _abandon(self, under_way: _UnderWay) -> None:
        """The replacement did not come: everything stays as it was."""
        shared = self._shared
        self._record.failed(under_way.command)
        shared.state.unmark_for_deletion(under_way.command.claims)
        self._under_way = None
        self._undo_leftovers()

    def _undo_leftovers(self) -> None:
        """Take taint and condition off nodes that no command is about (any more)."""
        for view in self._shared.state.snapshot().nodes:
            claim, node = view.claim, view.node
            if claim is None or node is None or not view.derived(_has_leftovers) or not self._shared.serves(claim):
                continue
            taints = [taint for taint in node.spec.taints if not taint.matches(DISRUPTED)]
            if len(taints) < len(node.spec.taints):
                self._patch_taints(node, taints)
            kept = tuple(condition for condition in claim.conditions if condition.type != DISRUPTION_REASON)
            if len(kept) < len(claim.conditions):
                self._shared.patch_claim_status(claim, kept)

    def _members(self, command: Command) -> Iterable[tuple[NodeClaim, Node]]:
        for name in command.claims:
            claim = self._shared.state.claim(name)
            node = self._shared.state.node_of(claim) if claim is not None else None
            if claim is not None and node is not None:
                yield claim, node

    def _taint(self, node: Node) -> None:
        if not any(taint.matches(DISRUPTED) for taint in node.spec.taints):
            self._patch_taints(node, [*node.spec.taints, DISRUPTED])

    def _patch_taints(self, node: Node, taints: Sequence[object]) -> None:
        patch = {
            "metadata": {"resourceVersion": node.metadata.resource_version},
            "spec": {"taints": to_wire(taints)},
        }
        self._shared.kube.patch(NODE, node.name, patch)


def _has_leftovers(view: NodeView) -> bool:
    """Whether it stays and still bears what a command puts on those that go."""
    if view.claim is None or view.node is None or view.is_leaving:
        return False
    marked = any(condition.type == DISRUPTION_REASON for condition in view.claim.conditions)
    return marked or any(taint.matches(DISRUPTED) for taint in view.node.spec.taints)


def _next_release(snapshot: Snapshot, now: float) -> float:
    """When the next node ceases to be nominated for pods, and so may be looked at; or when all are looked at again anyway."""
    released = (view.nominated_until for view in snapshot.nodes if view.nominated_until > now)
    return min((*released, now + _LONGEST_REST_S))
