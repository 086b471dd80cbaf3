"""What was found of each node that might go: a value a kind of answer, with the words that events and reports use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import ClassVar

import attrs

from karpy.cloud.instancetype import Price
from karpy.disruption.command import Command, Method

__all__ = [
    "BlockedBy",
    "BudgetSpent",
    "Chosen",
    "Docket",
    "NoCheaper",
    "NotCandidate",
    "NotJudgedYet",
    "NotWanted",
    "PaysTooLate",
    "Quarantined",
    "ScoreBelow",
    "ValidationFailed",
    "Verdict",
]


@attrs.frozen
class Verdict:
    """Why a node stays, or that it goes. `str` is a sentence."""

    kind: ClassVar[str] = ""
    """What a metric calls it."""

    def explain(self) -> str:
        """The same with all that is known about it, for people who ask."""
        return str(self)


@attrs.frozen
class NotCandidate(Verdict):
    """It may not be looked at now, for what it is or what happens to it (core specification 5.2)."""

    kind = "NotCandidate"
    reason: str

    def __str__(self) -> str:
        return self.reason


@attrs.frozen
class NotWanted(Verdict):
    """Its pool does not want such nodes to go, or not yet (core specification 5.6)."""

    kind = "NotWanted"
    reason: str
    is_told: bool = True
    """Whether events tell it. What will pass by itself is no news, nor is what the pool is for."""

    def __str__(self) -> str:
        return self.reason


Text = str | Callable[[], str]
"""Words, or what finds them: reasons are dear, and most of them nobody reads."""


def _told(text: Text) -> str:
    return text if isinstance(text, str) else text()


@attrs.frozen(slots=False)
class BlockedBy(Verdict):
    """A pod holds it: ``constraint`` says by what. ``pod`` is namespace/name. Both texts may be worked out when they are asked
    for."""

    kind = "BlockedBy"
    pod: str
    _constraint: Text = attrs.field(eq=False)
    _text: Text = attrs.field(eq=False)

    @functools.cached_property
    def constraint(self) -> str:
        return _told(self._constraint)

    @functools.cached_property
    def text(self) -> str:
        return _told(self._text)

    def __str__(self) -> str:
        return self.text


@attrs.frozen(slots=False)
class NoCheaper(Verdict):
    """Its pods fit on nothing that costs less than ``needed`` dollars an hour; ``best`` is the least found, if any."""

    kind = "NoCheaper"
    best: Price | None
    needed: Price
    _text: Text = attrs.field(default="Can't replace with a cheaper node", eq=False)

    @functools.cached_property
    def text(self) -> str:
        return _told(self._text)

    def __str__(self) -> str:
        return self.text

    def explain(self) -> str:
        best = "" if self.best is None else f", and ${self.best:.4f}/h is the least"
        return f"{self.text} (it costs ${self.needed:.4f}/h{best})"


@attrs.frozen
class BudgetSpent(Verdict):
    """No more nodes of its pool may go now. ``window`` says by which budget, and how long."""

    kind = "BudgetSpent"
    window: str

    def __str__(self) -> str:
        return self.window


@attrs.frozen
class ScoreBelow(Verdict):
    """What it saves is too little for what it disturbs (policy Balanced, core specification 5.9)."""

    kind = "ScoreBelow"
    score: float
    threshold: float
    text: str

    def __str__(self) -> str:
        return self.text


@attrs.frozen
class PaysTooLate(Verdict):
    """What it saves within ``outlook_s`` is less than what it costs to move its pods (churn control)."""

    kind = "PaysTooLate"
    savings: Price
    outlook_s: float
    cost: float
    """Dollars."""

    def __str__(self) -> str:
        earned = self.savings * self.outlook_s / 3600
        return (
            f"It saves ${self.savings:.4f}/h, which may last for {self.outlook_s / 60:.0f} min and so earn ${earned:.4f}; "
            f"to move its pods costs ${self.cost:.4f}"
        )


@attrs.frozen
class Quarantined(Verdict):
    """It is left alone until then (seconds since 1970), for ``reason``."""

    kind = "Quarantined"
    until: float
    reason: str

    def __str__(self) -> str:
        return self.reason


@attrs.frozen
class ValidationFailed(Verdict):
    """It was to go, and when that was looked at once more it was no longer right. ``category`` is churn, budget or scheduling."""

    kind = "ValidationFailed"
    category: str
    change: str

    def __str__(self) -> str:
        return f"{self.category}: {self.change}"


@attrs.frozen
class NotJudgedYet(Verdict):
    """The pass had done its work before it came to this node; one of the next passes begins with it."""

    kind = "NotJudgedYet"
    passes: int = 1

    def __str__(self) -> str:
        return f"not looked at for {self.passes} pass(es); the next ones begin with it"


@attrs.frozen(eq=False)
class Chosen(Verdict):
    """It goes."""

    kind = "Chosen"
    command: Command

    def __str__(self) -> str:
        return self.command.explain()


class Docket:
    """The verdicts of one pass, as they come: what each method found of each node."""

    def __init__(self) -> None:
        self._found: dict[str, dict[Method | None, Verdict]] = {}

    def say(self, node: str, verdict: Verdict, method: Method | None = None) -> None:
        """``method`` is None for what holds for all of them."""
        self._found.setdefault(node, {})[method] = verdict

    def of(self, node: str) -> Mapping[Method | None, Verdict]:
        return self._found.get(node, {})

    def last(self, node: str) -> Verdict | None:
        """That it goes, else why it is not replaced though it drifted, else what the last method that looked at it found."""
        found = self._found.get(node)
        return None if found is None else _last_word(found)

    def final(self) -> Mapping[str, Verdict]:
        """One verdict a node (see `last`)."""
        return {node: _last_word(found) for node, found in self._found.items()}


def _last_word(found: Mapping[Method | None, Verdict]) -> Verdict:
    chosen = next((verdict for verdict in found.values() if isinstance(verdict, Chosen)), None)
    drifted = found.get(Method.DRIFT) or found.get(Method.STATIC_DRIFT)
    return chosen or drifted or list(found.values())[-1]
