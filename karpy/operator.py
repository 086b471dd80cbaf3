"""The reference controller, put together: state, clouds and controllers around one API server.

The operator does not run anything itself: a loop feeds `state` with the events of `kinds` and calls `controllers`. In
`karpy.sim` that is one seeded loop on virtual time.
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
from karpy.controllers.disruption import Disruption
from karpy.controllers.interruption import Interruption
from karpy.controllers.node.hydration import NodeHydration
from karpy.controllers.node.lingering import Lingering
from karpy.controllers.node.termination import NodeTermination
from karpy.controllers.nodeclaim.consistency import Consistency
from karpy.controllers.nodeclaim.garbage import GarbageCollection
from karpy.controllers.nodeclaim.hydration import ClaimHydration
from karpy.controllers.nodeclaim.lifecycle import NodeClaimLifecycle
from karpy.controllers.nodeclaim.podevents import PodEvents
from karpy.controllers.nodeclass import NodeClassStatusWriter
from karpy.controllers.nodeoverlay import OverlayStatus
from karpy.controllers.nodepool.status import PoolStatus
from karpy.controllers.provisioning.provisioner import Provisioner
from karpy.controllers.shared import Shared
from karpy.kube.client import KubeClient
from karpy.kube.recorder import EventRecorder
from karpy.metrics import Metrics, Unmeasured
from karpy.objects.kinds import NODE, NODE_CLAIM, NODE_OVERLAY, NODE_POOL, PROVISIONER, Kind
from karpy.objects.schedulerconfig import read_scheduler_config
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
    ``metrics`` is told what happened.

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
    ) -> None:
        clock, settings = clock or SystemClock(), settings or Settings()
        self.settings = settings
        self._spreads_by_default = bool(read_scheduler_config(settings.scheduler_config))
        if settings.packing:
            Packing.named(settings.packing)  # said at the start, not in the first pass
        self.clouds = Clouds(providers)
        self.state = ClusterState(self.clouds.kinds)
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
            log=log if log is not None else structlog.get_logger("karpy"),
        )
        self.controllers: tuple[Controller, ...] = (
            *(NodeClassStatusWriter(shared, kind) for kind in self.clouds.kinds if kind != PROVISIONER),
            PoolStatus(shared, NODE_POOL),
            PoolStatus(shared, PROVISIONER),
            *((OverlayStatus(shared),) if settings.node_overlay else ()),
            Provisioner(shared),
            NodeClaimLifecycle(shared),
            ClaimHydration(shared),
            NodeHydration(shared),
            Consistency(shared),
            PodEvents(shared),
            GarbageCollection(shared),
            Interruption(shared),
            NodeTermination(shared),
            Lingering(shared, NODE),
            Lingering(shared, NODE_CLAIM),
            Disruption(shared),
            *((BufferStatus(shared),) if settings.capacity_buffer else ()),
        )

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
