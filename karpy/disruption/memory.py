"""What claims remember, as annotations, so that a restart forgets none of it: what they took the place of, and that their own
replacement did not come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from karpy import labels
from karpy.clock import format_time, parse_time
from karpy.errors import InvalidObject
from karpy.objects.churnrules import LONGEST_S
from karpy.objects.nodeclaim import NodeClaim
from karpy.state.snapshot import NodeView

__all__ = [
    "FAILURE",
    "PREDECESSORS",
    "Failure",
    "Predecessor",
    "failure_of",
    "note_failure",
    "predecessors_of",
    "succession",
]

PREDECESSORS: Final = "karpy.dev/predecessors"
FAILURE: Final = "karpy.dev/failed-replacement"


class _Remembered(msgspec.Struct, frozen=True, rename="camel"):
    """A value that is written as JSON. Times are written as the API does."""


class Predecessor(_Remembered, frozen=True):
    """A machine whose place the claim took, directly or through others, and until when it stood there."""

    until: str
    instance_type: str
    capacity_type: str

    @property
    def ended(self) -> float:
        return parse_time(self.until)


class Failure(_Remembered, frozen=True):
    """Its replacement did not come: when the last time, and how often so far."""

    at: str
    times: int

    @property
    def failed(self) -> float:
        return parse_time(self.at)


def predecessors_of(view: NodeView) -> tuple[Predecessor, ...]:
    """Nothing, too, where what is written there cannot be read: somebody else wrote it."""
    return view.derived(_predecessors)


def _predecessors(view: NodeView) -> tuple[Predecessor, ...]:
    try:
        found = msgspec.json.decode(_text(view.claim, PREDECESSORS) or "[]", type=tuple[Predecessor, ...])
        return tuple(each for each in found if each.ended)
    except (msgspec.DecodeError, InvalidObject):
        return ()


def failure_of(claim: NodeClaim | None) -> Failure | None:
    """The same of its failed replacements."""
    text = _text(claim, FAILURE)
    try:
        found = msgspec.json.decode(text, type=Failure) if text else None
        return found if found is not None and found.failed and found.times > 0 else None
    except (msgspec.DecodeError, InvalidObject):
        return None


def _text(claim: NodeClaim | None, key: str) -> str:
    return ((claim.metadata.annotations or {}) if claim is not None else {}).get(key, "")


def succession(gone: Iterable[NodeView], now: float) -> Mapping[str, str]:
    """The annotation of a claim that takes the place of these machines: them, and whose place they took not long ago."""
    found: dict[Predecessor, None] = {}
    for view in gone:
        own = Predecessor(
            format_time(now), view.labels.get(labels.INSTANCE_TYPE, ""), view.labels.get(labels.CAPACITY_TYPE, "")
        )
        before = (each for each in predecessors_of(view) if each.ended > now - LONGEST_S)
        found |= dict.fromkeys((own, *before))
    return {PREDECESSORS: msgspec.json.encode(list(found)).decode()}


def note_failure(claim: NodeClaim, now: float) -> Mapping[str, str]:
    """The annotation of a claim whose replacement has just failed."""
    before = failure_of(claim)
    times = 1 if before is None else before.times + 1
    return {FAILURE: msgspec.json.encode(Failure(format_time(now), times)).decode()}
