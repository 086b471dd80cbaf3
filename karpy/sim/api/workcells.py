"""The cells of workloads and of what scales and protects them, in printed tables."""

from __future__ import annotations

from typing import Any

from karpy.clock import parse_time
from karpy.sim.api.cellparts import NONE, UNKNOWN, UNSET, Object, age, containers, created, duration, parts
from karpy.sim.api.selectors import selector_text

__all__ = [
    "autoscaler",
    "budget",
    "cron_job",
    "daemon_set",
    "deployment",
    "job",
    "replica_set",
    "revision",
    "stateful_set",
]


def deployment(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    counts = [ready, status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
    return [name, *counts, created(obj, now), *containers(spec), selector_text(spec.get("selector"))]


def _selection(selector: Object | None) -> str:
    """A selector as text; that of a ReplicationController is a plain map."""
    plain = selector is not None and not {"matchLabels", "matchExpressions"} & selector.keys()
    return selector_text({"matchLabels": selector} if plain else selector)


def replica_set(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [name, *counts, created(obj, now), *containers(spec), _selection(spec.get("selector"))]


def stateful_set(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name, ready, created(obj, now), *containers(spec)]


def daemon_set(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    keys = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    chosen = ((spec.get("template") or {}).get("spec") or {}).get("nodeSelector") or {}
    nodes = ",".join(f"{key}={value}" for key, value in sorted(chosen.items())) or NONE
    counts = [status.get(key, 0) for key in keys]
    return [name, *counts, nodes, created(obj, now), *containers(spec), selector_text(spec.get("selector"))]


def job(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    wanted, done = spec.get("completions"), status.get("succeeded", 0)
    parallel = spec.get("parallelism") or 0
    completions = (
        f"{done}/{wanted}" if wanted is not None else f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    )
    started, ended = status.get("startTime"), status.get("completionTime")
    lasted = ""
    if started:
        lasted = duration((parse_time(ended) if ended else now) - parse_time(started))
    true = [each["type"] for each in status.get("conditions") or () if each.get("status") == "True"]
    words = (
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
    )
    text = next((word for type_, word in words if type_ in true), "Running")
    if obj["metadata"].get("deletionTimestamp"):
        text = "Terminating"
    tail = [*containers(spec), selector_text(spec.get("selector"))]
    return [name, text, completions, lasted, created(obj, now), *tail]


def cron_job(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    last = status.get("lastScheduleTime")
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    head = [name, spec.get("schedule", ""), spec.get("timeZone", NONE), "True" if spec.get("suspend") else "False"]
    seen = [len(status.get("active") or ()), age(last, now) if last else NONE]
    return [*head, *seen, created(obj, now), *containers(job), selector_text(job.get("selector"))]


def budget(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    shown = [str(value) if value is not None else "N/A" for value in (least, most)]
    return [name, *shown, status.get("disruptionsAllowed", 0), created(obj, now)]


def autoscaler(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    target = spec.get("scaleTargetRef") or {}
    metrics = ",".join(f"{UNKNOWN}/{_goal(metric)}" for metric in spec.get("metrics") or ()) or NONE
    counts = [str(spec.get("minReplicas", UNSET)), spec.get("maxReplicas", 0), status.get("currentReplicas", 0)]
    return [name, f"{target.get('kind', '')}/{target.get('name', '')}", metrics, *counts, created(obj, now)]


def _goal(metric: Object) -> str:
    resource = metric.get("resource") or {}
    target = resource.get("target") or {}
    share = target.get("averageUtilization")
    return f"{share}%" if share is not None else str(target.get("averageValue") or target.get("value") or NONE)


def revision(obj: Object, now: float) -> list[Any]:
    owners = [each for each in obj["metadata"].get("ownerReferences") or () if each.get("controller")]
    shown = NONE
    if owners:
        group = owners[0].get("apiVersion", "").rpartition("/")[0]
        kind = owners[0].get("kind", "").lower()
        shown = f"{kind}.{group}/{owners[0].get('name', '')}" if group else f"{kind}/{owners[0].get('name', '')}"
    return [obj["metadata"]["name"], shown, obj.get("revision", 0), created(obj, now)]
