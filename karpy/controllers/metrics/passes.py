"""Searches for places for pods: what is seen of one while it is under way, and what is told of it when it is done."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from karpy import labels
from karpy.clock import Clock
from karpy.errors import InvalidObject
from karpy.metrics import (
    SCHEDULER_IGNORED_PODS,
    SCHEDULER_PENDING_PODS_BY_ZONE,
    SCHEDULER_QUEUE_DEPTH,
    SCHEDULER_SCHEDULING_DURATION,
    SCHEDULER_UNFINISHED_WORK,
    SCHEDULER_UNSCHEDULABLE_PODS,
    Metrics,
    Reading,
)
from karpy.objects.pod import Pod
from karpy.requirements import Requirements
from karpy.scheduling.constraints import constraints_of
from karpy.scheduling.plan import Plan, RefusalKind
from karpy.scheduling.volumes import volumes_of
from karpy.state.snapshot import Snapshot, Storage

__all__ = ["IGNORED", "Passes", "effective_zone", "read_zones"]

PROVISIONER = "provisioner"
FLEXIBLE, NONE = "flexible", "none"
IGNORED = frozenset((RefusalKind.INVALID, RefusalKind.VOLUME, RefusalKind.RESOURCE_CLAIM))
"""Pods that are refused for such are not looked at any further."""


@attrs.frozen
class _Pass:
    controller: str
    pods: int
    began: float


class Passes:
    """Who asks for metrics does so from another thread, and may find passes under way."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._numbers = itertools.count(1)
        self._under_way: dict[str, _Pass] = {}
        self._counted: dict[str, tuple[int, int]] = {}

    @contextmanager
    def of(self, controller: str, pods: int) -> Iterator[None]:
        """A pass for so many pods lasts as long as this."""
        identifier, began = str(next(self._numbers)), self._clock.now()
        self._under_way[identifier] = _Pass(controller, pods, began)
        try:
            yield
        finally:
            del self._under_way[identifier]
            took = max(self._clock.now() - began, 0.0)
            self._metrics.observe(SCHEDULER_SCHEDULING_DURATION, took, controller=controller)

    def ended(self, controller: str, plan: Plan) -> None:
        """What a pass came to for pods that have no place."""
        parts = [part for part in plan.unschedulable if part.kind is not RefusalKind.OPTED_OUT]
        ignored = sum(len(part.pods) for part in parts if part.kind in IGNORED)
        unplaced = sum(len(part.pods) for part in parts) - ignored
        self._left_out(controller, ignored, unplaced)

    def nobody_waits(self, controller: str) -> None:
        """There is nothing to look for a place for."""
        self._left_out(controller, 0, 0)

    def _left_out(self, controller: str, ignored: int, unplaced: int) -> None:
        if self._counted.get(controller) != (ignored, unplaced):
            self._counted[controller] = (ignored, unplaced)
            self._metrics.set(SCHEDULER_IGNORED_PODS, ignored)
            self._metrics.set(SCHEDULER_UNSCHEDULABLE_PODS, unplaced, controller=controller)

    def readings(self, now: float) -> Iterator[Reading]:
        """The passes that are under way."""
        for identifier, each in list(self._under_way.items()):
            own = {"controller": each.controller, "scheduling_id": identifier}
            yield Reading(SCHEDULER_QUEUE_DEPTH, each.pods, own)
            yield Reading(SCHEDULER_UNFINISHED_WORK, max(now - each.began, 0.0), own)


def read_zones(snapshot: Snapshot) -> Iterator[Reading]:
    """How many pods wait for each zone."""
    counts: dict[str, int] = {}
    for pod in snapshot.pending:
        zone = effective_zone(pod, snapshot.storage)
        counts[zone] = counts.get(zone, 0) + 1
    for zone, count in sorted(counts.items()):
        yield Reading(SCHEDULER_PENDING_PODS_BY_ZONE, count, {"controller": PROVISIONER, "zone": zone})


def effective_zone(pod: Pod, storage: Storage) -> str:
    """The one zone where the pod can run, by what it asks for and where its volumes are; or that it has a choice, or no chance."""
    volumes = volumes_of(pod, storage)
    if isinstance(volumes, str):
        return NONE
    try:
        asked = constraints_of(pod).without_preferences()
    except InvalidObject:
        return NONE
    zones: set[str] = set()
    for term in asked.terms:
        for reachable in volumes.alternatives:
            found = _zones(asked.selected & term, reachable)
            if found is None:
                return FLEXIBLE
            zones |= found
    if len(zones) == 1:
        return next(iter(zones))
    return FLEXIBLE if zones else NONE


def _zones(wanted: Requirements, reachable: Requirements) -> frozenset[str] | None:
    """The zones that both leave; None for any."""
    if wanted.intersects(reachable) is not None:
        return frozenset()
    allowed = (wanted & reachable).get(labels.ZONE)
    if allowed is None or allowed.complement:
        return None
    return allowed.values
