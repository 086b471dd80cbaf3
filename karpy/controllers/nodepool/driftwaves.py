"""Pools with canaries say how these do: in a condition, and in the end by an event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpy import labels
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.nodepool.writing import write_conditions
from karpy.controllers.shared import Shared
from karpy.disruption.driftmodes import WAVE, DriftState, Stage, drift_state, new_wave
from karpy.objects.driftmode import DriftMode, drift_rule
from karpy.objects.kinds import NODE_CLAIM, NODE_POOL
from karpy.objects.meta import Condition, find_condition, set_condition
from karpy.objects.nodepool import NodePool
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["DRIFT_CANARIES_WELL", "DriftWaves"]

DRIFT_CANARIES_WELL: Final = "DriftCanariesWell"
"""karpy's own, and there only while nodes have drifted of a pool that has canaries."""

_STATUS: Final = {Stage.BAKING: "Unknown", Stage.PASSED: "True", Stage.FAILED: "False"}
_LOOK_AGAIN_S: Final = 60.0
"""A new node may cease to be ready at any time."""


class DriftWaves:
    """One pool at a time. What it knows is on the pool and its claims."""

    name = "nodepool.drift"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE_POOL, by_name), Source(NODE_CLAIM, self._pool_with_canaries))

    def _pool_with_canaries(self, event: WatchEvent) -> tuple[Request, ...]:
        name = (event.object["metadata"].get("labels") or {}).get(labels.NODEPOOL, "")
        pool = self._shared.state.pool(name)
        return (Request(name),) if pool is not None and _is_concerned(pool) else ()

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        pool = shared.state.pool(request.name)
        if pool is None or pool.origin != NODE_POOL or not _is_concerned(pool):
            return DONE
        if pool.metadata.is_deleting or shared.clouds.serving(pool.node_class) is None:
            return DONE
        now, machines = shared.clock.now(), shared.state.snapshot().fleet(pool.name).machines
        noted = new_wave(pool, machines, now)
        if noted:
            raw = shared.kube.patch(NODE_POOL, pool.name, {"metadata": {"annotations": dict(noted)}})
            shared.state.apply(WatchEvent(EventType.MODIFIED, NODE_POOL, raw))
            pool = shared.state.pool(pool.name) or pool
        found = drift_state(pool, machines, now)
        self._say(pool, found)
        return Result(_LOOK_AGAIN_S) if found.stage is Stage.BAKING else DONE

    def _say(self, pool: NodePool, found: DriftState) -> None:
        shared, before = self._shared, find_condition(pool.conditions, DRIFT_CANARIES_WELL)
        if found.stage not in _STATUS:
            rest = tuple(each for each in pool.conditions if each.type != DRIFT_CANARIES_WELL)
            write_conditions(shared, pool, rest)
            return
        said = Condition(
            DRIFT_CANARIES_WELL,
            _STATUS[found.stage],
            found.stage.value,
            found.text,
            observed_generation=pool.metadata.generation or None,
        )
        write_conditions(shared, pool, set_condition(pool.conditions, said, now=shared.clock.now()))
        if before is not None and before.status == said.status:
            return
        if found.stage is Stage.FAILED:
            shared.recorder.warning(NODE_POOL, pool.metadata, "DriftStopped", found.text)
        elif found.stage is Stage.PASSED:
            shared.recorder.normal(NODE_POOL, pool.metadata, "DriftCanariesWell", found.text)


def _is_concerned(pool: NodePool) -> bool:
    """Whether it has canaries, or still says something of them."""
    annotations = pool.metadata.annotations or {}
    return (
        drift_rule(annotations).mode is DriftMode.CANARY
        or WAVE in annotations
        or find_condition(pool.conditions, DRIFT_CANARIES_WELL) is not None
    )
