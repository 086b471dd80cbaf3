"""What one pass leaves to the next."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from karpy.disruption.basis import Answers
from karpy.disruption.command import Command, Method
from karpy.disruption.moves import Moves
from karpy.state.snapshot import Snapshot

__all__ = ["Past"]


@attrs.frozen(kw_only=True)
class Past:
    """What earlier passes leave to the next: a value that the controller keeps, and may lose without harm.

    ``busy`` are the claims that commands are about already; ``moves`` are the pods that were moved lately. ``answers`` need not be
    found again as long as nothing changes. ``waiting`` are the claims that a method was to look at one by one and did not come to,
    with the number of passes since it did.
    """

    busy: frozenset[str] = frozenset()
    moves: Moves = Moves()
    answers: Answers = Answers()
    waiting: Mapping[tuple[Method, str], int] = attrs.field(factory=dict)

    def after(self, command: Command, snapshot: Snapshot, now: float) -> Past:
        """What is to be remembered once the command has begun, on the cluster as it was then."""
        return attrs.evolve(self, moves=self.moves.after(command, snapshot, now))

    def failed(self, command: Command) -> Past:
        """The same once the command came to nothing: its nodes stay as they are."""
        return attrs.evolve(self, moves=self.moves.without(command))
