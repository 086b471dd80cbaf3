"""The cells of workloads and of what scales and protects them, in printed tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from karpy.clock import parse_time
from karpy.sim.api.printing.cellparts import NONE, UNKNOWN, UNSET, Object, age, containers, created, duration, parts
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
    "scale",
    "stateful_set",
]

_METRICS_SHOWN: Final = 2


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
    counts = [str(spec.get("minReplicas", UNSET)), spec.get("maxReplicas", 0), status.get("currentReplicas", 0)]
    metrics = _metrics(spec.get("metrics") or (), status.get("currentMetrics") or ())
    return [name, f"{target.get('kind', '')}/{target.get('name', '')}", metrics, *counts, created(obj, now)]


def _metrics(wanted: Sequence[Object], found: Sequence[Object]) -> str:
    """Each metric as it is and as it shall be; the first two are shown, the others counted."""
    shown = [_metric(each, found[i] if i < len(found) else {}) for i, each in enumerate(wanted)]
    more = f" + {len(shown) - _METRICS_SHOWN} more..." if len(shown) > _METRICS_SHOWN else ""
    return ", ".join(shown[:_METRICS_SHOWN]) + more or NONE


def _metric(wanted: Object, found: Object) -> str:
    kind = wanted.get("type", "")
    source = f"{kind[:1].lower()}{kind[1:]}"
    metric = wanted.get(source) or {}
    current, target = (found.get(source) or {}).get("current") or {}, metric.get("target") or {}
    average = target.get("averageValue")
    if kind in ("Resource", "ContainerResource"):
        if average is not None:
            now, goal = current.get("averageValue", UNKNOWN), average
        else:
            now, goal = _share(current, UNKNOWN), _share(target, "<auto>")
        return f"{metric.get('name', '')}: {now}/{goal}"
    if kind == "Pods":
        return f"{current.get('averageValue', UNKNOWN)}/{average}"
    if average is not None:
        return f"{current.get('averageValue', UNKNOWN)}/{average} (avg)"
    return f"{current.get('value', UNKNOWN)}/{target.get('value', 0)}"


def _share(values: Object, otherwise: str) -> str:
    share = values.get("averageUtilization")
    return otherwise if share is None else f"{share}%"


def scale(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    return [name, spec.get("replicas", 0), status.get("replicas", 0), created(obj, now)]


def revision(obj: Object, now: float) -> list[Any]:
    owners = [each for each in obj["metadata"].get("ownerReferences") or () if each.get("controller")]
    shown = NONE
    if owners:
        group = owners[0].get("apiVersion", "").rpartition("/")[0]
        kind = owners[0].get("kind", "").lower()
        shown = f"{kind}.{group}/{owners[0].get('name', '')}" if group else f"{kind}/{owners[0].get('name', '')}"
    return [obj["metadata"]["name"], shown, obj.get("revision", 0), created(obj, now)]
