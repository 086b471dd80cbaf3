"""The kubelets of the simulated machines: they register nodes, keep their leases, and start and stop pods.

One controller stands for all of them. It knows the machines from the cloud and everything else from the API. Delays are drawn
from the objects' uids, so a restarted kubelet would do the same at the same time.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from karpy.clock import Clock
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, PatchType, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim import podlife
from karpy.sim.cache import ClusterCache
from karpy.sim.machines import Machine
from karpy.sim.nodes import SILENT_RENEWAL, address_of, lease_of, node_conditions, node_of, renew_time
from karpy.sim.recorder import NORMAL, Recorder

__all__ = ["Kubelets", "PodAgents"]

LEASES = "kube-node-lease"
HEARTBEAT_S = 10.0


@attrs.define(eq=False)
class _Seat:
    """How far one machine's kubelet has come."""

    machine: Machine
    is_registered: bool = False
    is_ready: bool = False


class Kubelets:
    """Nodes: from the machine's boot to its end. A request names a machine by its node.

    With ``heartbeats`` every kubelet renews its lease every ten seconds. Without, a living kubelet leaves it alone and its lease
    says so; a dying one writes the last renewal that it would have made.
    """

    name = "kubelet"

    def __init__(self, kube: KubeClient, clock: Clock, *, heartbeats: bool = False) -> None:
        self._kube = kube
        self._clock = clock
        self._heartbeats = heartbeats
        self._seats: dict[str, _Seat] = {}
        self._recorder = Recorder(kube, clock, "kubelet")

    @property
    def sources(self) -> Sequence[Source]:
        return ()

    def take(self, machine: Machine) -> Request:
        """A machine was launched or is going; the answer must be woken.

        A kubelet registers once: a Node that is deleted under a running machine does not come back.
        """
        seat = self._seats.get(machine.node_name)
        if machine.runs_kubelet and (seat is None or seat.machine is not machine):
            self._seats[machine.node_name] = _Seat(machine)
        return Request(machine.node_name)

    def machine(self, node: str) -> Machine | None:
        """The machine behind a node, while its kubelet runs and is ready for pods."""
        seat = self._seats.get(node)
        return seat.machine if seat is not None and seat.is_ready and seat.machine.runs_kubelet else None

    def reconcile(self, request: Request) -> Result:
        seat = self._seats.get(request.name)
        if seat is None:
            return DONE
        now = self._clock.now()
        machine = seat.machine
        if not machine.runs_kubelet:
            self._fall_silent(seat, now)
            del self._seats[request.name]
            return DONE
        if now < machine.joins_at:
            return _at(machine.joins_at, now)
        if not seat.is_registered:
            self._register(seat, now)
        if now < machine.ready_at:
            return _at(machine.ready_at, now)
        if not seat.is_ready:
            self._turn_ready(seat, now)
        return self._beat(seat, now) if self._heartbeats else DONE

    def _register(self, seat: _Seat, now: float) -> None:
        machine = seat.machine
        try:
            node = self._kube.create(kinds.NODE, node_of(machine, now))
        except KubeError as error:
            if not error.already_exists:
                raise
            node = self._kube.get(kinds.NODE, machine.node_name)
        lease = lease_of(machine, node["metadata"]["uid"], now, silent=not self._heartbeats)
        try:
            self._kube.create(kinds.LEASE, lease, LEASES)
        except KubeError as error:
            if not error.already_exists:
                raise
        seat.is_registered = True
        self._recorder.record(kinds.NODE, node, NORMAL, "Starting", "Starting kubelet.")

    def _turn_ready(self, seat: _Seat, now: float) -> None:
        name = seat.machine.node_name
        conditions = node_conditions(ready=True, now=now)
        if self._patch_node(name, {"status": {"conditions": conditions[-1:]}}):
            node = {"metadata": {"name": name, "uid": name}}
            self._recorder.record(kinds.NODE, node, NORMAL, "NodeReady", f"Node {name} status is now: NodeReady")
        seat.is_ready = True

    def _patch_node(self, name: str, patch: Mapping[str, Any]) -> bool:
        try:
            self._kube.patch(kinds.NODE, name, patch, patch_type=PatchType.STRATEGIC, subresource="status")
        except KubeError as error:
            if not error.not_found:
                raise
            return False
        return True

    def _beat(self, seat: _Seat, now: float) -> Result:
        patched = self._patch_lease(seat.machine.node_name, {"spec": {"renewTime": renew_time(now)}})
        return Result(HEARTBEAT_S) if patched else DONE

    def _fall_silent(self, seat: _Seat, now: float) -> None:
        """Leave the lease as a kubelet leaves it that renewed it for the last time just now."""
        if seat.is_registered and not self._heartbeats:
            patch = {"metadata": {"annotations": {SILENT_RENEWAL: None}}, "spec": {"renewTime": renew_time(now)}}
            self._patch_lease(seat.machine.node_name, patch)

    def _patch_lease(self, name: str, patch: Mapping[str, Any]) -> bool:
        try:
            self._kube.patch(kinds.LEASE, name, patch, LEASES)
        except KubeError as error:
            if not error.not_found:
                raise
            return False
        return True


