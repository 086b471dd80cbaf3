"""What the kubelet reports of a pod at each step of its life, as patches to the pod's status."""

from __future__ import annotations

from typing import Any

from karpy.clock import format_time
from karpy.kube.client import RawObject
from karpy.sim.kubelets.podlife import CRASHED, exit_code, ready_delay, running_since

__all__ = ["crashed", "creating", "expired", "finished", "ready", "rejected", "running", "stopped"]

OVERDUE = "DeadlineExceeded"
OVERDUE_TEXT = "Pod was active on the node longer than the specified deadline"
_TERMINATED_CODE = 143
_KILLED_CODE = 137


def creating(pod: RawObject, host: str, now: float) -> dict[str, Any]:
    """When the kubelet has accepted the pod and pulls its images."""
    at = format_time(now)
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    return {
        "startTime": at,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "conditions": [
            _condition("Initialized", True, at),
            *_not_ready(pod, at),
        ],
        "containerStatuses": [_container(pod, each, waiting, ready=False) for each in pod["spec"]["containers"]],
    }


def rejected(why: tuple[str, str], now: float) -> dict[str, Any]:
    """When the kubelet does not take the pod in."""
    reason, message = why
    return {"phase": "Failed", "reason": reason, "message": message, "startTime": format_time(now)}


def running(pod: RawObject, address: str, now: float) -> dict[str, Any]:
    """When all containers run; ready already when nothing has to be waited for."""
    at = format_time(now)
    state = {"running": {"startedAt": at}}
    is_ready = ready_delay(pod) == 0
    gated = bool(pod["spec"].get("readinessGates"))
    conditions = [_condition("Ready", True, at), _condition("ContainersReady", True, at)]
    if gated and is_ready:
        conditions = [_condition("Ready", False, at, "ReadinessGatesNotReady"), _condition("ContainersReady", True, at)]
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": conditions if is_ready else _not_ready(pod, at),
        "containerStatuses": [_container(pod, each, state, ready=is_ready) for each in pod["spec"]["containers"]],
    }


def ready(pod: RawObject, now: float) -> dict[str, Any]:
    """When the probes have succeeded and every readiness gate is open."""
    at = format_time(now)
    state = {"running": {"startedAt": format_time(running_since(pod["status"]))}}
    return {
        "conditions": [_condition("Ready", True, at), _condition("ContainersReady", True, at)],
        "containerStatuses": [_container(pod, each, state, ready=True) for each in pod["spec"]["containers"]],
    }


def crashed(pod: RawObject, now: float) -> dict[str, Any]:
    """When the containers have ended and are about to be restarted."""
    code = exit_code(pod)
    last = _ended(pod, code, "Error" if code else "Completed", now)
    waiting = {"waiting": {"reason": CRASHED, "message": "back-off restarting failed container"}}
    statuses = []
    for container in pod["spec"]["containers"]:
        status = _container(pod, container, waiting, ready=False)
        statuses.append({**status, "restartCount": status["restartCount"] + 1, "lastState": {"terminated": last}})
    return {"conditions": _not_ready(pod, format_time(now)), "containerStatuses": statuses}


def finished(pod: RawObject, now: float) -> dict[str, Any]:
    """When all containers have ended for good."""
    code = exit_code(pod)
    return _terminal(pod, code, "Error" if code else "Completed", now)


def expired(pod: RawObject, now: float) -> dict[str, Any]:
    """When the pod was stopped because it had been active for longer than it may be."""
    return {**_terminal(pod, _KILLED_CODE, "Error", now), "reason": OVERDUE, "message": OVERDUE_TEXT}


def stopped(pod: RawObject, now: float, *, killed: bool) -> dict[str, Any]:
    """When all containers were stopped, by asking them or, when that did not help, by force."""
    return _terminal(pod, _KILLED_CODE if killed else _TERMINATED_CODE, "Error", now)


def _terminal(pod: RawObject, code: int, reason: str, now: float) -> dict[str, Any]:
    at = format_time(now)
    why = "PodFailed" if code else "PodCompleted"
    state = {"terminated": _ended(pod, code, reason, now)}
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": [_condition("Ready", False, at, why), _condition("ContainersReady", False, at, why)],
        "containerStatuses": [_container(pod, each, state, ready=False) for each in pod["spec"]["containers"]],
    }


def _ended(pod: RawObject, code: int, reason: str, now: float) -> dict[str, Any]:
    status = pod.get("status") or {}
    began = running_since(status) if status.get("startTime") else now
    return {"exitCode": code, "reason": reason, "startedAt": format_time(began), "finishedAt": format_time(now)}


def _not_ready(pod: RawObject, at: str) -> list[dict[str, Any]]:
    names = " ".join(each["name"] for each in pod["spec"]["containers"])
    why = {"message": f"containers with unready status: [{names}]"}
    return [{**_condition(type_, False, at, "ContainersNotReady"), **why} for type_ in ("Ready", "ContainersReady")]


def _condition(type_: str, holds: bool, at: str, reason: str | None = None) -> dict[str, Any]:
    """null takes the reason and the message of an earlier state away."""
    return {
        "type": type_,
        "status": "True" if holds else "False",
        "lastProbeTime": None,
        "lastTransitionTime": at,
        "reason": reason,
        "message": None,
    }


def _container(pod: RawObject, container: RawObject, state: dict[str, Any], *, ready: bool) -> dict[str, Any]:
    """The container's status in a new state; what it was through before is kept."""
    known: RawObject = next(
        (
            each
            for each in (pod.get("status") or {}).get("containerStatuses") or ()
            if each["name"] == container["name"]
        ),
        {},
    )
    is_running = "running" in state
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"sim/{container['image']}" if is_running else known.get("imageID", ""),
        "ready": ready,
        "started": is_running,
        "restartCount": int(known.get("restartCount") or 0),
        "lastState": known.get("lastState") or {},
        "state": state,
    }
