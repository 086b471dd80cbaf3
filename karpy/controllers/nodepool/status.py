"""Pools say how they are: readable, ready, and how much they hold. The status goes onto the object that the user wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy import labels
from karpy.cloud.provider import CloudProvider, RawNodeClass
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.nodepool.writing import write_conditions
from karpy.controllers.shared import Shared, conditions_patch
from karpy.errors import ProviderError
from karpy.lifecycle.conditions import AWAITING, AWAITING_MESSAGE, with_condition, with_conditions
from karpy.lifecycle.health import AWAITED, class_generation, current_health
from karpy.lifecycle.resting import after_rest, patience_with, rests_for
from karpy.objects.kinds import NODE_CLAIM, NODE_POOL, PROVISIONER, Kind
from karpy.objects.meta import Condition, ObjectMeta, decode, find_condition, readable_conditions
from karpy.objects.nodepool import RESTING, NodeClassRef, NodePool
from karpy.objects.poolrules import budget_problems, pool_problems
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.resources import NODES, with_usual
from karpy.state.snapshot import InvalidPool

__all__ = ["POOL_CONDITIONS", "PoolStatus"]

VALIDATION_SUCCEEDED = "ValidationSucceeded"
VALIDATION_FAILED = "NodePoolValidationFailed"
BUDGET_UNREADABLE = "BudgetUnreadable"
NODE_CLASS_READY = "NodeClassReady"
POOL_CONDITIONS = (VALIDATION_SUCCEEDED, NODE_CLASS_READY)
"""A pool is Ready when these hold."""
_RECHECK_S = 60.0
_COUNT_EVERY_S = 5.0


class PoolStatus:
    """Conditions and counters of the pools of one kind (NodePool or Provisioner)."""

    def __init__(self, shared: Shared, kind: Kind) -> None:
        self._shared = shared
        self._kind = kind
        self._counted: dict[str, float] = {}
        self._looked_at: dict[str, tuple[NodePool, RawNodeClass | None]] = {}
        """What was last reported on, by pool: while it stays the same, only the counters are new every few seconds."""
        self.name = f"{kind.kind.lower()}.status"

    @property
    def sources(self) -> Sequence[Source]:
        classes = tuple(Source(kind, self._pools_of_class) for kind in self._shared.clouds.kinds if kind != self._kind)
        return (Source(self._kind, by_name), Source(NODE_CLAIM, _pool_of_claim), *classes)

    def _pools_of_class(self, event: WatchEvent) -> tuple[Request, ...]:
        """The pools that mean this node class. Of one that has not said anything of itself there is nothing to tell yet."""
        metadata, said = event.object["metadata"], (event.object.get("status") or {}).get("conditions")
        if not said and event.type is not EventType.DELETED and not metadata.get("deletionTimestamp"):
            return ()
        meant = NodeClassRef(event.kind.group, event.kind.kind, metadata["name"])
        pools = (pool for pool in self._shared.state.pools() if pool.origin == self._kind)
        return tuple(Request(pool.name) for pool in pools if pool.node_class == meant)

    def reconcile(self, request: Request) -> Result:
        state = self._shared.state
        for invalid in state.invalid_pools():
            if (invalid.origin, invalid.name) == (self._kind, request.name):
                self._refuse(invalid)
                return DONE
        pool = next((p for p in state.pools() if (p.origin, p.name) == (self._kind, request.name)), None)
        if pool is None:
            self._counted.pop(request.name, None)
            self._looked_at.pop(request.name, None)
            return DONE
        provider = self._shared.clouds.serving(pool.node_class)
        if provider is None and pool.node_class.kind:
            return DONE  # another autoscaler's
        uncounted = self._uncounted_s(pool, self._shared.clock.now())
        if uncounted and not pool.rests_because and self._is_known(pool):
            return Result(uncounted)
        result = self._report(pool, provider)
        self._looked_at[pool.name] = (pool, state.node_class(pool.node_class))
        return result

    def _is_known(self, pool: NodePool) -> bool:
        """Whether neither the pool nor its node class changed since they were last reported on."""
        known, node_class = self._looked_at.get(pool.name, (None, None))
        return known is pool and node_class is self._shared.state.node_class(pool.node_class)

    def _report(self, pool: NodePool, provider: CloudProvider | None) -> Result:
        """Conditions at once; counters, which every claim moves, at most every few seconds."""
        now, generation = self._shared.clock.now(), class_generation(self._shared.state.node_class(pool.node_class))
        news = [self._validate(pool), self._node_class_ready(pool, provider)]
        resting = find_condition(pool.conditions, RESTING)
        if generation is not None and current_health(pool, generation) is None:
            news.append(AWAITED)  # it was changed: nothing is known of it as it is now, and so it does not rest
            resting = None
        rest = self._rest_of(pool, resting)
        if resting is not None and rest == 0:
            news.append(after_rest(resting))
        known = tuple(each for each in pool.conditions if each.type != RESTING or resting is not None)
        conditions = with_conditions(known, news, POOL_CONDITIONS, now=now, generation=pool.metadata.generation)
        uncounted = self._uncounted_s(pool, now)
        fields = {} if uncounted else self._new_counters(pool)
        if self._kind == NODE_POOL and generation not in (None, pool.class_generation):
            fields["nodeClassObservedGeneration"] = generation
        write_conditions(self._shared, pool, conditions, **fields)
        if not uncounted:
            self._counted[pool.name] = now
        again = (rest, uncounted, _RECHECK_S if _is_its_own_class(pool) else 0)
        return Result(min((each for each in again if each), default=None))

    def _uncounted_s(self, pool: NodePool, now: float) -> float:
        """Seconds until the pool's machines may be counted again."""
        left = self._counted.get(pool.name, -_COUNT_EVERY_S) + _COUNT_EVERY_S - now
        return left if 0 < left <= _COUNT_EVERY_S else 0.0  # a clock that jumped back makes nobody wait for longer

    def _new_counters(self, pool: NodePool) -> dict[str, Any]:
        """The pool's counters, if they are not what its status says."""
        counters = self._count(pool)
        return {} if counters == {name: pool.counters[name] for name in counters} else counters

    def _rest_of(self, pool: NodePool, resting: Condition | None) -> float | None:
        """Seconds until the pool's rest is over; None where it does not rest."""
        if resting is None:
            return None
        patience = patience_with(pool, self._shared.settings, resting.reason or "")
        return rests_for(resting, patience, now=self._shared.clock.now())

    def _validate(self, pool: NodePool) -> Condition:
        """Whether the pool asks for nothing that a pool may not ask for; what it does wrong is told in an event too."""
        for problem in budget_problems(pool):
            text = f"Nothing is disrupted while a budget cannot be read: {problem}"
            self._shared.recorder.warning(self._kind, pool.metadata, BUDGET_UNREADABLE, text)
        problems = pool_problems(pool, self._shared.clouds.labels)
        if not problems:
            return Condition(VALIDATION_SUCCEEDED, "True", VALIDATION_SUCCEEDED, "")
        message = "; ".join(str(problem) for problem in problems)
        self._shared.recorder.warning(self._kind, pool.metadata, VALIDATION_FAILED, message)
        return Condition(VALIDATION_SUCCEEDED, "False", VALIDATION_FAILED, message)

    def _count(self, pool: NodePool) -> dict[str, Any]:
        """Capacity of the pool's machines that are not leaving; the usual resources are always there, if only as zero."""
        held = with_usual(self._shared.state.held_by(pool.name))
        counters: dict[str, Any] = {"resources": held.to_dict()}
        if self._kind == NODE_POOL:
            counters["nodes"] = held[NODES]
        return counters

    def _node_class_ready(self, pool: NodePool, provider: CloudProvider | None) -> Condition:
        """What the node class says of itself. A Provisioner that is its own node class says nothing, so the cloud is asked."""
        raw = self._shared.state.node_class(pool.node_class)
        if raw is None or provider is None:
            return Condition(NODE_CLASS_READY, "False", "NodeClassNotFound", "NodeClass not found on cluster")
        if _is_its_own_class(pool):
            return self._found_by(raw, provider)
        if raw["metadata"].get("deletionTimestamp"):
            return Condition(NODE_CLASS_READY, "False", "NodeClassTerminating", "NodeClass is Terminating")
        ready = find_condition(readable_conditions((raw.get("status") or {}).get("conditions")), "Ready")
        if ready is None:
            return Condition(NODE_CLASS_READY, "Unknown", AWAITING, AWAITING_MESSAGE)
        if ready.status not in ("True", "False"):
            message = "Node Class Readiness Unknown"
            return Condition(NODE_CLASS_READY, "Unknown", "NodeClassReadinessUnknown", message)
        if ready.is_true:
            return Condition(NODE_CLASS_READY, "True", NODE_CLASS_READY, "")
        return Condition(NODE_CLASS_READY, "False", ready.reason or "NodeClassNotReady", ready.message or "")

    def _found_by(self, raw: RawNodeClass, provider: CloudProvider) -> Condition:
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


def _is_its_own_class(pool: NodePool) -> bool:
    return pool.node_class.kind == PROVISIONER.kind


def _pool_of_claim(event: WatchEvent) -> tuple[Request, ...]:
    name = (event.object["metadata"].get("labels") or {}).get(labels.NODEPOOL)
    return (Request(name),) if name else ()
