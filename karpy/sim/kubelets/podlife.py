"""The life of one pod on its node, as pure functions of the pod: what the kubelet does next and when.

Delays come from the pod's uid. Annotations say what a real pod's program would decide:

- ``sim.karpy.dev/run-seconds``: how long its containers run. Without it, pods that restart always run for ever; others run as long
  as a ``sleep N`` in their command says, or ten seconds.
- ``sim.karpy.dev/exit-code``: how they end then.
- ``sim.karpy.dev/ready-seconds``: how long they run before their probes succeed; ``inf`` is never. Without it, the initial delays
  of the startup and readiness probes count.
- ``sim.karpy.dev/stop-seconds``: how long they take to stop when asked to; ``inf`` ignores SIGTERM, so that grace runs out.

An amount that is no number counts as if it were not given.
"""

from __future__ import annotations

import enum
import re
import zlib
from collections.abc import Iterable
from typing import Any

import attrs

from karpy.clock import parse_time
from karpy.kube.client import RawObject
from karpy.sim.podfacts import is_deleting, is_finished

__all__ = ["CRASHED", "Action", "Step", "exit_code", "next_step", "ready_delay", "running_since"]

RUN_SECONDS = "sim.karpy.dev/run-seconds"
EXIT_CODE = "sim.karpy.dev/exit-code"
READY_SECONDS = "sim.karpy.dev/ready-seconds"
STOP_SECONDS = "sim.karpy.dev/stop-seconds"
DEFAULT_RUN_S = 10.0
START_S = (1.0, 3.0)
STOP_S = (0.5, 2.0)
FIRST_RESTART_S = 1.0
FIRST_BACKOFF_S = 10.0
LONGEST_BACKOFF_S = 300.0
CRASHED = "CrashLoopBackOff"

_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?)(s|m|h)?\b")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class Action(enum.Enum):
    """What the kubelet does with a pod."""

    CREATE = "create"
    RUN = "run"
    READY = "ready"
    CRASH = "crash"
    FINISH = "finish"
    EXPIRE = "expire"
    END = "end"


@attrs.frozen
class Step:
    """One action and when it is due, in seconds since the epoch."""

    action: Action
    at: float


def next_step(pod: RawObject, salt: int) -> Step | None:
    """What comes next for a bound pod; None when it just goes on."""
    status = pod.get("status") or {}
    if is_deleting(pod):
        return _end(pod, salt)
    if is_finished(pod):
        return None
    started = status.get("startTime")
    if not started:
        return Step(Action.CREATE, 0.0)
    steps = [*_progress(pod, status, salt), *_deadline(pod, status)]
    return min(steps, key=lambda step: step.at) if steps else None


def _progress(pod: RawObject, status: RawObject, salt: int) -> Iterable[Step]:
    crashed_at = _crashed_at(status)
    if status.get("phase") == "Pending":
        yield Step(Action.RUN, parse_time(status["startTime"]) + _delay(pod, salt, START_S))
    elif crashed_at is not None:
        yield Step(Action.RUN, crashed_at + _restart_delay(status))
    else:
        yield from _exit(pod, status)
        yield from _readiness(pod, status)


def _deadline(pod: RawObject, status: RawObject) -> Iterable[Step]:
    seconds = pod["spec"].get("activeDeadlineSeconds")
    if seconds is not None:
        yield Step(Action.EXPIRE, parse_time(status["startTime"]) + float(seconds))


def _end(pod: RawObject, salt: int) -> Step | None:
    metadata = pod["metadata"]
    grace = float(metadata.get("deletionGracePeriodSeconds") or 0)
    if not grace and is_finished(pod):
        return None  # it has ended, and a finalizer holds what is left of it
    asked = parse_time(metadata["deletionTimestamp"]) - grace
    given = _amount(pod, STOP_SECONDS)
    stops = _farewell(pod) + (_delay(pod, salt, STOP_S) if given is None else given)
    return Step(Action.END, asked + min(grace, stops))


