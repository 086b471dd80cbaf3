"""What was left behind: machines of claims that are gone, and claims whose machine is gone (core specification 4.6).

A list of machines may be old, or wrong. So nothing is ended for the list's sake alone: a claim only if its node is missing or not
ready (a kubelet that answers knows better than its cloud), and the cloud, asked for this very machine, does not know it; a machine
only if it is old enough for its claim to be known, and the API server, asked for this very claim, does not have it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from karpy.cloud.provider import CloudProvider, Instance
from karpy.controllers.base import Request, Result, Source, singleton
from karpy.controllers.nodeclaim.ending import end_claim
from karpy.controllers.shared import Shared
from karpy.errors import InvalidObject, KarpyError, KubeError, NodeClaimNotFound, ProviderError
from karpy.objects.kinds import NODE_CLAIM, NODE_POOL, PROVISIONER
from karpy.objects.nodeclaim import LAUNCHED, NodeClaim

__all__ = ["GarbageCollection"]

T = TypeVar("T")

_EVERY_S = 120.0
_RETRY_S = 30.0
"""Whatever else happens meanwhile: a cloud that is overcharged is not asked at every event."""
_YOUNG_S = 60.0


class GarbageCollection:
    """Looks at everything every two minutes. What fails for one machine, or one cloud, is tried again, and holds up no other."""

    name = "nodeclaim.garbagecollection"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._next_at: dict[str, float] = {}

    @property
    def sources(self) -> Sequence[Source]:
        """Where there are pools or claims there may be machines."""
        return tuple(Source(kind, singleton) for kind in (NODE_CLAIM, NODE_POOL, PROVISIONER))

    def reconcile(self, _request: Request) -> Result:
        now = self._shared.clock.now()
        due = [provider for provider in self._shared.clouds.providers if self._wait_s(provider, now) <= 0]
        failures = _for_each(due, lambda provider: self._collect(provider, now))
        if failures:
            raise failures[0]
        return Result(min(self._wait_s(provider, now) for provider in self._shared.clouds.providers))

    def _wait_s(self, provider: CloudProvider, now: float) -> float:
        """Until it is this cloud's turn. A clock that jumped back makes nobody wait for longer."""
        wait_s = self._next_at.get(provider.name, now) - now
        return wait_s if wait_s <= _EVERY_S else 0.0

    def _collect(self, provider: CloudProvider, now: float) -> None:
        self._next_at[provider.name] = now + _RETRY_S  # unless all goes well
        views = self._shared.state.snapshot().nodes
        claims = [view.claim for view in views if view.claim is not None]
        instances = [instance for instance in provider.list() if not instance.is_terminating]
        listed = {instance.provider_id for instance in instances}
        served = [claim for claim in claims if self._shared.clouds.serving(claim.node_class) is provider]
        unclaimed = [each for each in _unclaimed(instances, claims) if not _is_young(each.created, now)]
        abandoned = [claim for claim in served if self._looks_abandoned(claim, listed, now)]
        failures = [
            *_for_each(unclaimed, lambda instance: self._end_instance(provider, instance)),
            *_for_each(abandoned, lambda claim: self._end_claim(provider, claim)),
        ]
        if failures:
            raise failures[0]
        self._next_at[provider.name] = now + _EVERY_S

    def _end_instance(self, provider: CloudProvider, instance: Instance) -> None:
        """What is known here of claims may be a little old."""
        if self._is_claimed(instance):
            return
        about: dict[str, Any] = {"provider-id": instance.provider_id}
        if instance.claim:
            about["NodeClaim"] = {"name": instance.claim}
        self._shared.log.info("garbage collecting instance", **about)
        with contextlib.suppress(NodeClaimNotFound):
            provider.delete(instance.provider_id)

    def _is_claimed(self, instance: Instance) -> bool:
        """Whether a claim has it, or may yet be told of it, as the API server knows."""
        if not instance.claim:
            claims = self._shared.kube.list(NODE_CLAIM).items
            return any((each.get("status") or {}).get("providerID") == instance.provider_id for each in claims)
        try:
            claim = NodeClaim.from_dict(self._shared.kube.get(NODE_CLAIM, instance.claim))
        except KubeError as error:
            if not error.not_found:
                raise
            return False
        return claim.provider_id in ("", instance.provider_id)

    def _looks_abandoned(self, claim: NodeClaim, listed: Collection[str], now: float) -> bool:
        """Whether its machine is not listed, and its node does not say otherwise. Who has not registered is given up elsewhere."""
        if claim.metadata.is_deleting or not claim.is_registered or claim.provider_id in listed:
            return False
        launched = claim.condition(LAUNCHED)
        if launched is None or _is_young(launched.since, now):
            return False
        node = self._shared.state.node_of(claim)
        return node is None or not node.is_ready

    def _end_claim(self, provider: CloudProvider, claim: NodeClaim) -> None:
        with contextlib.suppress(NodeClaimNotFound):
            if not provider.get(claim.provider_id).is_terminating:
                return
        about: dict[str, Any] = {"NodeClaim": {"name": claim.name}, "provider-id": claim.provider_id}
        if claim.node_name:
            about["Node"] = {"name": claim.node_name}
        self._shared.log.debug("garbage collecting nodeclaim with no cloudprovider representation", **about)
        end_claim(self._shared, claim, "garbage_collected")


def _unclaimed(instances: Iterable[Instance], claims: Sequence[NodeClaim]) -> Iterator[Instance]:
    """The machines that carry the mark of a claim that there is not, or that has another machine. A claim that has none yet may
    still be told of this one. Of those that were not marked yet, the ones that no claim has: who launched them died before it
    could say so, and its claim gets another."""
    machine_of = {claim.name: claim.provider_id for claim in claims}
    had = frozenset(machine_of.values())
    for each in instances:
        if each.claim:
            if machine_of.get(each.claim, "?") not in ("", each.provider_id):
                yield each
        elif each.is_unmarked and each.provider_id not in had:
            yield each


def _is_young(since: float, now: float) -> bool:
    """Clocks differ a little; a time that is far ahead is of a clock that jumped back since."""
    return abs(now - since) < _YOUNG_S


def _for_each(things: Iterable[T], act: Callable[[T], None]) -> list[KarpyError]:
    """``act`` on each of them; returns the failures, each of which keeps no other from being seen to."""
    failures: list[KarpyError] = []
    for thing in things:
        try:
            act(thing)
        except (KubeError, ProviderError, InvalidObject) as error:
            failures.append(error)
    return failures
