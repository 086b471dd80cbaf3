"""What every controller is made with: the API server, the clouds, the state, the time, and where to tell what happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from karpy.clock import Clock
from karpy.cloud.routing import Clouds
from karpy.controllers.metrics.passes import Passes
from karpy.controllers.together import Together, one_by_one
from karpy.errors import KubeError
from karpy.kube.client import KubeClient
from karpy.kube.recorder import EventRecorder
from karpy.lifecycle.conditions import is_said, with_conditions
from karpy.metrics import Metrics
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.meta import Condition, to_wire
from karpy.objects.nodeclaim import INITIALIZED, LAUNCHED, REGISTERED, NodeClaim
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.settings import Settings
from karpy.state.cluster import ClusterState

__all__ = ["ROOT_CONDITIONS", "Shared", "conditions_patch"]

ROOT_CONDITIONS = (LAUNCHED, REGISTERED, INITIALIZED)
"""A claim is Ready when these hold."""


@attrs.frozen(kw_only=True, eq=False)
class Shared:
    """The surroundings of all controllers of one operator."""

    kube: KubeClient
    clouds: Clouds
    state: ClusterState
    clock: Clock
    settings: Settings
    recorder: EventRecorder
    metrics: Metrics
    on_decision: Callable[[float, Any], None]
    together: Together = one_by_one
    """How calls go out that do not depend on each other."""
    log: Any
    """A structlog logger."""
    passes: Passes = attrs.field(
        init=False, default=attrs.Factory(lambda self: Passes(self.metrics, self.clock), takes_self=True)
    )
    """The searches for places for pods that are under way."""

    def serves(self, claim: NodeClaim) -> bool:
        """Whether one of our clouds launched this claim. Another autoscaler's claims and nodes are left alone."""
        return self.clouds.serving(claim.node_class) is not None

    def delete_claim(self, claim: NodeClaim) -> None:
        """Ask for the claim's end; that it is gone already is no failure."""
        try:
            self.kube.delete(NODE_CLAIM, claim.name, uid=claim.metadata.uid)
        except KubeError as error:
            if not error.not_found:
                raise

    def set_condition(self, claim: NodeClaim, *conditions: Condition, **fields: Any) -> None:
        """Write conditions of a claim and what depends on them, unless it says so already.

        The state hears of it at once, so that a controller may write several in one go.
        """
        if not fields and all(is_said(claim.conditions, condition) for condition in conditions):
            return
        now, generation = self.clock.now(), claim.metadata.generation
        merged = with_conditions(claim.conditions, conditions, ROOT_CONDITIONS, now=now, generation=generation)
        self.patch_claim_status(claim, merged, **fields)

    def patch_claim_status(self, claim: NodeClaim, conditions: tuple[Condition, ...], **fields: Any) -> None:
        """Write conditions and other status fields, unless the claim changed since it was read (then: a conflict)."""
        patch = conditions_patch(claim.metadata.resource_version, conditions, **fields)
        raw = self.kube.patch(NODE_CLAIM, claim.name, patch, subresource="status")
        self.state.apply(WatchEvent(EventType.MODIFIED, NODE_CLAIM, raw))


def conditions_patch(resource_version: str, conditions: tuple[Condition, ...], **fields: Any) -> dict[str, Any]:
    """A merge patch for the status of an object; conditions are one list, so it is tied to the version that was read."""
    return {
        "metadata": {"resourceVersion": resource_version},
        "status": {"conditions": to_wire(conditions), **fields},
    }
