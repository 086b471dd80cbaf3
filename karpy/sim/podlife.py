"""The life of one pod on its node, as pure functions of the pod: what the kubelet does next and when, and what it reports.

Delays come from the pod's uid. How long a pod of a Job runs is read from its annotation ``sim.karpy.dev/run-seconds`` or from a
``sleep N`` in its command; without either it runs ten seconds. Pods that restart always run for ever.
"""

from __future__ import annotations

import enum
import re
import zlib
from typing import Any

import attrs

from karpy.clock import format_time, parse_time
from karpy.kube.client import RawObject

__all__ = ["Action", "Step", "creating", "finished", "next_step", "running"]

RUN_SECONDS = "sim.karpy.dev/run-seconds"
EXIT_CODE = "sim.karpy.dev/exit-code"
DEFAULT_RUN_S = 10.0
START_S = (1.0, 3.0)
STOP_S = (0.5, 2.0)

_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?)(s|m|h)?\b")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class Action(enum.Enum):
    """What the kubelet does with a pod."""

    CREATE = "create"
    RUN = "run"
    FINISH = "finish"
    END = "end"


@attrs.frozen
class Step:
    """One action and when it is due, in seconds since the epoch."""

    action: Action
    at: float


def next_step(pod: RawObject, salt: int) -> Step | None:
    """What comes next for a bound pod; None when it just goes on."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    if "deletionTimestamp" in metadata:
        grace = float(metadata.get("deletionGracePeriodSeconds") or 0)
        asked = parse_time(metadata["deletionTimestamp"]) - grace
        return Step(Action.END, asked + min(grace, _delay(pod, salt, STOP_S)))
    if status.get("phase") in ("Succeeded", "Failed"):
        return None
    started = status.get("startTime")
    if not started:
        return Step(Action.CREATE, 0.0)
    if status.get("phase") == "Pending":
        return Step(Action.RUN, parse_time(started) + _delay(pod, salt, START_S))
    if pod["spec"].get("restartPolicy", "Always") == "Always":
        return None
    return Step(Action.FINISH, _running_since(status) + _run_seconds(pod))


def _delay(pod: RawObject, salt: int, span: tuple[float, float]) -> float:
    low, high = span
    share = zlib.crc32(pod["metadata"]["uid"].encode(), salt) / 2**32
    return round(low + share * (high - low), 3)


def _running_since(status: RawObject) -> float:
    for container in status.get("containerStatuses") or ():
        started = (container.get("state") or {}).get("running", {}).get("startedAt")
        if started:
            return parse_time(started)
    return parse_time(status["startTime"])


def _run_seconds(pod: RawObject) -> float:
    given = (pod["metadata"].get("annotations") or {}).get(RUN_SECONDS)
    if given is not None:
        return float(given)
    for container in pod["spec"]["containers"]:
        words = " ".join((*(container.get("command") or ()), *(container.get("args") or ())))
        found = _SLEEP.search(words)
        if found:
            return float(found[1]) * _UNITS[found[2] or ""]
    return DEFAULT_RUN_S


def creating(pod: RawObject, host: str, now: float) -> dict[str, Any]:
    """The status when the kubelet has accepted the pod and pulls its images."""
    at = format_time(now)
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    return {
        "startTime": at,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "conditions": [
            _condition("Initialized", True, at),
            _condition("Ready", False, at, "ContainersNotReady"),
            _condition("ContainersReady", False, at, "ContainersNotReady"),
        ],
        "containerStatuses": [_container(each, waiting, ready=False) for each in pod["spec"]["containers"]],
    }


def running(pod: RawObject, address: str, now: float) -> dict[str, Any]:
    """The status when all containers run and are ready."""
    at = format_time(now)
    state = {"running": {"startedAt": at}}
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [_condition("Ready", True, at), _condition("ContainersReady", True, at)],
        "containerStatuses": [_container(each, state, ready=True) for each in pod["spec"]["containers"]],
    }


def finished(pod: RawObject, now: float) -> dict[str, Any]:
    """The status when all containers have ended."""
    at = format_time(now)
    code = int((pod["metadata"].get("annotations") or {}).get(EXIT_CODE, "0"))
    reason = "Error" if code else "Completed"
    ended = {
        "exitCode": code,
        "reason": reason,
        "startedAt": format_time(_running_since(pod["status"])),
        "finishedAt": at,
    }
    why = "PodFailed" if code else "PodCompleted"
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": [_condition("Ready", False, at, why), _condition("ContainersReady", False, at, why)],
        "containerStatuses": [
            _container(each, {"terminated": ended}, ready=False) for each in pod["spec"]["containers"]
        ],
    }


def _condition(type_: str, holds: bool, at: str, reason: str | None = None) -> dict[str, Any]:
    condition: dict[str, Any] = {
        "type": type_,
        "status": "True" if holds else "False",
        "lastProbeTime": None,
        "lastTransitionTime": at,
    }
    # null takes the reason of an earlier state away
    return {**condition, "reason": reason}


def _container(container: RawObject, state: dict[str, Any], *, ready: bool) -> dict[str, Any]:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"sim/{container['image']}" if ready else "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "lastState": {},
        "state": state,
    }
