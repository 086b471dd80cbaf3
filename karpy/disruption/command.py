"""What disruption decided: take these machines away, and launch these first."""

from __future__ import annotations

import enum

import attrs

from karpy.cloud.instancetype import Price
from karpy.scheduling.plan import Launch

__all__ = ["Command", "Decision", "Reason"]


class Reason(enum.Enum):
    """Why machines go; the value stands on the condition, in events and in budgets."""

    EMPTY = "Empty"
    UNDERUTILIZED = "Underutilized"
    DRIFTED = "Drifted"


class Decision(enum.Enum):
    DELETE = "delete"
    REPLACE = "replace"


@attrs.frozen(kw_only=True, eq=False)
class Command:
    """Delete the claims ``claims`` (of the nodes ``nodes``, in the same order), once ``replacements`` are up.

    ``version`` is the snapshot that it was found in; ``savings`` are dollars per hour.
    """

    reason: Reason
    claims: tuple[str, ...]
    nodes: tuple[str, ...]
    replacements: tuple[Launch, ...] = ()
    savings: Price = 0.0
    version: int = 0

    @property
    def decision(self) -> Decision:
        return Decision.REPLACE if self.replacements else Decision.DELETE

    def __str__(self) -> str:
        target = f" -> [{len(self.replacements)} replacement]" if self.replacements else ""
        return f"{self.decision.value}: [{', '.join(self.nodes)}]{target} (savings: ${self.savings:.2f})"

    def explain(self) -> str:
        """Why, in one sentence."""
        if self.reason is Reason.EMPTY:
            return f"{len(self.nodes)} empty node(s) cost ${self.savings:.4f}/h for nothing"
        if not self.replacements:
            return f"the pods of {', '.join(self.nodes)} fit on the other nodes; that saves ${self.savings:.4f}/h"
        best = self.replacements[0]
        return (
            f"the pods of {', '.join(self.nodes)} fit on one {best.instance_types[0].name} "
            f"at ${best.price:.4f}/h; that saves ${self.savings:.4f}/h"
        )
