"""The cells of pods and nodes in printed tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.sim.api.printing.cellparts import NONE, UNKNOWN, Object, age, created, parts

__all__ = ["node", "pod"]


def pod(pod: Object, now: float) -> list[Any]:
    name, spec, status = parts(pod)
    gates = spec.get("readinessGates") or ()
    true = {each["type"] for each in status.get("conditions") or () if each.get("status") == "True"}
    passed = f"{sum(g.get('conditionType') in true for g in gates)}/{len(gates)}" if gates else NONE
    containers = status.get("containerStatuses") or ()
    ready = sum(bool(each.get("ready")) for each in containers)
    ips = status.get("podIPs") or ()
    ip = ips[0].get("ip", NONE) if ips else status.get("podIP") or NONE
    return [
        name,
        f"{ready}/{len(spec.get('containers') or ())}",
        _pod_status(pod, spec, status),
        _restarts(containers, now),
        created(pod, now),
        ip,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        passed,
    ]


def _restarts(containers: Sequence[Object], now: float) -> str:
    restarts = sum(each.get("restartCount", 0) for each in containers)
    ends = [((each.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for each in containers]
    last = max((end for end in ends if end), default=None)
    return f"{restarts} ({age(last, now)} ago)" if restarts and last else str(restarts)


def _pod_status(pod: Object, spec: Object, status: Object) -> str:
    text = status.get("reason") or status.get("phase") or UNKNOWN
    if text == "Pending" and spec.get("schedulingGates"):
        text = "SchedulingGated"
    text = _init_status(spec, status) or _container_status(status, text)
    if pod["metadata"].get("deletionTimestamp"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return str(text)


def _init_status(spec: Object, status: Object) -> str:
    """What the first init container that is not done says; empty when all are done."""
    total = len(spec.get("initContainers") or ())
    sidecars = {each["name"] for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"}
    for i, container in enumerate(status.get("initContainerStatuses") or ()):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if container.get("name") in sidecars and container.get("started"):
            continue
        if ended is not None:
            return f"Init:{ended.get('reason') or 'ExitCode:' + str(ended.get('exitCode', 0))}"
        if waiting and waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{i}/{total}"
    return ""


def _container_status(status: Object, text: str) -> str:
    running = False
    for container in reversed(status.get("containerStatuses") or ()):
        state = container.get("state") or {}
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason"):
            text = waiting["reason"]
        elif ended is not None:
            signal = ended.get("signal")
            reason = f"Signal:{signal}" if signal else f"ExitCode:{ended.get('exitCode', 0)}"
            text = ended.get("reason") or reason
        elif container.get("ready") and state.get("running") is not None:
            running = True
    if text == "Completed" and running:
        ready = any(
            each.get("type") == "Ready" and each.get("status") == "True" for each in status.get("conditions") or ()
        )
        return "Running" if ready else "NotReady"
    return text


def node(node: Object, now: float) -> list[Any]:
    name, spec, status = parts(node)
    conditions = [each for each in status.get("conditions") or () if each.get("type") == "Ready"]
    words = ["Ready" if each.get("status") == "True" else "NotReady" for each in conditions] or ["Unknown"]
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    facts = status.get("nodeInfo") or {}
    return [
        name,
        ",".join(words),
        _roles(node["metadata"].get("labels") or {}),
        created(node, now),
        facts.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        facts.get("osImage") or UNKNOWN,
        facts.get("kernelVersion") or UNKNOWN,
        facts.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _roles(labels: Mapping[str, str]) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)} - {""}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(roles)) or NONE


def _address(status: Object, kind: str) -> str:
    found = (each["address"] for each in status.get("addresses") or () if each.get("type") == kind)
    return next(found, NONE)
