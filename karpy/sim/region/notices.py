"""The queue that notices are read from (see `karpy.cloud.notices`). What nobody reads is forgotten."""

from __future__ import annotations

import random

import attrs

from karpy.cloud.notices import Notice, NoticeKind
from karpy.sim.region.terse import Span, Terse, amount, share, span, unusual

__all__ = ["Delivery", "NoticeQueue"]

HIDDEN_S = 20.0
"""A notice that was received and not acknowledged comes again after so long."""
KEPT_S = 300.0


@attrs.frozen(repr=False)
class Delivery(Terse):
    """How notices come to whoever reads them."""

    late_s: Span = attrs.field(default=(0.0, 0.0), validator=span)
    lost: float = attrs.field(default=0.0, validator=share)
    repeated: float = attrs.field(default=0.0, validator=share)
    foreign_per_hour: float = attrs.field(default=0.0, validator=amount)
    """Notices about other people's machines, and some that nobody can read."""


@attrs.define
class _Letter:
    notice: Notice
    visible_from: float


class NoticeQueue:
    """Notices in the order in which they were sent. Times are seconds since the epoch."""

    def __init__(self, delivery: Delivery | None = None, seed: int = 0, now: float = 0.0) -> None:
        self._delivery = delivery or Delivery()
        self._seed = seed
        self._letters: dict[str, _Letter] = {}
        self._sent = 0
        self._strangers = random.Random(f"foreign/{seed}")
        self._next_foreign = self._after_foreign(now)

    def send(self, kind: NoticeKind, provider_id: str, at: float, *, state: str = "", due: float | None = None) -> None:
        """Put a notice in, at a time that may be yet to come."""
        self._sent += 1
        for copy, late in enumerate(self._postmarks(self._sent)):
            notice = Notice(f"{self._sent:08d}-{copy}", kind, provider_id, at, state, due)
            self._letters[notice.id] = _Letter(notice, at + late)
        self._forget(at)

    def receive(self, now: float, most: int = 10) -> tuple[Notice, ...]:
        """Some of those that are there, the oldest first. They come again if they are not acknowledged."""
        self._take_in_foreign(now)
        self._forget(now)
        found = [letter for letter in self._letters.values() if letter.visible_from <= now][:most]
        for letter in found:
            letter.visible_from = now + HIDDEN_S
        return tuple(letter.notice for letter in found)

    def acknowledge(self, notice: Notice) -> None:
        """It was dealt with."""
        self._letters.pop(notice.id, None)

    def clear_up(self) -> None:
        """From now on everything comes, once and at once, and nothing of others."""
        self._delivery = Delivery()
        self._next_foreign = None

    def _postmarks(self, serial: int) -> list[float]:
        """How late each copy of a notice comes; there are none of one that is lost."""
        delivery = self._delivery
        if not unusual(delivery):
            return [0.0]
        dice = random.Random(f"notice/{self._seed}/{serial}")
        lost, repeated, late = dice.random(), dice.random(), dice.uniform(*delivery.late_s)
        if lost < delivery.lost:
            return []
        return [late] * (2 if repeated < delivery.repeated else 1)

    def _forget(self, now: float) -> None:
        """Nobody has read them for too long."""
        while self._letters:
            first = next(iter(self._letters.values())).notice
            if first.sent + KEPT_S >= now:
                return
            del self._letters[first.id]

    def _after_foreign(self, at: float) -> float | None:
        per_hour = self._delivery.foreign_per_hour
        return at + self._strangers.expovariate(per_hour / 3600) if per_hour else None

    def _take_in_foreign(self, now: float) -> None:
        while self._next_foreign is not None and self._next_foreign <= now:
            at = self._next_foreign
            self._next_foreign = self._after_foreign(at)
            kind = self._strangers.choice([NoticeKind.SPOT_INTERRUPTION, NoticeKind.TERMINATED, NoticeKind.UNREADABLE])
            whose = f"foreign:///i-{self._strangers.getrandbits(32):08x}"
            self.send(kind, whose if kind else "", at)
