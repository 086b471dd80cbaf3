"""What speaks for taking a machine away is noted on its claim: nothing happens on it any more, or it has drifted (core
specification 4.10). Whether it goes, and when, is for others to decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from karpy.cloud.provider import CloudProvider
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.shared import Shared
from karpy.errors import NodeClaimNotFound, ProviderError
from karpy.lifecycle.conditions import saying
from karpy.lifecycle.disruptable import consolidatable_in
from karpy.lifecycle.drift import OWN_REASONS, drift_from_catalog, drift_from_pool
from karpy.objects.duration import format_duration
from karpy.objects.kinds import NODE_CLAIM, NODE_POOL, PROVISIONER, Kind
from karpy.objects.meta import Condition
from karpy.objects.nodeclaim import CONSOLIDATABLE, DRIFTED, NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.catalogs import current_types

__all__ = ["DisruptionConditions"]

_DRIFT_EVERY_S = 300.0
_CATALOG_AFTER_S = 3600.0
"""A type that was just launched is there."""
_CATALOG_EVERY_S = 1800.0


@attrs.frozen
class _Look:
    """What was found when a claim was last looked at for drift: at what, when, and when its catalog was last found to have it."""

    subject: tuple[Any, ...]
    of_pool: str | None
    reason: str | None
    at: float
    in_catalog_at: float | None

    def is_fresh(self, now: float) -> bool:
        """A clock that jumped back makes it stale too."""
        return 0 <= now - self.at < _DRIFT_EVERY_S


class DisruptionConditions:
    """Sets and clears Consolidatable and Drifted, both in one write. What it remembers saves work and calls to the cloud."""

    name = "nodeclaim.disruption"
    looks_at = NODE_CLAIM

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._looks: dict[str, _Look] = {}
        self._seen: dict[tuple[Kind, str], tuple[Any, ...]] = {}

    # What wakes it

    @property
    def sources(self) -> Sequence[Source]:
        pools = tuple(Source(kind, self._claims_of_pool) for kind in (NODE_POOL, PROVISIONER))
        classes = (kind for kind in self._shared.clouds.kinds if kind != PROVISIONER)
        return (
            Source(NODE_CLAIM, self._claim),
            *pools,
            *(Source(kind, self._claims_of_class) for kind in classes),
        )

    def _claim(self, event: WatchEvent) -> tuple[Request, ...]:
        metadata = event.object["metadata"]
        if event.type is EventType.DELETED or "deletionTimestamp" in metadata:
            self._looks.pop(metadata["name"], None)
            return ()
        return (Request(metadata["name"]),)

    def _claims_of_pool(self, event: WatchEvent) -> tuple[Request, ...]:
        """The claims of a pool of which more than the status is new."""
        if not self._is_news(event):
            return ()
        name = event.object["metadata"]["name"]
        return self._claims(claim for claim in self._known_claims() if claim.pool == name)

    def _claims_of_class(self, event: WatchEvent) -> tuple[Request, ...]:
        if not self._is_news(event):
            return ()
        name, kind = event.object["metadata"]["name"], (event.kind.group, event.kind.kind)
        refs = ((claim, claim.node_class) for claim in self._known_claims())
        return self._claims(claim for claim, ref in refs if ref.name == name and (ref.group, ref.kind) == kind)

    def _known_claims(self) -> Iterable[NodeClaim]:
        return (view.claim for view in self._shared.state.snapshot().nodes if view.claim is not None)

    @staticmethod
    def _claims(claims: Iterable[NodeClaim]) -> tuple[Request, ...]:
        return tuple(Request(claim.name) for claim in claims)

    def _is_news(self, event: WatchEvent) -> bool:
        metadata = event.object["metadata"]
        key = (event.kind, metadata["name"])
        if event.type is EventType.DELETED:
            self._seen.pop(key, None)
            return False
        now_is = (metadata.get("uid"), metadata.get("generation"), metadata.get("annotations"))
        before, self._seen[key] = self._seen.get(key), now_is
        return before != now_is

    # What it does

    def reconcile(self, request: Request) -> Result:
        shared, now = self._shared, self._shared.clock.now()
        claim = shared.state.claim(request.name)
        if claim is None or claim.metadata.is_deleting:
            return DONE
        provider, pool = shared.clouds.serving(claim.node_class), shared.state.pool(claim.pool)
        if provider is None or pool is None:
            return DONE  # another autoscaler's, or nobody knows what it should be like
        quiet_in = consolidatable_in(claim, pool, now=now)
        wanted = {CONSOLIDATABLE: Condition(CONSOLIDATABLE, "True", CONSOLIDATABLE, "") if quiet_in == 0 else None}
        look = self._look(claim, pool, provider, now) if claim.is_launched else None
        drifted = None if look is None else look.reason
        wanted[DRIFTED] = Condition(DRIFTED, "True", drifted, drifted) if drifted else None
        self._write(claim, wanted, now, _unrest(claim, pool, quiet_in))
        waits = (quiet_in or None, None if look is None else look.at + _DRIFT_EVERY_S - now)
        return Result(min((wait for wait in waits if wait is not None), default=None))

    def _write(
        self, claim: NodeClaim, wanted: Mapping[str, Condition | None], now: float, unrest: Mapping[str, str]
    ) -> None:
        conditions = saying(claim.conditions, wanted, now=now, generation=claim.metadata.generation)
        if conditions == claim.conditions:
            return
        self._shared.patch_claim_status(claim, conditions)
        about = {"Node": {"name": claim.node_name}} if claim.node_name else {}
        for type_, condition in wanted.items():
            was_there = claim.condition(type_) is not None
            if condition is not None and not was_there:
                reason = {"reason": condition.reason} if type_ == DRIFTED else {}
                self._shared.log.debug(f"marking {type_.lower()}", **about, **reason)
            elif condition is None and was_there:
                why = unrest if type_ == CONSOLIDATABLE else {}
                self._shared.log.debug(f"removing {type_.lower()} status condition", **about, **why)

    def _look(self, claim: NodeClaim, pool: NodePool, provider: CloudProvider, now: float) -> _Look:
        node_class = self._shared.state.node_class(claim.node_class)
        meta, class_meta = claim.metadata, (node_class or {}).get("metadata", {})
        subject = (
            (meta.uid, meta.labels, meta.annotations),
            (pool.metadata.uid, pool.metadata.generation, pool.metadata.annotations),
            (class_meta.get("uid"), class_meta.get("generation"), class_meta.get("annotations")),
        )
        last = self._looks.get(claim.name)
        if last is not None and last.subject != subject:
            last = None
        if last is not None and last.is_fresh(now):
            return last
        of_pool = drift_from_pool(claim, pool) if last is None else last.of_pool
        reason, in_catalog_at = of_pool, None if last is None else last.in_catalog_at
        if reason is None and _is_catalog_due(claim, in_catalog_at, now):
            types = current_types(self._shared.state, pool, self._shared.clouds, self._shared.settings)
            reason = drift_from_catalog(claim, types)
            in_catalog_at = now if reason is None else None
        if reason is None and node_class is not None:
            reason = _drift_from_class(claim, pool, provider, node_class)
        look = self._looks[claim.name] = _Look(subject, of_pool, reason, now, in_catalog_at)
        return look


def _is_catalog_due(claim: NodeClaim, checked_at: float | None, now: float) -> bool:
    if now - claim.metadata.created < _CATALOG_AFTER_S:
        return False
    return checked_at is None or not 0 <= now - checked_at < _CATALOG_EVERY_S


def _drift_from_class(
    claim: NodeClaim, pool: NodePool, provider: CloudProvider, node_class: Mapping[str, Any]
) -> str | None:
    """What the cloud says. When it cannot say, what was known stays; it is asked again after the usual time."""
    try:
        return provider.drift_reason(claim, pool, node_class)
    except NodeClaimNotFound:
        return None
    except ProviderError:
        known = claim.condition(DRIFTED)
        return known.reason if known is not None and known.is_true and known.reason not in OWN_REASONS else None


def _unrest(claim: NodeClaim, pool: NodePool, quiet_in: float | None) -> dict[str, str]:
    """Why a machine on which nothing happened is not consolidatable any more, for the log."""
    if not quiet_in or pool.consolidate_after_s is None:
        return {}
    return {
        "reason": "consolidateAfter window not yet elapsed",
        "consolidateAfter": format_duration(pool.consolidate_after_s),
        "lastPodEventTime": claim.last_pod_event or "",
        "timeSincePodEvent": f"{pool.consolidate_after_s - quiet_in:.3f}s",
    }
