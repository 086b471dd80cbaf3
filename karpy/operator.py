"""The reference controller, put together: state, clouds and controllers around one API server.

The operator does not run anything itself: a loop feeds `state` with the events of `kinds` and calls the `turns` of its controllers.
In `karpy.sim` that is one seeded loop on virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import structlog

from karpy.clock import Clock, SystemClock
from karpy.cloud.provider import CloudProvider
from karpy.cloud.routing import Clouds
from karpy.controllers.base import Controller
from karpy.controllers.capacitybuffer import BufferStatus
from karpy.controllers.cloudcalls import CountedCloud
from karpy.controllers.disruption.controller import Disruption
from karpy.controllers.disruption.queue import Queue
from karpy.controllers.disruption.telling import Telling
from karpy.controllers.interruption import Interruption
from karpy.controllers.metrics.readings import Readings
from karpy.controllers.node.hydration import NodeHydration
from karpy.controllers.node.lingering import Lingering
from karpy.controllers.node.repair import NodeRepair
from karpy.controllers.node.termination import NodeTermination
from karpy.controllers.nodeclaim.consistency import Consistency
from karpy.controllers.nodeclaim.disruption import DisruptionConditions
from karpy.controllers.nodeclaim.expiration import Expiration
from karpy.controllers.nodeclaim.garbage import GarbageCollection
from karpy.controllers.nodeclaim.hydration import ClaimHydration
from karpy.controllers.nodeclaim.lifecycle import NodeClaimLifecycle
from karpy.controllers.nodeclaim.podevents import PodEvents
from karpy.controllers.nodeclass import NodeClassStatusWriter
from karpy.controllers.nodeoverlay import OverlayStatus
from karpy.controllers.nodepool.driftwaves import DriftWaves
from karpy.controllers.nodepool.hash import PoolHash
from karpy.controllers.nodepool.static_deprovisioning import StaticDeprovisioning
from karpy.controllers.nodepool.static_provisioning import StaticProvisioning
from karpy.controllers.nodepool.status import PoolStatus
from karpy.controllers.provisioning.provisioner import Provisioner
from karpy.controllers.shared import Shared
from karpy.controllers.state import StateSync
from karpy.controllers.together import Together, one_by_one
from karpy.controllers.turns import InTurn
from karpy.kube.client import KubeClient
from karpy.kube.recorder import EventRecorder
from karpy.metrics import Metrics, Unmeasured
from karpy.objects.kinds import NODE, NODE_CLAIM, NODE_OVERLAY, NODE_POOL, PROVISIONER, Kind
from karpy.objects.schedulerconfig import read_scheduler_config
from karpy.objects.watchevent import WatchEvent
from karpy.scheduling.packing import Packing
from karpy.settings import Settings
from karpy.state.cluster import ClusterState
from karpy.state.workloads import WORKLOAD_KINDS

__all__ = ["Operator"]


def _ignore(_now: float, _decision: Any) -> None:
    """Nobody wants to know."""


class Operator:
    """All controllers of karpy, for the given clouds.

    ``on_decision`` is called with the time and each Plan or Command before it is carried out. ``log`` is a structlog logger;
    ``metrics`` is told what happened. What can be measured at any time is told by `readings` when it is called. ``together`` makes
    calls that do not depend on each other: one after another, or in threads (`karpy.controllers.together.InThreads`).

    Raises:
        InvalidObject: the scheduler's configuration in ``settings`` cannot be used.
    """

    def __init__(
        self,
        *,
        kube: KubeClient,
        providers: Sequence[CloudProvider],
        settings: Settings | None = None,
        clock: Clock | None = None,
        on_decision: Callable[[float, Any], None] = _ignore,
        log: Any = None,
        metrics: Metrics | None = None,
        together: Together = one_by_one,
    ) -> None:
        clock, settings = clock or SystemClock(), settings or Settings()
        log = log if log is not None else structlog.get_logger("karpy")
        self.settings = settings
        self._spreads_by_default = bool(read_scheduler_config(settings.scheduler_config))
        if settings.packing:
            Packing.named(settings.packing)  # said at the start, not in the first pass
        if metrics is not None:
            providers = tuple(CountedCloud(provider, metrics, clock) for provider in providers)
        self.clouds = Clouds(providers)
        self.state = ClusterState(self.clouds.kinds)
        self.state.expect(self.kinds)
        self.recorder = EventRecorder(kube, clock)
        shared = Shared(
            kube=kube,
            clouds=self.clouds,
            state=self.state,
            clock=clock,
            settings=settings,
            recorder=self.recorder,
            metrics=metrics if metrics is not None else Unmeasured(),
            on_decision=on_decision,
            together=together,
            log=log,
        )
        self._sync = sync = StateSync(shared)
        telling = Telling(shared)
        queue = Queue(shared, telling)
        self.readings = Readings(shared, sync)
        self.controllers: tuple[Controller, ...] = (
            sync,
            *(NodeClassStatusWriter(shared, kind) for kind in self.clouds.kinds if kind != PROVISIONER),
            PoolStatus(shared, NODE_POOL),
            PoolStatus(shared, PROVISIONER),
            PoolHash(shared, NODE_POOL),
            PoolHash(shared, PROVISIONER),
            DriftWaves(shared),
            *((StaticProvisioning(shared), StaticDeprovisioning(shared)) if settings.static_capacity else ()),
            *((OverlayStatus(shared),) if settings.node_overlay else ()),
            Provisioner(shared),
            NodeClaimLifecycle(shared),
            ClaimHydration(shared),
            NodeHydration(shared),
            Consistency(shared),
            PodEvents(shared),
            DisruptionConditions(shared),
            Expiration(shared),
            GarbageCollection(shared),
            Interruption(shared),
            NodeTermination(shared),
            Lingering(shared, NODE),
            Lingering(shared, NODE_CLAIM),
            *((NodeRepair(shared),) if settings.node_repair else ()),
            Disruption(shared, telling, queue),
            queue,
            *((BufferStatus(shared),) if settings.capacity_buffer else ()),
            *self.readings.controllers,
        )
        """May be set to others before they run, to leave some out or to put one's own in their place."""
        self._log = log

    @property
    def turns(self) -> tuple[Controller, ...]:
        """The controllers as a loop is to call them, so that log lines and metrics say whose turn it was. All but the one that has
        the state synced do nothing until it is."""
        return tuple(
            InTurn(each, self._log, None if each.name == StateSync.name else self.state) for each in self.controllers
        )

    def on_missed(self, tell: Callable[[WatchEvent], None]) -> None:
        """Have the loop told of events that its watches lost: `state` has them by then, the controllers are still to be woken."""
        self._sync.tell = tell

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds whose events have to be fed to `state`, before controllers see them. Workloads are many, and only needed to
        spread pods by default, or to keep room ready for them."""
        # A cluster need not know the kinds behind feature gates that are off.
        gated = set(() if self.settings.node_overlay else (NODE_OVERLAY,))
        gated |= set(() if self._spreads_by_default else WORKLOAD_KINDS)
        known = tuple(kind for kind in ClusterState.KINDS if kind not in gated)
        buffers = ClusterState.BUFFER_KINDS if self.settings.capacity_buffer else ()
        return tuple(dict.fromkeys((*known, *buffers, *self.clouds.kinds)))
