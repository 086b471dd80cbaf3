"""What kubelets do with pods: accept, start, probe, restart and end them.

One controller stands for all kubelets. Delays are drawn from the objects' uids, so a restarted kubelet would do the same at
the same time. What happens next in a pod's life is decided in `podlife`, what is reported of it in `podstatus`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from karpy.clock import Clock, parse_time
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, PatchType, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import ClusterCache
from karpy.sim.kubelets import podlife, podstatus
from karpy.sim.kubelets.kubelet import Kubelets
from karpy.sim.kubelets.nodes import address_of
from karpy.sim.kubelets.podadmission import Misfit, misfit
from karpy.sim.kubelets.podroom import PodRoom
from karpy.sim.machines import Machine
from karpy.sim.podfacts import is_ready
from karpy.sim.recorder import NORMAL, WARNING, Recorder

__all__ = ["PodAgents"]


class PodAgents:
    """Pods on nodes: created, running, finished, ended. A request names a pod."""

    name = "kubelet-pods"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache, kubelets: Kubelets, seed: int = 0) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._kubelets = kubelets
        self._salt = random.Random(f"kubelet/{seed}").getrandbits(32)
        self._recorder = Recorder(kube, clock, "kubelet")
        self._addresses = 0
        self._room = PodRoom(cache)

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.POD, self._bound), Source(kinds.NODE, self._on_node))

    def _bound(self, event: WatchEvent) -> Sequence[Request]:
        self._room.take(event)
        if event.type is EventType.DELETED or not event.object["spec"].get("nodeName"):
            return ()
        metadata = event.object["metadata"]
        return (Request(metadata["name"], metadata["namespace"]),)

    def _on_node(self, event: WatchEvent) -> Sequence[Request]:
        """Pods may be bound before their node is ready, and are not ready while it is not; they wait for it."""
        if event.type is not EventType.MODIFIED or not is_ready(event.object):
            return ()
        waiting = (pod for pod in self._cache.pods_on(event.object["metadata"]["name"]) if not is_ready(pod))
        return tuple(Request(pod["metadata"]["name"], pod["metadata"]["namespace"]) for pod in waiting)

    def reconcile(self, request: Request) -> Result:
        pod = self._cache.get(kinds.POD, request.name, request.namespace)
        node = pod["spec"].get("nodeName") if pod is not None else None
        if pod is None or not node:
            return DONE
        machine = self._kubelets.machine(node)
        if machine is None:
            return DONE
        now = self._clock.now()
        step = podlife.next_step(pod, self._salt)
        if step is None:
            return DONE
        if step.at > now:
            return Result(step.at - now)
        known = self._cache.get(kinds.NODE, node)
        if step.action is podlife.Action.READY and not (known is not None and is_ready(known)):
            return DONE  # the node lifecycle controller has said otherwise, until the node is ready
        return self._take_step(step, pod, machine, now)

    def _refusal(self, pod: RawObject) -> Misfit | None:
        """Why the node does not take a pod that no scheduler put there."""
        node = self._cache.get(kinds.NODE, pod["spec"]["nodeName"])
        conditions = (pod.get("status") or {}).get("conditions") or ()
        if node is None or any(each["type"] == "PodScheduled" for each in conditions):
            return None
        return misfit(pod, node, self._room.used(node["metadata"]["name"], but=pod))

    def _take_step(self, step: podlife.Step, pod: RawObject, machine: Machine, now: float) -> Result:
        metadata = pod["metadata"]
        name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
        try:
            if step.action is not podlife.Action.END:
                self._report(pod, self._status(step, pod, machine, now))
            else:
                if metadata.get("finalizers"):  # someone wants to see how it ended
                    killed = now >= parse_time(metadata["deletionTimestamp"])
                    self._report(pod, podstatus.stopped(pod, now, killed=killed))
                self._kube.delete(kinds.POD, name, namespace, grace_period_s=0, uid=uid)
        except KubeError as error:
            if error.not_found or error.conflict:
                return DONE  # the watch will tell what has become of it
            raise
        if step.action is podlife.Action.RUN:
            for container in pod["spec"]["containers"]:
                self._recorder.record(kinds.POD, pod, NORMAL, "Started", f"Started container {container['name']}")
        elif step.action is podlife.Action.CRASH:
            text = "Back-off restarting failed container"
            self._recorder.record(kinds.POD, pod, WARNING, "BackOff", text)
        elif step.action is podlife.Action.EXPIRE:
            self._recorder.record(kinds.POD, pod, NORMAL, podstatus.OVERDUE, podstatus.OVERDUE_TEXT)
        return DONE

    def _report(self, pod: RawObject, status: Mapping[str, Any]) -> None:
        """Write the pod's status. The uid makes it fail for a pod of the same name that came after."""
        metadata = pod["metadata"]
        self._kube.patch(
            kinds.POD,
            metadata["name"],
            {"metadata": {"uid": metadata["uid"]}, "status": status},
            metadata["namespace"],
            patch_type=PatchType.STRATEGIC,
            subresource="status",
        )

    def _status(self, step: podlife.Step, pod: RawObject, machine: Machine, now: float) -> dict[str, Any]:
        if step.action is podlife.Action.CREATE:
            refusal = self._refusal(pod)
            if refusal is not None:
                self._recorder.record(kinds.POD, pod, WARNING, refusal[0], refusal[1])
                return podstatus.rejected(refusal, now)
            return podstatus.creating(pod, address_of(machine), now)
        if step.action is podlife.Action.RUN:
            return podstatus.running(pod, self._address(pod, machine), now)
        if step.action is podlife.Action.READY:
            return podstatus.ready(pod, now)
        if step.action is podlife.Action.CRASH:
            return podstatus.crashed(pod, now)
        if step.action is podlife.Action.EXPIRE:
            return podstatus.expired(pod, now)
        return podstatus.finished(pod, now)

    def _address(self, pod: RawObject, machine: Machine) -> str:
        """That of the machine for pods on its network; one that was given before is kept over restarts."""
        if pod["spec"].get("hostNetwork"):
            return address_of(machine)
        known = (pod.get("status") or {}).get("podIP")
        if known:
            return str(known)
        self._addresses += 1
        return self._next_address()

    def _next_address(self) -> str:
        serial = self._addresses
        return f"10.{128 + (serial >> 16) % 128}.{serial >> 8 & 255}.{serial & 255}"
