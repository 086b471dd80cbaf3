"""When what became of a pod that waits: seen, planned for the first time, given a place. From this it is told how long that takes.

A time, once known, stays: later passes repeat what the first one found. Only a pod that is refused has no place after all.
"""

from __future__ import annotations

import attrs

__all__ = ["PodTimes", "Times"]


@attrs.frozen
class Times:
    """Of one pod, in seconds since the epoch; None for what did not happen yet."""

    acknowledged: float | None = None
    """Provisioning saw that it waits."""
    attempted: float | None = None
    """A pass came to a decision about it, for the first time, whichever."""
    schedulable: float | None = None
    """A pass gave it a place."""
    schedulable_in_healthy_pool: float | None = None
    """A pass gave it a place of a pool whose nodes do join."""


_NOTHING = Times()


class PodTimes:
    """Times by the uid of the pod. Who owns this says which pods wait, and when one is gone."""

    def __init__(self) -> None:
        self._times: dict[str, Times] = {}

    def of(self, uid: str) -> Times:
        return self._times.get(uid, _NOTHING)

    def acknowledge(self, uid: str, now: float) -> None:
        """Provisioning saw the pod wait."""
        known = self.of(uid)
        self._times[uid] = attrs.evolve(known, acknowledged=_first(known.acknowledged, now))

    def place(self, uid: str, now: float, *, in_healthy_pool: bool) -> None:
        """A pass gave the pod a place."""
        known = self.of(uid)
        healthy = now if in_healthy_pool else None
        self._times[uid] = Times(
            known.acknowledged,
            _first(known.attempted, now),
            _first(known.schedulable, now),
            _first(known.schedulable_in_healthy_pool, healthy),
        )

    def refuse(self, uid: str, now: float) -> None:
        """A pass had no place for the pod."""
        known = self.of(uid)
        self._times[uid] = Times(known.acknowledged, _first(known.attempted, now))

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._times.pop(uid, None)

    def __len__(self) -> int:
        return len(self._times)


def _first(known: float | None, now: float | None) -> float | None:
    return known if known is not None else now
