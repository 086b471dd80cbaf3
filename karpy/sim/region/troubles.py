"""What goes wrong with launches, and with the machines that come of them."""

from __future__ import annotations

import enum
import random
from collections.abc import Mapping, Sequence

import attrs

from karpy.errors import CreateFailed, InsufficientCapacity, NodeClassNotReady, ProviderError
from karpy.sim.region.terse import Terse, amount, kind_of, share
from karpy.sim.region.where import OfferingKey, Where

__all__ = ["Trouble", "TroubleKind", "Troubles", "refusal_of", "timed_out"]


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
    ENDS_EARLY = "ends-early"
    """The machine is launched, and ends by itself after ``by`` seconds."""
    NEVER_JOINS = "never-joins"
    """The machine runs, and costs, but its kubelet never registers."""
    LESS_MEMORY = "less-memory"
    """The node has less memory than its type promises, by the share ``by``."""
    LATE_RESOURCES = "late-resources"
    """The node's extended resources appear ``by`` seconds after it has joined."""


def _trouble_kind(word: str) -> TroubleKind:
    return kind_of(TroubleKind, word)


_USUAL_BY = {
    TroubleKind.SLOW: 600.0,
    TroubleKind.ENDS_EARLY: 10.0,
    TroubleKind.LESS_MEMORY: 0.05,
    TroubleKind.LATE_RESOURCES: 120.0,
}


@attrs.frozen(repr=False)
class Trouble(Terse):
    """Something goes wrong with launches: with those that are counted here (the first is 1), or with a share of all."""

    kind: TroubleKind = attrs.field(converter=_trouble_kind)
    launches: tuple[int, ...] = ()
    share: float = attrs.field(default=0.0, validator=share)
    by: float = attrs.field(
        default=attrs.Factory(lambda self: _USUAL_BY.get(self.kind, 0.0), takes_self=True), validator=amount
    )
    where: Where = Where()
    """Only if one of these offerings is what would be launched."""


class Troubles:
    """What goes wrong with which launch. Each launch and kind is drawn by itself, so that one kind less changes no other."""

    def __init__(self, troubles: Sequence[Trouble] = (), seed: int = 0) -> None:
        self._troubles = tuple(troubles)
        self._seed = seed

    def of(self, launch: int, key: OfferingKey) -> Mapping[TroubleKind, float]:
        """What goes wrong with the launch of this number, which is of this offering, and by how much."""
        return {
            trouble.kind: trouble.by
            for trouble in self._troubles
            if key in trouble.where and self._strikes(trouble, launch)
        }

    def clear_up(self) -> None:
        """From now on nothing goes wrong."""
        self._troubles = ()

    def _strikes(self, trouble: Trouble, launch: int) -> bool:
        if launch in trouble.launches:
            return True
        return trouble.share > 0 and self._chance(trouble.kind, launch) < trouble.share

    def _chance(self, kind: TroubleKind, launch: int) -> float:
        return random.Random(f"trouble/{self._seed}/{kind.value}/{launch}").random()


def timed_out() -> ProviderError:
    """No answer came in time; nobody can tell whether the call took effect."""
    return ProviderError("the cloud did not answer in time")


def refusal_of(troubles: Mapping[TroubleKind, float]) -> ProviderError | None:
    """The error of a launch that does not take place; None when it does."""
    if TroubleKind.NO_CAPACITY in troubles:
        return InsufficientCapacity("InsufficientInstanceCapacity: there is none of what was asked for")
    if TroubleKind.FAILS in troubles:
        return CreateFailed("the instance could not be configured", "LaunchFailed")
    if TroubleKind.NOT_READY in troubles:
        return NodeClassNotReady("what the node class refers to is gone")
    if TroubleKind.ERROR in troubles:
        return ProviderError("InternalError: an internal error has occurred")
    return timed_out() if TroubleKind.TIMEOUT in troubles else None
