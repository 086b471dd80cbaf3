"""What a cloud says of its machines without being asked: that it wants one back, stops it, or has ended it.

Notices come from a queue as clouds have them: who receives one hides it from others for a while, and must acknowledge it, or it
comes again. Some come late, twice, or are about machines of other people.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import attrs

__all__ = ["GivingNotice", "Notice", "NoticeKind"]


class NoticeKind(enum.StrEnum):
    """The kinds that Karpenter's interruption controller tells apart."""

    SPOT_INTERRUPTION = "spot_interrupted"
    REBALANCE = "rebalance_recommendation"
    SCHEDULED_CHANGE = "scheduled_change"
    STOPPED = "instance_stopped"
    TERMINATED = "instance_terminated"
    RESERVATION_INTERRUPTION = "capacity_reservation_interrupted"
    """The owner of the reserved capacity that the machine borrows wants it back."""
    UNREADABLE = ""
    """Nothing that concerns machines, or nothing that can be read. It is acknowledged, so that it does not come again."""


@attrs.frozen
class Notice:
    """One message. Times are seconds since the epoch."""

    id: str
    kind: NoticeKind
    provider_id: str
    sent: float
    state: str = ""
    """What a machine whose state changes is now: stopping, stopped, shutting-down, terminated."""
    due: float | None = None
    """When it happens, for what is announced."""


@runtime_checkable
class GivingNotice(Protocol):
    """A provider that tells of what is about to happen to machines. One that takes a spot machine back remembers by itself
    that there is none of its like to be had for now."""

    def messages(self, most: int = 10) -> Sequence[Notice]:
        """Up to ``most`` notices that are there. May wait for some, up to half a minute, where nobody is kept waiting by that.

        Raises:
            ProviderError: tried again a little later.
        """
        ...

    def acknowledge(self, notice: Notice) -> None:
        """It was dealt with, and need not come again."""
        ...
