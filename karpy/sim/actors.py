"""Everyone who acts in a simulated cluster: scheduler, workload and node controllers, kubelets.

They know the cluster from a `KubeClient` alone, whether it leads to the server in this process or to one somewhere else.
"""

from __future__ import annotations

from karpy.controllers.base import Controller
from karpy.kube.client import KubeClient
from karpy.sim.cache import ClusterCache
from karpy.sim.clock import VirtualClock
from karpy.sim.housekeeping.attachments import AttachDetach
from karpy.sim.housekeeping.nodelifecycle import CloudNodes, NodeLifecycle
from karpy.sim.housekeeping.podremoval import PodGarbage, TaintEviction
from karpy.sim.kubelets.kubelet import Kubelets
from karpy.sim.kubelets.podagents import PodAgents
from karpy.sim.loads import Loads
from karpy.sim.loop import Loop
from karpy.sim.machines import Machine
from karpy.sim.region.agenda import CloudEvents
from karpy.sim.scheduler import Scheduler
from karpy.sim.site import Site
from karpy.sim.workloads import workload_controllers

__all__ = ["populate"]


def populate(
    loop: Loop, kube: KubeClient, clock: VirtualClock, site: Site, loads: Loads, seed: int, *, heartbeats: bool
) -> tuple[Controller, ...]:
    """Let all of them take part in ``loop``, with a kubelet on every machine of ``site``."""
    cache = ClusterCache(loop)
    kubelets = Kubelets(kube, clock, heartbeats=heartbeats)
    actors: tuple[Controller, ...] = (
        kubelets,
        PodAgents(kube, clock, cache, kubelets, seed),
        NodeLifecycle(kube, clock, cache),
        CloudNodes(kube, cache, lambda provider_id: site.machine(provider_id) is not None),
        TaintEviction(kube, clock, cache),
        PodGarbage(kube, clock, cache),
        AttachDetach(kube, clock, cache),
        *workload_controllers(kube, clock, cache, loads),
        Scheduler(kube, clock, seed),
    )
    for actor in actors:
        loop.add(actor)

    def tell(machine: Machine) -> None:
        loop.wake(kubelets, kubelets.take(machine))

    site.subscribe(tell)
    CloudEvents(site, clock).join(loop)
    return actors
