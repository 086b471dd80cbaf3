"""What differs between a recording and karpy's run of the same scenario, and what is listed of it.

A difference is a line of text: ``- fact`` for what only Karpenter did, ``+ fact`` for what only karpy did, ``! order`` for what
karpy does the other way round than every recording.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import attrs

from tests.scenarios.lifecycle.facts import facts_of
from tests.scenarios.lifecycle.order import reversed_orders
from tests.scenarios.lifecycle.tape import Tape

__all__ = ["Listed", "differences", "unlisted"]

ALL: frozenset[str] = frozenset()
"""As the scenarios of what is listed: whichever show it, and at least one does."""


@attrs.frozen
class Listed:
    """Differences that are known. In ``pattern`` an ellipsis (…) stands for any text.

    ``scenarios``: the numbers of those that show it, each of them; without any, at least one does.
    """

    pattern: str
    reason: str
    scenarios: frozenset[str] = ALL

    def matches(self, difference: str) -> bool:
        return _compiled(self.pattern).fullmatch(difference) is not None

    def is_about(self, scenario: str) -> bool:
        return not self.scenarios or scenario.partition("-")[0] in self.scenarios


_COMPILED: dict[str, re.Pattern[str]] = {}


def _compiled(pattern: str) -> re.Pattern[str]:
    if pattern not in _COMPILED:
        _COMPILED[pattern] = re.compile(".*".join(map(re.escape, pattern.split("…"))), re.DOTALL)
    return _COMPILED[pattern]


def differences(recorded: Tape, run: Tape, orders: frozenset[tuple[str, str]]) -> list[str]:
    """All that differs, in alphabetical order of what it is about."""
    theirs, ours = facts_of(recorded), facts_of(run)
    found = [
        *(f"- {fact}" for fact in theirs - ours),
        *(f"+ {fact}" for fact in ours - theirs),
        *(f"! {order}" for order in reversed_orders(orders, run)),
    ]
    return sorted(found, key=lambda line: (line[2:], line))


def unlisted(scenario: str, found: Iterable[str], listed: Iterable[Listed]) -> list[str]:
    """What nothing that is listed for the scenario matches."""
    known = [each for each in listed if each.is_about(scenario)]
    return [difference for difference in found if not any(each.matches(difference) for each in known)]
