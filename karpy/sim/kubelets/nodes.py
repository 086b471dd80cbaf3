"""What a machine says of itself when it joins: the Node object and the lease that its kubelet writes."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from karpy import labels
from karpy.clock import format_time
from karpy.resources import MEMORY, Resources
from karpy.sim.machines import Machine
from karpy.taints import NO_SCHEDULE

__all__ = [
    "KUBELET_VERSION",
    "NOT_READY",
    "SILENT_RENEWAL",
    "UNREACHABLE",
    "address_of",
    "lease_of",
    "next_resource_at",
    "node_conditions",
    "node_of",
    "node_resources",
    "renew_time",
]

KUBELET_VERSION = "v1.31.4"
SILENT_RENEWAL = "sim.karpy.dev/renewed"
"""Marks a lease whose holder is alive but does not write its renewals, because nobody could tell."""
LEASE_S = 40
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"

_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def node_conditions(*, ready: bool, now: float) -> list[dict[str, Any]]:
    """The conditions of a node that starts or that runs."""
    at = format_time(now)
    times = {"lastHeartbeatTime": at, "lastTransitionTime": at}
    conditions: list[dict[str, Any]] = [
        {"type": type_, "status": "False", "reason": reason, "message": message, **times}
        for type_, reason, message in _PRESSURES
    ]
    state = (
        {"status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
        if ready
        else {
            "status": "False",
            "reason": "KubeletNotReady",
            "message": "container runtime network not ready: NetworkReady=false",
        }
    )
    return [*conditions, {"type": "Ready", **state, **times}]


def node_of(machine: Machine, now: float) -> dict[str, Any]:
    """The Node that the machine's kubelet registers, not ready yet."""
    taints = [{"key": NOT_READY, "effect": NO_SCHEDULE}]
    for taint in machine.taints:
        value = {"value": taint.value} if taint.value else {}
        taints.append({"key": taint.key, "effect": taint.effect, **value})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine.node_name, "labels": _labels(machine)},
        "spec": {"providerID": machine.provider_id, "taints": taints},
        "status": {
            **node_resources(machine, now),
            "conditions": node_conditions(ready=False, now=now),
            "addresses": [
                {"type": "InternalIP", "address": address_of(machine)},
                {"type": "Hostname", "address": machine.node_name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": _facts(machine),
        },
    }


def node_resources(machine: Machine, now: float) -> dict[str, Any]:
    """What the machine has and what of it pods may use: less memory than promised, perhaps, and no device that is not there yet."""
    late = {name for name, after in machine.late_resources_s.items() if now < machine.joins_at + after}

    def present(promised: Resources) -> dict[str, str]:
        missing = machine.memory_factor - 1
        given = {name: amount for name, amount in promised.items() if name not in late}
        if missing and MEMORY in given:
            given[MEMORY] += int(machine.instance_type.capacity[MEMORY] * missing)
        return Resources(given).to_dict()

    return {
        "capacity": present(machine.instance_type.capacity),
        "allocatable": present(machine.instance_type.allocatable),
    }


def next_resource_at(machine: Machine, now: float) -> float | None:
    """When the next of its late resources appears."""
    times = [machine.joins_at + after for after in machine.late_resources_s.values()]
    return min((at for at in times if at > now), default=None)


_NAMED_BY_ADDRESS = re.compile(r"^ip-(\d+)-(\d+)-(\d+)-(\d+)\.", re.ASCII)


def address_of(machine: Machine) -> str:
    """The machine's address in the cluster's network. Some clouds name nodes by it; otherwise they are counted."""
    named = _NAMED_BY_ADDRESS.match(machine.node_name)
    if named is not None:
        return ".".join(named.groups())
    return f"10.{machine.serial >> 16 & 255}.{machine.serial >> 8 & 255}.{machine.serial & 255}"


def _labels(machine: Machine) -> dict[str, str]:
    own = {labels.OS: "linux", labels.ARCH: "amd64", **machine.labels, labels.HOSTNAME: machine.node_name}
    older = {"beta.kubernetes.io/arch": own[labels.ARCH], "beta.kubernetes.io/os": own[labels.OS]}
    return {**older, **own}


def _facts(machine: Machine) -> dict[str, str]:
    mark = f"{machine.serial:032x}"
    return {
        "architecture": machine.labels.get(labels.ARCH, "amd64"),
        "operatingSystem": machine.labels.get(labels.OS, "linux"),
        "osImage": "karpy sim",
        "kernelVersion": "6.6.0-sim",
        "containerRuntimeVersion": "containerd://1.7.22",
        "kubeletVersion": KUBELET_VERSION,
        "kubeProxyVersion": KUBELET_VERSION,
        "machineID": mark,
        "systemUUID": mark,
        "bootID": mark,
    }


def renew_time(now: float) -> str:
    """A MicroTime, as leases hold it."""
    return dt.datetime.fromtimestamp(now, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lease_of(machine: Machine, uid: str, now: float, *, silent: bool) -> dict[str, Any]:
    """The kubelet's lease, owned by its Node so that both go together."""
    metadata: dict[str, Any] = {
        "name": machine.node_name,
        "namespace": "kube-node-lease",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": machine.node_name, "uid": uid}],
    }
    if silent:
        metadata["annotations"] = {SILENT_RENEWAL: "unwritten"}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {
            "holderIdentity": machine.node_name,
            "leaseDurationSeconds": LEASE_S,
            "renewTime": renew_time(now),
        },
    }
