"""A planned machine becomes a NodeClaim: created, known at once, counted and logged, whoever planned it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.controllers.shared import Shared
from karpy.lifecycle.launch import new_claim
from karpy.metrics import NODECLAIMS_CREATED
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.meta import ObjectMeta, decode
from karpy.objects.nodepool import NodePool
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.scheduling.plan import Launch

__all__ = ["PROVISIONED", "create_claim", "create_static_claim"]

PROVISIONED = "provisioned"
"""The reason of claims that pods or a number of replicas asked for; those that replace others have the reason of that."""


def create_claim(
    shared: Shared, launch: Launch, reason: str, annotations: Mapping[str, str] | None = None
) -> ObjectMeta:
    """Create the claim, and know of it at once: the next pass must not launch for the same pods again. ``annotations`` come to
    those that it has anyway.

    Raises:
        KubeError: it was refused; nothing has changed then.
    """
    raw = new_claim(launch, shared.clouds.labels)
    if annotations:
        raw["metadata"]["annotations"] = {**raw["metadata"]["annotations"], **annotations}
    meta = _create(shared, launch.pool, raw, reason, launch.min_values_relaxed)
    until = shared.clock.now() + shared.settings.nomination_window_s
    shared.state.nominate(meta.name, launch.planned_uids, until=until)
    _tell(shared, launch.pool, meta, launch.requests.to_dict(), launch.instance_types_text)
    return meta


def create_static_claim(
    shared: Shared, pool: NodePool, raw: Mapping[str, Any], instance_types: str, reason: str = PROVISIONED
) -> ObjectMeta:
    """Create one more claim of a static pool, and know of it at once. ``instance_types`` are those that it may become, in words.

    Raises:
        KubeError: it was refused; nothing has changed then.
    """
    meta = _create(shared, pool, raw, reason, False)
    _tell(shared, pool, meta, None, instance_types)
    return meta


def _create(
    shared: Shared, pool: NodePool, raw: Mapping[str, Any], reason: str, min_values_relaxed: bool
) -> ObjectMeta:
    created = shared.kube.create(NODE_CLAIM, raw)
    shared.state.apply(WatchEvent(EventType.ADDED, NODE_CLAIM, created))
    relaxed = "true" if min_values_relaxed else "false"
    shared.metrics.add(NODECLAIMS_CREATED, reason=reason, nodepool=pool.name, min_values_relaxed=relaxed)
    return decode(created["metadata"], ObjectMeta)


def _tell(
    shared: Shared, pool: NodePool, claim: ObjectMeta, requests: Mapping[str, str] | None, instance_types: str
) -> None:
    shared.log.info(
        "created nodeclaim",
        NodePool=pool.name,
        NodeClaim=claim.name,
        requests=requests,
        instance_types=instance_types,
    )
