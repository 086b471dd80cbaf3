"""Machines that are too old go: forcefully, as far as budgets are concerned (core specification 4.8).

In the last part of its life a claim goes as soon as its turn has come and its pool can spare it; at its end it goes in any case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from karpy.controllers.base import DONE, Request, Result, Source, by_name, when_new
from karpy.controllers.nodeclaim.ending import end_claim
from karpy.controllers.shared import Shared
from karpy.disruption.budgets import allowance
from karpy.lifecycle.expiry import expiry_of, spread_of
from karpy.objects.kinds import NODE_CLAIM, NODE_POOL, PROVISIONER, Kind
from karpy.objects.lifespan import EXPIRY_SPREAD
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["Expiration"]

_LONGEST_WAIT_S = 3600.0
"""A clock that jumped is noticed by then."""
_BLOCKED_RETRY_S = 60.0
_BLOCKED_RETRIES = 20


class Expiration:
    """Looks at a claim when it is new, when it is due, and when its pool wants its machines to die at other times."""

    name = "nodeclaim.expiration"
    looks_at = NODE_CLAIM

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._spreads: dict[tuple[Kind, str], str | None] = {}

    @property
    def sources(self) -> Sequence[Source]:
        """What a claim says of its end is the same all its life."""
        pools = (Source(kind, self._claims_of_pool) for kind in (NODE_POOL, PROVISIONER))
        return (Source(NODE_CLAIM, when_new(by_name)), *pools)

    def _claims_of_pool(self, event: WatchEvent) -> tuple[Request, ...]:
        metadata = event.object["metadata"]
        key = (event.kind, metadata["name"])
        if event.type is EventType.DELETED:
            self._spreads.pop(key, None)
            return ()
        spread = (metadata.get("annotations") or {}).get(EXPIRY_SPREAD)
        before, self._spreads[key] = self._spreads.get(key), spread
        if before == spread:
            return ()
        views = self._shared.state.snapshot().nodes
        claims = (view.claim for view in views if view.claim is not None)
        return tuple(Request(claim.name) for claim in claims if claim.pool == metadata["name"])

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        claim = shared.state.claim(request.name)
        if claim is None or claim.metadata.is_deleting or not shared.serves(claim):
            return DONE
        pool, now = shared.state.pool(claim.pool), shared.clock.now()
        expiry = expiry_of(claim, spread_of(pool, shared.settings.expiry_spread))
        if expiry is None:
            return DONE
        if now < expiry.due:
            return Result(min(expiry.due - now, _LONGEST_WAIT_S))
        spared_at = self._spared_at(claim.pool, pool, now)
        if now < min(expiry.deadline, spared_at):
            # The more time there is, the less there is to hurry for.
            left = expiry.deadline - now
            retry = max(left / _BLOCKED_RETRIES, _BLOCKED_RETRY_S)
            return Result(min(left, spared_at - now, retry, _LONGEST_WAIT_S))
        self._expire(claim)
        return DONE

    def _expire(self, claim: NodeClaim) -> None:
        shared = self._shared
        about = {"Node": {"name": claim.node_name}} if claim.node_name else {}
        shared.log.debug("deleting expired nodeclaim", **about)
        end_claim(shared, claim, "expired")
        shared.state.mark_for_deletion((claim.name,))  # known at once, so that the next one counts it

    def _spared_at(self, name: str, pool: NodePool | None, now: float) -> float:
        """When the pool's budgets, those for any reason, may let one more of its nodes go: now, when a window opens or closes, or
        nobody knows when. What cannot be read lets none go."""
        if pool is None:
            return now if self._shared.state.invalid_pool(name) is None else math.inf
        found = allowance(self._shared.state.snapshot(), pool, None, now)
        return now if found.allowed else found.changes_at
