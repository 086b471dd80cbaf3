"""What was left behind: machines of claims that are gone, and claims whose machine is gone (core specification 4.6).

A claim that stands for a machine is deleted only if its node is missing or not ready: a kubelet that answers knows better than a
cloud that does not list it. A machine is ended only when it is old enough for its claim to be known, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from karpy.cloud.provider import CloudProvider
from karpy.controllers.base import Request, Result, Source, singleton
from karpy.controllers.shared import Shared
from karpy.errors import KubeError, NodeClaimNotFound
from karpy.objects.kinds import NODE_CLAIM, NODE_POOL, PROVISIONER
from karpy.objects.nodeclaim import NodeClaim

__all__ = ["GarbageCollection"]

_EVERY_S = 120.0
_YOUNG_S = 60.0


class GarbageCollection:
    """Looks at everything every two minutes."""

    name = "nodeclaim.garbagecollection"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._next_at = 0.0

    @property
    def sources(self) -> Sequence[Source]:
        """Where there are pools or claims there may be machines."""
        return tuple(Source(kind, singleton) for kind in (NODE_CLAIM, NODE_POOL, PROVISIONER))

    def reconcile(self, _request: Request) -> Result:
        now = self._shared.clock.now()
        if now < self._next_at <= now + _EVERY_S:
            return Result(self._next_at - now)
        self._next_at = now + _EVERY_S
        for provider in self._shared.clouds.providers:
            self._collect(provider, now)
        return Result(_EVERY_S)

    def _collect(self, provider: CloudProvider, now: float) -> None:
        claims = [view.claim for view in self._shared.state.snapshot().nodes if view.claim is not None]
        instances = [instance for instance in provider.list() if not instance.is_terminating]
        names = {claim.name for claim in claims}
        for instance in instances:
            if instance.claim and instance.claim not in names and now - instance.created > _YOUNG_S:
                self._end(provider, instance.claim, instance.provider_id)
        listed = {instance.provider_id for instance in instances}
        served = [claim for claim in claims if self._shared.clouds.serving(claim.node_class) is provider]
        for claim in self._abandoned(served, listed):
            self._shared.log.info("garbage collecting nodeclaim", NodeClaim=claim.name, provider_id=claim.provider_id)
            self._shared.delete_claim(claim)

    def _end(self, provider: CloudProvider, claim: str, provider_id: str) -> None:
        """End a machine whose claim the API server does not know either: what is known here may be a little old."""
        try:
            self._shared.kube.get(NODE_CLAIM, claim)
        except KubeError as error:
            if not error.not_found:
                raise
        else:
            return
        self._shared.log.info("garbage collecting instance", NodeClaim=claim, provider_id=provider_id)
        try:
            provider.delete(provider_id)
        except NodeClaimNotFound:
            return

    def _abandoned(self, claims: Iterable[NodeClaim], listed: set[str]) -> Iterable[NodeClaim]:
        """Registered claims whose machine is not listed, and whose node does not say otherwise."""
        for claim in claims:
            if claim.metadata.is_deleting or not claim.is_registered or claim.provider_id in listed:
                continue
            node = self._shared.state.node_of(claim)
            if node is None or not node.is_ready:
                yield claim
