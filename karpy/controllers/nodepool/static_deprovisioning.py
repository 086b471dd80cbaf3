"""Static pools with more nodes than they should have: the surplus is deleted, and drains as ever (core specification 5.13)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from karpy import labels
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.shared import Shared
from karpy.disruption.cost import lifetime_cost
from karpy.errors import KubeError
from karpy.lifecycle.static import surplus
from karpy.objects import kinds
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["StaticDeprovisioning"]


class StaticDeprovisioning:
    """One pool at a time, without regard for its budgets: the owner asked for fewer nodes."""

    name = "static.deprovisioning"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.NODE_POOL, by_name), Source(kinds.NODE_CLAIM, self._pool_of))

    def _pool_of(self, event: WatchEvent) -> tuple[Request, ...]:
        """The static pool of a claim. One may be too many not only when it comes: a node that was to be replaced may be there to
        stay."""
        if event.type is EventType.DELETED:
            return ()
        pool = self._shared.state.pool((event.object["metadata"].get("labels") or {}).get(labels.NODEPOOL, ""))
        return (Request(pool.name),) if pool is not None and pool.is_static else ()

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        pool = shared.state.pool(request.name)
        if pool is None or not pool.is_static or pool.metadata.is_deleting:
            return DONE
        if shared.clouds.serving(pool.node_class) is None:
            return DONE
        fleet = shared.state.snapshot().fleet(pool.name)
        leaving = surplus(pool, fleet, partial(lifetime_cost, now=shared.clock.now()))
        if leaving:
            shared.log.info(
                "deprovisioning nodeclaims to satisfy replica count",
                NodePool={"name": pool.name},
                current=len(fleet.active),
                desired=pool.replicas,
                **{"deprovision-count": len(leaving)},
            )
        for view in leaving:
            if view.claim is not None:
                self._delete(pool.name, view.claim)
        return DONE

    def _delete(self, pool: str, claim: NodeClaim) -> None:
        """Delete the claim, and know at once that it leaves: the next pass must not choose another in its place."""
        shared = self._shared
        keys = {"NodePool": pool, "NodeClaim": claim.name}
        shared.log.debug("deleting nodeclaim", **{key: {"name": name} for key, name in keys.items()})
        shared.state.mark_for_deletion((claim.name,))
        try:
            shared.delete_claim(claim)
        except KubeError:
            shared.state.unmark_for_deletion((claim.name,))
            raise
