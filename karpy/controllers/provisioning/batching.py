"""When pods that came shortly after one another are planned: together, once no new one comes any more (core specification 3.2)."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import attrs

__all__ = ["Batching"]


@attrs.define
class _Batch:
    """The pods of a batch, by uid. A pod that is in it already does not hold it open."""

    opened: float
    last_new: float
    looked_at: float
    uids: set[str] = attrs.field(factory=set)


class Batching:
    """One batch at a time: open while new pods come, up to a longest time."""

    def __init__(self, idle_s: float, longest_s: float) -> None:
        self._idle_s = idle_s
        self._longest_s = longest_s
        self._batch: _Batch | None = None

    def left_s(self, uids: AbstractSet[str], now: float) -> float:
        """Seconds until the batch of these pods is complete; it is closed then, or when nobody waits any more.

        A clock that jumped back closes it too: it must not stay open for as long as the jump was.
        """
        if not uids:
            self._batch = None
            return 0.0
        batch = self._batch
        if batch is None:
            batch = self._batch = _Batch(now, now, now, set(uids))
        elif not uids <= batch.uids:
            batch.uids |= uids
            batch.last_new = now
        left = min(batch.last_new + self._idle_s, batch.opened + self._longest_s) - now
        if left <= 0 or now < batch.opened:
            self._batch = None
            return 0.0
        return left

    def looks_early_in_s(self, now: float) -> float:
        """Seconds until it is worth while to look what of an open batch is certain by now: once every idle time."""
        return 0.0 if self._batch is None else max(self._batch.looked_at + self._idle_s - now, 0.0)

    def look_early(self, now: float) -> None:
        """It was looked at."""
        if self._batch is not None:
            self._batch.looked_at = now
