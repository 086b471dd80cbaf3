"""The kubelets of the simulated machines: they register nodes and keep their leases (`podagents` starts the pods).

What goes wrong with a machine is written on it (`karpy.sim.machines.Machine`): it may never join, have less memory than promised,
show its devices late, die and come back. One controller stands for all kubelets. It knows the machines from the cloud and
everything else from the API.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from karpy.clock import Clock
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, PatchType
from karpy.objects import kinds
from karpy.sim.kubelets.nodes import (
    SILENT_RENEWAL,
    lease_of,
    next_resource_at,
    node_conditions,
    node_of,
    node_resources,
    renew_time,
)
from karpy.sim.machines import Machine
from karpy.sim.recorder import NORMAL, Recorder

__all__ = ["Kubelets"]

LEASES = "kube-node-lease"
HEARTBEAT_S = 10.0


@attrs.define(eq=False)
class _Seat:
    """How far one machine's kubelet has come."""

    machine: Machine
    is_registered: bool = False
    is_ready: bool = False
    beats_at: float = 0.0
    shown: Mapping[str, Any] = attrs.field(factory=dict)
    """The resources that it has reported."""


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
        if machine.dies_at is not None and machine.dies_at <= now and not _has_returned(machine, now):
            machine.is_dead = True
        if not machine.runs_kubelet:
            self._fall_silent(seat, now)
            del self._seats[request.name]
            return self._await_return(machine, now)
        if not machine.joins:
            return DONE
        times = self._advance(seat, now)
        if machine.dies_at is not None:
            times.append(machine.dies_at)
        return _at(min((time for time in times if time > now), default=math.inf), now)

    def _advance(self, seat: _Seat, now: float) -> list[float]:
        """Do what is due; answers when something is due next."""
        machine = seat.machine
        if now < machine.joins_at:
            return [machine.joins_at]
        if not seat.is_registered:
            self._register(seat, now)
        times = self._show_resources(seat, now)
        if now < machine.ready_at:
            return [*times, machine.ready_at]
        if not seat.is_ready:
            self._turn_ready(seat, now)
        if self._heartbeats:
            times.append(self._beat(seat, now))
        return times

    def _await_return(self, machine: Machine, now: float) -> Result:
        """A kubelet that will answer again keeps its seat, as one that has just been started."""
        if not machine.is_dead or machine.returns_at is None or machine.terminating_since is not None:
            return DONE
        if machine.returns_at > now:
            self._seats[machine.node_name] = _Seat(machine)
            return _at(machine.returns_at, now)
        machine.is_dead = False
        seat = self._seats[machine.node_name] = _Seat(machine)
        return _at(min((time for time in self._advance(seat, now) if time > now), default=math.inf), now)

    def _show_resources(self, seat: _Seat, now: float) -> list[float]:
        """Report devices that have appeared since."""
        machine = seat.machine
        if not machine.late_resources_s:
            return []
        after = next_resource_at(machine, now)
        shown = node_resources(machine, now)
        if shown != seat.shown:
            self._patch_node(machine.node_name, {"status": shown})
            seat.shown = shown
        return [] if after is None else [after]

    def _register(self, seat: _Seat, now: float) -> None:
        machine = seat.machine
        try:
            node = self._kube.create(kinds.NODE, node_of(machine, now))
        except KubeError as error:
            if not error.already_exists:
                raise
            node = self._kube.get(kinds.NODE, machine.node_name)  # it ran here before
        lease = lease_of(machine, node["metadata"]["uid"], now, silent=not self._heartbeats)
        try:
            self._kube.create(kinds.LEASE, lease, LEASES)
        except KubeError as error:
            if not error.already_exists:
                raise
            self._patch_lease(machine.node_name, {"metadata": lease["metadata"], "spec": lease["spec"]})
        seat.is_registered = True
        seat.shown = node_resources(machine, now)
        self._recorder.record(kinds.NODE, node, NORMAL, "Starting", "Starting kubelet.")

    def _turn_ready(self, seat: _Seat, now: float) -> None:
        name = seat.machine.node_name
        conditions = node_conditions(ready=True, now=now)
        if self._patch_node(name, {"status": {"conditions": conditions}}):
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

    def _beat(self, seat: _Seat, now: float) -> float:
        """Renew the lease when that is due; answers when it is due again."""
        if now >= seat.beats_at:
            patched = self._patch_lease(seat.machine.node_name, {"spec": {"renewTime": renew_time(now)}})
            seat.beats_at = now + HEARTBEAT_S if patched else math.inf
        return seat.beats_at

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
    return DONE if time == math.inf else Result(time - now)


def _has_returned(machine: Machine, now: float) -> bool:
    return machine.returns_at is not None and machine.returns_at <= now and not machine.is_dead
