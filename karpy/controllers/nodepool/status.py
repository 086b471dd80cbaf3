"""Pools say how they are: readable, ready, and how much they hold. The status goes onto the object that the user wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy import labels
from karpy.cloud.provider import CloudProvider
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.shared import Shared, conditions_patch
from karpy.errors import ProviderError
from karpy.lifecycle.conditions import with_condition
from karpy.objects.kinds import NODE_CLAIM, NODE_POOL, PROVISIONER, Kind
from karpy.objects.meta import Condition, ObjectMeta, decode, readable_conditions
from karpy.objects.nodepool import NodePool
from karpy.objects.poolrules import pool_problems
from karpy.objects.watchevent import WatchEvent
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, NODES, PODS, Resources
from karpy.state.snapshot import InvalidPool

__all__ = ["PoolStatus"]

VALIDATION_SUCCEEDED = "ValidationSucceeded"
VALIDATION_FAILED = "NodePoolValidationFailed"
NODE_CLASS_READY = "NodeClassReady"
_ROOT = (VALIDATION_SUCCEEDED, NODE_CLASS_READY)
_ALWAYS_COUNTED = Resources(dict.fromkeys((CPU, EPHEMERAL_STORAGE, MEMORY, NODES, PODS), 0))
_RECHECK_S = 60.0
_COUNT_EVERY_S = 5.0


class PoolStatus:
    """Conditions and counters of the pools of one kind (NodePool or Provisioner)."""

    def __init__(self, shared: Shared, kind: Kind) -> None:
        self._shared = shared
        self._kind = kind
        self._counted: dict[str, float] = {}
        self.name = f"{kind.kind.lower()}.status"

    @property
    def sources(self) -> Sequence[Source]:
        classes = tuple(Source(kind, self._all_pools) for kind in self._shared.clouds.kinds if kind != self._kind)
        return (Source(self._kind, by_name), Source(NODE_CLAIM, _pool_of_claim), *classes)

    def _all_pools(self, _event: WatchEvent) -> tuple[Request, ...]:
        return tuple(Request(pool.name) for pool in self._shared.state.pools() if pool.origin == self._kind)

    def reconcile(self, request: Request) -> Result:
        state = self._shared.state
        for invalid in state.invalid_pools():
            if (invalid.origin, invalid.name) == (self._kind, request.name):
                self._refuse(invalid)
                return DONE
        pool = next((p for p in state.pools() if (p.origin, p.name) == (self._kind, request.name)), None)
        if pool is None:
            self._counted.pop(request.name, None)
            return DONE
        provider = self._shared.clouds.serving(pool.node_class)
        if provider is None and pool.node_class.kind:
            return DONE  # another autoscaler's
        return self._report(pool, provider)

    def _report(self, pool: NodePool, provider: CloudProvider | None) -> Result:
        """Conditions at once; counters, which every claim moves, at most every few seconds."""
        now = self._shared.clock.now()
        ready = self._node_class_ready(pool, provider)
        valid = self._validate(pool)
        conditions = with_condition(pool.conditions, valid, _ROOT, now=now)
        conditions = with_condition(conditions, ready, _ROOT, now=now)
        wait = self._counted.get(pool.name, -_COUNT_EVERY_S) + _COUNT_EVERY_S - now
        if conditions == pool.conditions and wait > 0:
            return Result(wait)
        counters = self._count(pool)
        self._counted[pool.name] = now
        if conditions != pool.conditions or counters != {name: pool.counters[name] for name in counters}:
            patch = conditions_patch(pool.metadata.resource_version, conditions, **counters)
            self._shared.kube.patch(self._kind, pool.name, patch, subresource="status")
        if ready.is_true:
            return DONE
        told = f"{NODE_CLASS_READY}: {ready.reason}: {ready.message}"
        self._shared.recorder.warning(self._kind, pool.metadata, NODE_CLASS_READY, told)
        return Result(_RECHECK_S)

    def _validate(self, pool: NodePool) -> Condition:
        """Whether the pool asks for nothing that a pool may not ask for; what it does wrong is told in an event too."""
        problems = pool_problems(pool, self._shared.clouds.labels)
        if not problems:
            return Condition(VALIDATION_SUCCEEDED, "True", VALIDATION_SUCCEEDED, "")
        message = "; ".join(str(problem) for problem in problems)
        self._shared.recorder.warning(self._kind, pool.metadata, VALIDATION_FAILED, message)
        return Condition(VALIDATION_SUCCEEDED, "False", VALIDATION_FAILED, message)

    def _count(self, pool: NodePool) -> dict[str, Any]:
        """Capacity of the pool's machines that are not leaving; the usual resources are always there, if only as zero."""
        held = _ALWAYS_COUNTED + self._shared.state.held_by(pool.name)
        counters: dict[str, Any] = {"resources": held.to_dict()}
        if self._kind == NODE_POOL:
            counters["nodes"] = held[NODES]
        return counters

    def _node_class_ready(self, pool: NodePool, provider: CloudProvider | None) -> Condition:
        raw = self._shared.state.node_class(pool.node_class)
        if raw is None or provider is None:
            ref = pool.node_class
            message = f"NodeClass not found on cluster ({ref.kind or 'NodeClass'}={ref.name})"
            return Condition(NODE_CLASS_READY, "False", "NodeClassNotFound", message)
        if raw["metadata"].get("deletionTimestamp") and self._kind != PROVISIONER:
            return Condition(NODE_CLASS_READY, "False", "NodeClassTerminating", "NodeClass is Terminating")
        try:
            status = provider.resolve(raw)
        except ProviderError as error:
            if error.retryable:
                raise  # what was known stays; the loop tries again
            return Condition(NODE_CLASS_READY, "Unknown", "NodeClassReadinessUnknown", str(error))
        if status.ready:
            return Condition(NODE_CLASS_READY, "True", NODE_CLASS_READY, "")
        return Condition(NODE_CLASS_READY, "False", status.reason or "NodeClassNotReady", status.message)

    def _refuse(self, invalid: InvalidPool) -> None:
        """A pool that cannot be read gets a condition and an event that say why; the others go on."""
        shared = self._shared
        meta = decode(invalid.raw["metadata"], ObjectMeta)
        message = str(invalid.error)
        known = readable_conditions((invalid.raw.get("status") or {}).get("conditions"))
        failed = Condition(VALIDATION_SUCCEEDED, "False", VALIDATION_FAILED, message)
        conditions = with_condition(known, failed, (VALIDATION_SUCCEEDED,), now=shared.clock.now())
        if conditions != known:
            patch = conditions_patch(meta.resource_version, conditions)
            shared.kube.patch(self._kind, meta.name, patch, subresource="status")
        shared.recorder.warning(self._kind, meta, VALIDATION_FAILED, message)


def _pool_of_claim(event: WatchEvent) -> tuple[Request, ...]:
    name = (event.object["metadata"].get("labels") or {}).get(labels.NODEPOOL)
    return (Request(name),) if name else ()
