"""A planned machine becomes a NodeClaim: created, known at once, counted and logged, whoever planned it."""

from __future__ import annotations

from karpy.controllers.shared import Shared
from karpy.lifecycle.launch import new_claim
from karpy.metrics import NODECLAIMS_CREATED
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.meta import ObjectMeta, decode
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.scheduling.plan import Launch

__all__ = ["PROVISIONED", "create_claim"]

PROVISIONED = "provisioned"
"""The reason of claims that pods or a number of replicas asked for; those that replace others have the reason of that."""


def create_claim(shared: Shared, launch: Launch, reason: str) -> ObjectMeta:
    """Create the claim, and know of it at once: the next pass must not launch for the same pods again.

    Raises:
        KubeError: it was refused; nothing has changed then.
    """
    raw = shared.kube.create(NODE_CLAIM, new_claim(launch, shared.clouds.labels))
    meta = decode(raw["metadata"], ObjectMeta)
    shared.state.apply(WatchEvent(EventType.ADDED, NODE_CLAIM, raw))
    until = shared.clock.now() + shared.settings.nomination_window_s
    shared.state.nominate(meta.name, launch.planned_uids, until=until)
    shared.metrics.add(
        NODECLAIMS_CREATED,
        reason=reason,
        nodepool=launch.pool.name,
        min_values_relaxed="true" if launch.min_values_relaxed else "false",
    )
    shared.log.info(
        "created nodeclaim",
        NodePool={"name": launch.pool.name},
        NodeClaim={"name": meta.name},
        requests=launch.requests.to_dict(),
        **{"instance-types": launch.instance_types_text},
    )
    return meta
