"""How long pods wait for a node, and until they run: heard in what happens to them.

Only pods that were seen to wait are remembered, and only until they run. A restart forgets those that began to run in between;
nothing but these figures hangs on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from karpy.clock import parse_time
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.shared import Shared
from karpy.errors import InvalidObject
from karpy.gauges import (
    PODS_PROVISIONING_UNBOUND_TIME,
    PODS_PROVISIONING_UNSTARTED_TIME,
    PODS_SCHEDULING_UNDECIDED_TIME,
    PODS_UNBOUND_TIME,
    PODS_UNSTARTED_TIME,
)
from karpy.metrics import (
    PODS_BOUND_DURATION,
    PODS_PROVISIONING_BOUND_DURATION,
    PODS_PROVISIONING_STARTUP_DURATION,
    PODS_STARTUP_DURATION,
    Metric,
    Reading,
)
from karpy.objects.kinds import POD
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["PodStartups"]


@attrs.define
class _Waiting:
    """A pod that does not run yet."""

    uid: str
    created: float
    is_bound: bool = False


class PodStartups:
    """Listens to pods; never has anything to do."""

    name = "metrics.pod"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._waiting: dict[tuple[str, str], _Waiting] = {}

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(POD, self._hear),)

    def reconcile(self, _request: Request) -> Result:
        return DONE

    def readings(self, now: float) -> Iterator[Reading]:
        """For how long those have waited that still do."""
        for (namespace, name), pod in list(self._waiting.items()):  # whoever asks may be another thread
            own, age = {"name": name, "namespace": namespace}, max(now - pod.created, 0.0)
            times = self._shared.state.pod_times(pod.uid)
            yield Reading(PODS_UNSTARTED_TIME, age, own)
            if not pod.is_bound:
                yield Reading(PODS_UNBOUND_TIME, age, own)
            if times.schedulable_in_healthy_pool is not None:
                planned = max(now - times.schedulable_in_healthy_pool, 0.0)
                yield Reading(PODS_PROVISIONING_UNSTARTED_TIME, planned, own)
                if not pod.is_bound:
                    yield Reading(PODS_PROVISIONING_UNBOUND_TIME, planned, own)
            if times.acknowledged is not None and times.attempted is None:
                yield Reading(PODS_SCHEDULING_UNDECIDED_TIME, max(now - times.acknowledged, 0.0), own)

    def _hear(self, event: WatchEvent) -> tuple[Request, ...]:
        """Most pods run, so this looks at little before it knows that nothing is to be done."""
        raw = event.object
        metadata, status = raw["metadata"], raw.get("status") or {}
        key = (metadata.get("namespace", ""), metadata["name"])
        phase = status.get("phase", "Pending")
        if event.type is EventType.DELETED or phase not in ("Pending", "Running"):
            self._waiting.pop(key, None)
            return ()
        waiting = self._waiting.get(key)
        if waiting is None or waiting.uid != metadata.get("uid", ""):
            self._waiting.pop(key, None)
            created = _time(metadata.get("creationTimestamp")) if phase == "Pending" else None
            if created is None:
                return ()
            waiting = self._waiting[key] = _Waiting(metadata.get("uid", ""), created)
        self._move(key, waiting, status)
        return ()

    def _move(self, key: tuple[str, str], waiting: _Waiting, status: Mapping[str, Any]) -> None:
        times = {
            c.get("type"): _time(c.get("lastTransitionTime"))
            for c in status.get("conditions") or ()
            if c.get("status") == "True"
        }
        bound, ready = times.get("PodScheduled"), times.get("Ready")
        if bound is not None and not waiting.is_bound:
            waiting.is_bound = True
            self._observe(waiting, bound, PODS_BOUND_DURATION, PODS_PROVISIONING_BOUND_DURATION)
        if ready is not None:
            del self._waiting[key]
            self._observe(waiting, ready, PODS_STARTUP_DURATION, PODS_PROVISIONING_STARTUP_DURATION)

    def _observe(self, pod: _Waiting, until: float, since_created: Metric, since_planned: Metric) -> None:
        """How long it took since the pod was there, and since a place was planned for it in a pool whose nodes join."""
        self._shared.metrics.observe(since_created, max(until - pod.created, 0.0))
        planned = self._shared.state.pod_times(pod.uid).schedulable_in_healthy_pool
        if planned is not None:
            self._shared.metrics.observe(since_planned, max(until - planned, 0.0))


def _time(text: object) -> float | None:
    try:
        return parse_time(text) if isinstance(text, str) else None
    except InvalidObject:
        return None