def _at(time: float, now: float) -> Result:
    return DONE if time == float("inf") else Result(time - now)


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

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.POD, self._bound), Source(kinds.NODE, self._on_node))

    @staticmethod
    def _bound(event: WatchEvent) -> Sequence[Request]:
        if event.type is EventType.DELETED or not event.object["spec"].get("nodeName"):
            return ()
        metadata = event.object["metadata"]
        return (Request(metadata["name"], metadata["namespace"]),)

    def _on_node(self, event: WatchEvent) -> Sequence[Request]:
        """Pods may be bound before their node is ready; they wait for it."""
        if event.type is not EventType.MODIFIED:
            return ()
        waiting = (pod for pod in self._cache.pods_on(event.object["metadata"]["name"]) if not _has_started(pod))
        return tuple(Request(pod["metadata"]["name"], pod["metadata"]["namespace"]) for pod in waiting)

    def reconcile(self, request: Request) -> Result:
        pod = self._cache.get(kinds.POD, request.name, request.namespace)
        node = pod["spec"].get("nodeName") if pod is not None else None
        machine = self._kubelets.machine(node) if node else None
        if pod is None or machine is None:
            return DONE
        now = self._clock.now()
        step = podlife.next_step(pod, self._salt)
        if step is None:
            return DONE
        if step.at > now:
            return Result(step.at - now)
        return self._take_step(step, pod, machine, now)

    def _take_step(self, step: podlife.Step, pod: RawObject, machine: Machine, now: float) -> Result:
        metadata = pod["metadata"]
        name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
        try:
            if step.action is podlife.Action.END:
                self._kube.delete(kinds.POD, name, namespace, grace_period_s=0, uid=uid)
                return DONE
            status = self._status(step, pod, machine, now)
            # The uid in the patch makes it fail for a pod of the same name that came after.
            patch = {"metadata": {"uid": uid}, "status": status}
            self._kube.patch(kinds.POD, name, patch, namespace, patch_type=PatchType.STRATEGIC, subresource="status")
        except KubeError as error:
            if error.not_found or error.conflict:
                return DONE  # the watch will tell what has become of it
            raise
        if step.action is podlife.Action.RUN:
            self._recorder.record(kinds.POD, pod, NORMAL, "Started", "Started container")
        return DONE

    def _status(self, step: podlife.Step, pod: RawObject, machine: Machine, now: float) -> dict[str, Any]:
        if step.action is podlife.Action.CREATE:
            return podlife.creating(pod, address_of(machine), now)
        if step.action is podlife.Action.RUN:
            self._addresses += 1
            host = address_of(machine)
            shares_host = pod["spec"].get("hostNetwork")
            return podlife.running(pod, host if shares_host else self._next_address(), now)
        return podlife.finished(pod, now)

    def _next_address(self) -> str:
        serial = self._addresses
        return f"10.{128 + (serial >> 16) % 128}.{serial >> 8 & 255}.{serial & 255}"


def _has_started(pod: RawObject) -> bool:
    return bool((pod.get("status") or {}).get("startTime"))
