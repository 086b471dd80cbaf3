"""Static pools get the nodes that they lack, as many as the limit allows, straight from the template (core specification 5.13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy import labels
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.nodeclaim.creating import create_static_claim
from karpy.controllers.nodepool.health import PoolHealth
from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.lifecycle.launch import choices, static_claim
from karpy.lifecycle.resting import is_trying
from karpy.lifecycle.static import Missing, missing
from karpy.objects import kinds
from karpy.objects.meta import find_condition
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import RESTING, NodePool
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.catalogs import completed, current_types

__all__ = ["StaticProvisioning"]

_RECHECK_S = 60.0
_SHOWN = 5


class StaticProvisioning:
    """One pool at a time. Each claim is known as soon as it is created, so that no pass launches for what another one did."""

    name = "static.provisioning"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._health = PoolHealth(shared)
        self._limited: dict[str, Missing] = {}
        """What was last told of pools that their limit keeps from what they want."""

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.NODE_POOL, by_name), Source(kinds.NODE_CLAIM, self._pool_that_lost_one))

    def _pool_that_lost_one(self, event: WatchEvent) -> tuple[Request, ...]:
        """The static pool of a claim that is gone, or that ends."""
        metadata = event.object["metadata"]
        if event.type is not EventType.DELETED and not metadata.get("deletionTimestamp"):
            return ()
        pool = self._shared.state.pool((metadata.get("labels") or {}).get(labels.NODEPOOL, ""))
        return (Request(pool.name),) if pool is not None and pool.is_static else ()

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        pool = shared.state.pool(request.name)
        if pool is None or not pool.is_static or shared.clouds.serving(pool.node_class) is None:
            self._limited.pop(request.name, None)
            return DONE
        ready = find_condition(pool.conditions, "Ready")
        if not pool.may_launch or ready is None or not ready.is_true:
            return DONE  # its own events tell when it may; before it was looked at once, nobody knows what is wrong with it
        fleet = shared.state.snapshot().fleet(pool.name)
        lacking = missing(pool, fleet, is_trying=is_trying(find_condition(pool.conditions, RESTING)))
        self._tell_limit(pool, lacking, len(fleet.active))
        if lacking.now:
            self._provision(completed(pool, shared.clouds), len(fleet.active), lacking.now)
        return Result(_RECHECK_S) if lacking.wanted else DONE

    def _provision(self, pool: NodePool, current: int, count: int) -> None:
        shared = self._shared
        raw = static_claim(pool, shared.clouds.labels)
        offered = choices(NodeClaim.from_dict(raw), current_types(shared.state, pool, shared.clouds, shared.settings))
        if not offered:
            self._health.lacks_capacity(pool.name, "nothing that the pool allows is to be had")
            return
        shared.log.info(
            "provisioning nodeclaims to satisfy replica count",
            NodePool={"name": pool.name},
            current=current,
            desired=pool.replicas,
            **{"provision-count": count},
        )
        names = ", ".join(each.name for each in offered[:_SHOWN])
        names += f" and {len(offered) - _SHOWN} other(s)" if len(offered) > _SHOWN else ""
        for _ in range(count):
            self._create(pool, raw, names)

    def _create(self, pool: NodePool, raw: Mapping[str, Any], names: str) -> None:
        """Create one claim. A refusal is told on the pool."""
        try:
            create_static_claim(self._shared, pool, raw, names)
        except KubeError as error:
            message = f"Failed to create NodeClaim: {error}"
            self._shared.recorder.warning(pool.origin, pool.metadata, "FailedCreate", message)
            raise

    def _tell_limit(self, pool: NodePool, lacking: Missing, active: int) -> None:
        """Say once that the limit keeps the pool from what it wants."""
        is_trying_now = is_trying(find_condition(pool.conditions, RESTING))
        if lacking.now >= lacking.wanted or is_trying_now:
            self._limited.pop(pool.name, None)
            return
        if self._limited.get(pool.name) != lacking:
            self._limited[pool.name] = lacking
            self._shared.log.info("nodepool node limit reached", NodePool={"name": pool.name})
            message = f"The limit of nodes leaves room for {active + lacking.now} of {pool.replicas} replicas"
            self._shared.recorder.warning(pool.origin, pool.metadata, "NodeLimitReached", message)
