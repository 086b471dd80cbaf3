"""Pools are told when their budgets let nothing go (core specification 5.3)."""

from __future__ import annotations

from collections.abc import Collection

from karpy.controllers.shared import Shared
from karpy.disruption.budgets import allowance
from karpy.disruption.command import Reason
from karpy.state.snapshot import Snapshot

__all__ = ["tell_closed_budgets"]

_REPEAT_S = 60.0


def tell_closed_budgets(shared: Shared, snapshot: Snapshot, reasons: Collection[Reason], now: float) -> None:
    """An event on each pool that has nodes none of which might go, for each of the reasons for which nodes were looked at."""
    for pool in snapshot.pools if reasons else ():
        if not snapshot.fleet(pool.name).counted:
            continue
        for reason in reasons:
            if allowance(snapshot, pool, reason, now).is_closed:
                text = f"No allowed disruptions for disruption reason {reason.value} due to blocking budget"
                shared.recorder.normal(pool.origin, pool.metadata, "DisruptionBlocked", text, repeat_s=_REPEAT_S)
