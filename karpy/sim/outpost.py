"""The actors of a simulated cluster at work on an API server somewhere else: that of `karpy cluster --no-world`, or a real one.

Nodes without machines join it, pods are scheduled and seem to run, workloads roll out; nothing is really there but the objects.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from karpy.cloud.model import CloudModel
from karpy.controllers.base import Controller
from karpy.errors import KubeError
from karpy.kube.client import KubeClient
from karpy.kube.crds import core_crds
from karpy.objects.kinds import CRD
from karpy.sim.actors import populate
from karpy.sim.cache import ClusterCache
from karpy.sim.clock import VirtualClock
from karpy.sim.cloud import SimCloud, Timing
from karpy.sim.generic import GenericModel
from karpy.sim.housekeeping.ownergarbage import owner_garbage
from karpy.sim.loads import Loads
from karpy.sim.loop import Loop
from karpy.sim.pacing import run_paced
from karpy.sim.processes.process import Autoscaler, install

__all__ = ["Outpost"]


class Outpost:
    """Scheduler, controllers, kubelets and a simulated cloud, over ``kube``.

    The server must not have a scheduler or workload controllers of its own. ``install_crds`` brings the kinds of karpy and of the
    clouds along. What a namespace holds, and what is deleted in foreground or orphaned, is left to the server.
    """

    def __init__(
        self,
        kube: KubeClient,
        models: Sequence[CloudModel] | None = None,
        *,
        seed: int = 0,
        timing: Timing | None = None,
        install_crds: bool = True,
    ) -> None:
        self.kube = kube
        self.models: tuple[CloudModel, ...] = (GenericModel(),) if models is None else tuple(models)
        self.clock = VirtualClock(time.time())
        self.loop = Loop(kube, self.clock, seed)
        self.cloud = SimCloud(self.models, self.clock, seed, timing=timing)
        self.loads = Loads(self.clock)
        if install_crds:
            self._install_crds()
        actors = populate(self.loop, kube, self.clock, self.cloud, self.loads, seed, heartbeats=True)
        garbage = owner_garbage(kube, ClusterCache(self.loop))
        for collector in garbage:
            self.loop.add(collector)
        self.actors: tuple[Controller, ...] = (*actors, *garbage)

    def _install_crds(self) -> None:
        for crd in (*core_crds(), *(crd for model in self.models for crd in model.crds())):
            try:
                self.kube.create(CRD, crd)
            except KubeError as error:
                if not error.already_exists:
                    raise

    def add(self, controller: Controller) -> None:
        """Let one more controller run."""
        self.loop.add(controller)

    def install(self, autoscaler: Autoscaler) -> None:
        """Feed an autoscaler's state and run its controllers."""
        install(self.loop, autoscaler)

    def run(self, stop: threading.Event, woken: threading.Event, speed: float = 1.0) -> None:
        """Let time pass until ``stop`` is set; ``woken`` is set whenever ``kube`` has something new."""
        run_paced(self.loop, self.clock, speed, stop, woken)
