"""The workload controllers of a simulated cluster: each keeps pods as its kind of object asks for."""

from __future__ import annotations

from karpy.clock import Clock
from karpy.controllers.base import Controller
from karpy.kube.client import KubeClient
from karpy.sim.cache import ClusterCache
from karpy.sim.loads import Loads
from karpy.sim.workloads.autoscalers import Autoscalers
from karpy.sim.workloads.budgets import Budgets
from karpy.sim.workloads.cronjobs import CronJobs
from karpy.sim.workloads.daemonsets import DaemonSets
from karpy.sim.workloads.deployments import Deployments
from karpy.sim.workloads.ephemeral import EphemeralVolumes
from karpy.sim.workloads.jobs import Jobs
from karpy.sim.workloads.replicasets import ReplicaSets
from karpy.sim.workloads.statefulsets import StatefulSets
from karpy.sim.workloads.volumes import VolumeBinder

__all__ = ["workload_controllers"]


def workload_controllers(kube: KubeClient, clock: Clock, cache: ClusterCache, loads: Loads) -> tuple[Controller, ...]:
    """One controller of each kind, sharing the cache. ``loads`` is what autoscalers measure."""
    alike = tuple(
        make(kube, clock, cache)
        for make in (
            Deployments,
            ReplicaSets,
            StatefulSets,
            DaemonSets,
            Jobs,
            CronJobs,
            Budgets,
            VolumeBinder,
            EphemeralVolumes,
        )
    )
    return (*alike, Autoscalers(kube, clock, cache, loads))
