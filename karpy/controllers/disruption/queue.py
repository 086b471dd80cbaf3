"""Commands that are being carried out: several at once, each on its own (core specification 5.11).

What makes it safe to be interrupted is the order: taints and conditions first, then the replacements are made, then the nodes count
as leaving, and their claims are deleted only when every replacement is ready for pods. What was under way when karpy stopped is
undone by the next pass (`karpy.controllers.disruption.leftovers`), and found again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import attrs

from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.disruption.intruders import Intruders
from karpy.controllers.disruption.leftovers import is_marked, mark, unmark
from karpy.controllers.disruption.remembering import remember_failure
from karpy.controllers.disruption.replacements import create_replacements
from karpy.controllers.disruption.telling import Telling
from karpy.controllers.nodeclaim.ending import end_claim
from karpy.controllers.shared import Shared
from karpy.disruption.command import Command
from karpy.errors import KarpyError, KubeError
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.watchevent import WatchEvent
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Queue"]

_LOOK_AGAIN_S = 10.0
"""While replacements come up: their events wake us, so this is for what was not heard, and for the time-out."""
_RETRY_S = 1.0


@attrs.define(eq=False)
class _UnderWay:
    """A command that was begun. ``key`` is the claim of its first node, by which it is known."""

    key: str
    command: Command
    began: float
    members: list[str]
    """The claims of those of its nodes that still are to go."""
    replacements: tuple[str, ...] = ()
    is_begun: bool = False
    """Whether all is done that comes before the replacements are waited for."""


class Queue:
    """Passes hand commands over by `begin`; from then on each is looked at when something happens to one of its claims."""

    name = "disruption.queue"

    def __init__(self, shared: Shared, telling: Telling) -> None:
        self._shared = shared
        self._telling = telling
        self._intruders = Intruders(shared)
        self._under_way: dict[str, _UnderWay] = {}
        """By their keys."""
        self._of: dict[str, str] = {}
        """Of which command a claim is a member or a replacement."""
        self._failed: list[Command] = []

    # For those who give commands

    @property
    def busy(self) -> frozenset[str]:
        """The claims that commands are about."""
        return frozenset(name for each in self._under_way.values() for name in each.members)

    def take_failed(self) -> Sequence[Command]:
        """The commands that were undone since this was last asked."""
        failed, self._failed = tuple(self._failed), []
        return failed

    def begin(self, command: Command, picture: Snapshot) -> bool:
        """Begin to carry out what was decided by ``picture``. False where another command is about one of its nodes, or one that is
        to be replaced is not there any more, or none is.

        Raises:
            KarpyError: nothing is under way; what had been begun is undone by the next pass.
        """
        machines = tuple(self._machines(command.claims))
        members = [claim.name for claim, _node in machines]
        is_whole = len(members) == len(command.claims)
        if not members or (command.replacements and not is_whole) or self.busy.intersection(members):
            return False
        if members[0] in self._under_way:
            return False  # it was dropped from a command that is still known by it
        under_way = _UnderWay(members[0], command, self._shared.clock.now(), members)
        self._under_way[under_way.key] = under_way  # before anything is written: what is written now is no leftover
        self._of.update(dict.fromkeys(members, under_way.key))
        try:
            self._begin(under_way, machines, picture)
        except KarpyError:
            self._forget(under_way)
            raise
        under_way.is_begun = True
        return True

    def _begin(self, under_way: _UnderWay, machines: Sequence[tuple[NodeClaim, Node]], picture: Snapshot) -> None:
        shared, command = self._shared, under_way.command
        shared.on_decision(under_way.began, command)
        self._telling.begins(command, picture)
        self._intruders.note(under_way.members, picture)
        self._mark(under_way, machines)
        under_way.replacements = create_replacements(shared, command, picture)
        self._of.update(dict.fromkeys(under_way.replacements, under_way.key))
        # Only now: earlier, provisioning would launch for the same pods beside us.
        shared.state.mark_for_deletion(under_way.members)
        self._keep_destinations(under_way)

    def _mark(self, under_way: _UnderWay, machines: Sequence[tuple[NodeClaim, Node]]) -> None:
        """Where nothing is to be launched, the nodes that could be marked go, and the others stay as they are."""
        reason = under_way.command.reason.value
        outcomes = self._shared.together([partial(_try_mark, self._shared, *machine, reason) for machine in machines])
        failed = {claim.name: error for (claim, _), error in zip(machines, outcomes, strict=True) if error is not None}
        if failed and (under_way.command.replacements or len(failed) == len(machines)):
            raise next(iter(failed.values()))
        self._drop(under_way, failed)

    def _keep_destinations(self, under_way: _UnderWay) -> None:
        """The nodes that pods move to are theirs for a while."""
        shared = self._shared
        until, snapshot = shared.clock.now() + shared.settings.nomination_window_s, shared.state.snapshot()
        nodes = dict.fromkeys(move.to for move in under_way.command.moves if isinstance(move.to, str))
        views = (snapshot.node(name) for name in nodes)
        claims = [view.claim.name for view in views if view is not None and view.claim is not None]
        for name in (*claims, *under_way.replacements):
            shared.state.nominate(name, (), until=until)

    # As a controller

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE_CLAIM, self._command_of),)

    def _command_of(self, event: WatchEvent) -> tuple[Request, ...]:
        key = self._of.get(event.object["metadata"]["name"])
        return () if key is None else (Request(key),)

    def reconcile(self, request: Request) -> Result:
        under_way = self._under_way.get(request.name)
        if under_way is None:
            return DONE
        if not under_way.is_begun:
            return Result(_RETRY_S)
        problem = self._problem(under_way)
        if problem:
            self._undo(under_way, problem)
            return DONE
        waiting = [name for name in under_way.replacements if not self._is_up(name)]
        if waiting:
            self._telling.waits(waiting, under_way.command)
            return Result(min(_LOOK_AGAIN_S, self._left_s(under_way)))
        if self._is_disturbed(under_way):
            return DONE
        return self._end(under_way)

    def _problem(self, under_way: _UnderWay) -> str:
        """Why it cannot be carried out any more; empty if it can."""
        for name in under_way.replacements:
            claim = self._shared.state.claim(name)
            if claim is None or claim.metadata.is_deleting:
                return f"replacement nodeclaim/{name} was not to be had"
        return "its time is up" if self._left_s(under_way) <= 0 else ""

    def _left_s(self, under_way: _UnderWay) -> float:
        """Seconds until it is given up. The more nodes are to go by all commands, the more patience there is."""
        settings = self._shared.settings
        patience = settings.replacement_timeout_per_node_s * len(self.busy)
        patience = max(settings.replacement_timeout_s, min(patience, settings.longest_replacement_timeout_s))
        return under_way.began + patience - self._shared.clock.now()

    def _is_up(self, name: str) -> bool:
        claim = self._shared.state.claim(name)
        return claim is not None and claim.is_initialized

    def _is_disturbed(self, under_way: _UnderWay) -> bool:
        """Whether pods came that must not be moved: their nodes stay, and where nodes are replaced together all of them do.
        True if nothing is left to do."""
        found = self._intruders.found(under_way.members, under_way.command.method)
        if not found:
            return False
        why = next(iter(found.values()))
        if under_way.command.replacements or len(found) == len(under_way.members):
            self._undo(under_way, why)
            return True
        self._telling.stay(found)
        self._give_back(tuple(found))
        self._drop(under_way, found)
        return False

    def _end(self, under_way: _UnderWay) -> Result:
        """Every replacement is ready: the claims are deleted, all at once; those that could not be are tried again."""
        shared, command = self._shared, under_way.command
        self._keep_destinations(under_way)  # the pods come only now
        picture = shared.state.snapshot()
        self._telling.moves(command, under_way.replacements, picture)
        machines = tuple(self._machines(under_way.members))
        outcomes = shared.together([partial(self._try_end, claim, node, command) for claim, node in machines])
        left = [claim.name for (claim, _node), is_done in zip(machines, outcomes, strict=True) if not is_done]
        if left:
            return Result(_RETRY_S)
        self._telling.succeeded(command, picture)
        self._forget(under_way)
        return DONE

    def _try_end(self, claim: NodeClaim, node: Node, command: Command) -> bool:
        """Whether its end is asked for."""
        if claim.metadata.is_deleting:
            return True
        self._telling.ends(claim, node, command)
        try:
            end_claim(self._shared, claim, command.reason.value.lower())
        except KubeError:
            return False
        return True

    # Undoing

    def _undo(self, under_way: _UnderWay, why: str) -> None:
        """Everything stays as it was. Replacements that came up stay, and go like all others if nobody needs them."""
        command = under_way.command
        missing = sum(not self._is_up(name) for name in under_way.replacements)
        self._failed.append(command)
        if missing:
            with contextlib.suppress(KubeError):  # then it is as if nothing had been to be remembered
                remember_failure(self._shared, command)
        self._telling.failed(command, under_way.members, why, missing)
        self._forget(under_way)
        self._give_back(under_way.members)

    def _give_back(self, names: Sequence[str]) -> None:
        """These nodes are for pods again. What cannot be written now, the next pass writes."""
        shared = self._shared
        shared.state.unmark_for_deletion(names)
        views = [view for name in names if (view := shared.state.machine(name)) is not None and is_marked(view)]
        shared.together([partial(_try_unmark, shared, view) for view in views])

    def _drop(self, under_way: _UnderWay, names: Iterable[str]) -> None:
        """These nodes stay; the others go."""
        for name in names:
            under_way.members.remove(name)
            self._of.pop(name, None)
        self._intruders.forget(names)

    def _forget(self, under_way: _UnderWay) -> None:
        del self._under_way[under_way.key]
        self._intruders.forget(under_way.members)
        for name in (*under_way.members, *under_way.replacements):
            self._of.pop(name, None)

    def _machines(self, names: Iterable[str]) -> Iterator[tuple[NodeClaim, Node]]:
        """Those of these claims that are there, with their nodes."""
        for name in names:
            claim = self._shared.state.claim(name)
            node = self._shared.state.node_of(claim) if claim is not None else None
            if claim is not None and node is not None:
                yield claim, node


def _try_mark(shared: Shared, claim: NodeClaim, node: Node, reason: str) -> KubeError | None:
    try:
        mark(shared, claim, node, reason)
    except KubeError as error:
        return error
    return None


def _try_unmark(shared: Shared, view: NodeView) -> None:
    """What fails is a leftover."""
    with contextlib.suppress(KubeError):
        unmark(shared, view)