def _farewell(pod: RawObject) -> float:
    """Seconds that the containers' preStop hooks take, side by side, before anyone is asked to stop."""
    return max((_hook_seconds(container) for container in pod["spec"]["containers"]), default=0.0)


def _hook_seconds(container: RawObject) -> float:
    hook = (container.get("lifecycle") or {}).get("preStop") or {}
    if "sleep" in hook:
        return float(hook["sleep"].get("seconds") or 0)
    return _sleep_seconds((hook.get("exec") or {}).get("command") or ()) or 0.0


def _exit(pod: RawObject, status: RawObject) -> Iterable[Step]:
    """The end of its containers: of the pod, or only until they are restarted."""
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Always" and _amount(pod, RUN_SECONDS) is None:
        return
    restarts = policy == "Always" or (policy == "OnFailure" and exit_code(pod) != 0)
    yield Step(Action.CRASH if restarts else Action.FINISH, running_since(status) + _run_seconds(pod))


def _readiness(pod: RawObject, status: RawObject) -> Iterable[Step]:
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    if conditions.get("Ready") == "True":
        return
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    delay = ready_delay(pod)
    if delay != float("inf") and all(conditions.get(gate) == "True" for gate in gates):
        yield Step(Action.READY, running_since(status) + delay)


def ready_delay(pod: RawObject) -> float:
    """Seconds from the start of its containers until their probes succeed."""
    given = _amount(pod, READY_SECONDS)
    if given is not None:
        return given
    return max((_probe_delay(container) for container in pod["spec"]["containers"]), default=0.0)


def _probe_delay(container: RawObject) -> float:
    """A readiness probe is asked when the startup probe has succeeded, but not before its own initial delay."""
    delays = (container.get(probe) or {} for probe in ("startupProbe", "readinessProbe"))
    return max(float(probe.get("initialDelaySeconds") or 0) for probe in delays)


def _crashed_at(status: RawObject) -> float | None:
    for container in status.get("containerStatuses") or ():
        if ((container.get("state") or {}).get("waiting") or {}).get("reason") == CRASHED:
            return parse_time(container["lastState"]["terminated"]["finishedAt"])
    return None


def _restart_delay(status: RawObject) -> float:
    """The first restart comes at once, the next after ten seconds, then twice as long each, up to five minutes."""
    restarts = max(int(container.get("restartCount") or 0) for container in status["containerStatuses"])
    if restarts <= 1:
        return FIRST_RESTART_S
    return float(min(FIRST_BACKOFF_S * 2 ** (restarts - 2), LONGEST_BACKOFF_S))


def _delay(pod: RawObject, salt: int, span: tuple[float, float]) -> float:
    low, high = span
    share = zlib.crc32(pod["metadata"]["uid"].encode(), salt) / 2**32
    return round(low + share * (high - low), 3)


def running_since(status: RawObject) -> float:
    """When its containers were started last."""
    for container in status.get("containerStatuses") or ():
        started = ((container.get("state") or {}).get("running") or {}).get("startedAt")
        if started:
            return parse_time(started)
    return parse_time(status["startTime"])


def _amount(pod: RawObject, annotation: str) -> float | None:
    text: Any = (pod["metadata"].get("annotations") or {}).get(annotation)
    try:
        amount = float(text) if text is not None else None
    except ValueError:
        return None
    return amount if amount is not None and amount >= 0 else None


def exit_code(pod: RawObject) -> int:
    """How its containers end by themselves."""
    return int(_amount(pod, EXIT_CODE) or 0)


def _run_seconds(pod: RawObject) -> float:
    given = _amount(pod, RUN_SECONDS)
    if given is not None:
        return given
    for container in pod["spec"]["containers"]:
        seconds = _sleep_seconds((*(container.get("command") or ()), *(container.get("args") or ())))
        if seconds is not None:
            return seconds
    return DEFAULT_RUN_S


def _sleep_seconds(words: Iterable[str]) -> float | None:
    """How long a command sleeps; None when it does not say so."""
    found = _SLEEP.search(" ".join(words))
    return float(found[1]) * _UNITS[found[2] or ""] if found else None
