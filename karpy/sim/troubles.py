"""What goes wrong with launches, and with the machines that come of them."""

from __future__ import annotations

import enum

import attrs

from karpy.sim.terse import Terse, amount, kind_of, share

__all__ = ["Trouble", "TroubleKind"]


class TroubleKind(enum.StrEnum):
    """What can go wrong with a launch, or with the machine that comes of it."""

    NO_CAPACITY = "no-capacity"
    """Nothing is launched: the cloud has nothing, whatever was asked for."""
    FAILS = "fails"
    """Nothing is launched, for a reason that belongs on the claim."""
    NOT_READY = "not-ready"
    """Nothing is launched: the node class cannot be launched from."""
    ERROR = "error"
    """Nothing is launched: the cloud has an internal error."""
    TIMEOUT = "timeout"
    """Nothing is launched, and no answer comes."""
    ANSWER_LOST = "answer-lost"
    """The machine is launched, and no answer comes."""
    SLOW = "slow"
    """The machine takes ``by`` seconds longer to join."""
    NEVER_JOINS = "never-joins"
    """The machine runs, and costs, but its kubelet never registers."""
    LESS_MEMORY = "less-memory"
    """The node has less memory than its type promises, by the share ``by``."""
    LATE_RESOURCES = "late-resources"
    """The node's extended resources appear ``by`` seconds after it has joined."""


def _trouble_kind(word: str) -> TroubleKind:
    return kind_of(TroubleKind, word)


_USUAL_BY = {TroubleKind.SLOW: 600.0, TroubleKind.LESS_MEMORY: 0.05, TroubleKind.LATE_RESOURCES: 120.0}


@attrs.frozen(repr=False)
class Trouble(Terse):
    """Something goes wrong with launches: with those that are counted here (the first is 1), or with a share of all."""

    kind: TroubleKind = attrs.field(converter=_trouble_kind)
    launches: tuple[int, ...] = ()
    share: float = attrs.field(default=0.0, validator=share)
    by: float = attrs.field(
        default=attrs.Factory(lambda self: _USUAL_BY.get(self.kind, 0.0), takes_self=True), validator=amount
    )
