"""What a look at the cluster that found nothing to do saw: while nothing of that is different, there is nothing to look for.

A change counts if it may change the answer: kubelets that report that nothing is new do not. Where time alone may change it, that
time is known: a node ceases to be nominated for pods, the window of a budget opens, a pod may be disturbed again.
"""

from __future__ import annotations

import math

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.disruption.alike import say_the_same, sell_the_same
from karpy.disruption.budgets import budgets_change_at
from karpy.disruption.candidates import freed_at
from karpy.state.snapshot import Snapshot

__all__ = ["LastLook"]

_LONGEST_REST_S = 300.0
"""So long after a look that found nothing there is another one, though nothing happened (core specification 6.5)."""


@attrs.frozen(eq=False)
class _Rest:
    snapshot: Snapshot
    catalog: Catalog
    until: float


class LastLook:
    """What it saw, if it found nothing. Without it, there is one more."""

    def __init__(self) -> None:
        self._rest: _Rest | None = None

    def rest(self, snapshot: Snapshot, catalog: Catalog, now: float, until: float = math.inf) -> None:
        """A look at this found nothing to do. ``until`` is when it will find more as far as it knows itself."""
        self._rest = _Rest(snapshot, catalog, min(until, _changes_at(snapshot, now)))

    def forget(self) -> None:
        """There may be more to do."""
        self._rest = None

    def left_s(self, snapshot: Snapshot, catalog: Catalog, now: float) -> float:
        """Seconds until another look may find something; 0: now."""
        rest = self._rest
        if rest is None or not 0 < rest.until - now <= _LONGEST_REST_S or not _is_as(rest, snapshot, catalog):
            self._rest = None
            return 0.0
        self._rest = attrs.evolve(rest, snapshot=snapshot)  # the next comparison is with what is most alike
        return rest.until - now


def _is_as(rest: _Rest, snapshot: Snapshot, catalog: Catalog) -> bool:
    nominations = zip(rest.snapshot.nodes, snapshot.nodes, strict=False)
    return (
        sell_the_same(rest.catalog, catalog)
        and say_the_same(rest.snapshot, snapshot)
        and all(was is now or was.nominated_until == now.nominated_until for was, now in nominations)
    )


def _changes_at(snapshot: Snapshot, now: float) -> float:
    """When time alone may change what is found."""
    return min(freed_at(snapshot, now), budgets_change_at(snapshot, now), now + _LONGEST_REST_S)
