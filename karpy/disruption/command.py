"""What disruption decided: take these machines away, and launch these first."""

from __future__ import annotations

import enum

import attrs
import msgspec

from karpy.cloud.instancetype import Price
from karpy.disruption.score import Score
from karpy.scheduling.plan import Launch

__all__ = ["Command", "Decision", "Method", "Move", "Reason"]


class Reason(enum.Enum):
    """Why machines go; the value stands on the condition, in events and in budgets."""

    EMPTY = "Empty"
    UNDERUTILIZED = "Underutilized"
    DRIFTED = "Drifted"


class Method(enum.Enum):
    """How machines that should go are found, in the order in which that is tried (core specification 5.1)."""

    EMPTINESS = "emptiness"
    STATIC_DRIFT = "static-drift"
    DRIFT = "drift"
    MULTI_NODE = "multi-node"
    SINGLE_NODE = "single-node"

    @property
    def reason(self) -> Reason:
        return _REASONS[self]

    @property
    def consolidation_type(self) -> str:
        """The word for it in metrics; drift is no consolidation."""
        return _TYPES.get(self, "")

    @property
    def is_graceful(self) -> bool:
        """Whether it waits for pods that do not want to be disturbed, and does not count on a deadline (class graceful; the
        others are eventual)."""
        return self not in (Method.STATIC_DRIFT, Method.DRIFT)


_NAMED = 6
"""So many nodes are named where a sentence is asked for."""

_REASONS = {
    Method.EMPTINESS: Reason.EMPTY,
    Method.STATIC_DRIFT: Reason.DRIFTED,
    Method.DRIFT: Reason.DRIFTED,
    Method.MULTI_NODE: Reason.UNDERUTILIZED,
    Method.SINGLE_NODE: Reason.UNDERUTILIZED,
}
_TYPES = {Method.EMPTINESS: "empty", Method.MULTI_NODE: "multi", Method.SINGLE_NODE: "single"}


class Decision(enum.Enum):
    DELETE = "delete"
    REPLACE = "replace"


class Move(msgspec.Struct, frozen=True, gc=False):
    """Where a pod of a machine that goes finds its place: on the node of this name, or on the replacement of this number."""

    pod: str
    to: str | int


@attrs.frozen(kw_only=True, eq=False)
class Command:
    """Delete the claims ``claims`` (of the nodes ``nodes``, in the same order), once ``replacements`` are up.

    ``version`` is the snapshot that it was found in; ``savings`` are dollars per hour.
    """

    method: Method
    claims: tuple[str, ...]
    nodes: tuple[str, ...]
    replacements: tuple[Launch, ...] = ()
    moves: tuple[Move, ...] = ()
    savings: Price = 0.0
    scores: tuple[Score, ...] = ()
    """What its pools of the policy Balanced make of it."""
    version: int = 0

    @property
    def reason(self) -> Reason:
        return self.method.reason

    @property
    def decision(self) -> Decision:
        return Decision.REPLACE if self.replacements else Decision.DELETE

    def __str__(self) -> str:
        count = len(self.replacements)
        target = f" -> [{count} replacement{'s' if count > 1 else ''}]" if count else ""
        return f"{self.decision.value}: [{', '.join(self.nodes)}]{target} (savings: ${self.savings:.2f})"

    @property
    def whom(self) -> str:
        """The nodes in words: by name, of many only the first."""
        rest = len(self.nodes) - _NAMED
        return ", ".join(self.nodes[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")

    def explain(self) -> str:
        """Why, in one sentence."""
        count, those = len(self.nodes), self.whom
        if self.reason is Reason.EMPTY:
            return f"{count} empty node(s) cost ${self.savings:.4f}/h for nothing"
        if self.reason is Reason.DRIFTED:
            new = len(self.replacements)
            instead = f"; {new} new machine{'s' if new > 1 else ''} instead" if new else "; its pods fit on the others"
            return f"{those} {'is' if count == 1 else 'are'} no longer as wanted{instead if new or self.moves else ''}"
        if not self.replacements:
            return f"the pods of {those} fit on the other nodes; that saves ${self.savings:.4f}/h"
        best = self.replacements[0]
        return (
            f"the pods of {those} fit on one {best.instance_types[0].name} "
            f"at ${best.price:.4f}/h; that saves ${self.savings:.4f}/h"
        )
