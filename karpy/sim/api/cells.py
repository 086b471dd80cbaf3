"""The cells of printed tables: what ``kubectl get`` shows of each built-in kind, column by column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from karpy.clock import parse_time
from karpy.sim.api.selectors import selector_text

__all__ = ["CELLS", "Cells", "age", "duration"]

Object = Mapping[str, Any]
Cells = Callable[[Object, float], list[Any]]
NONE, UNKNOWN, UNSET = "<none>", "<unknown>", "<unset>"


def duration(seconds: float) -> str:
    """A span of time as kubectl prints ages: the two largest units that matter.

    >>> duration(90), duration(3600 * 50), duration(86400 * 10)
    ('90s', '2d2h', '10d')
    """
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole > -2 else "<invalid>"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    steps = (
        (whole < 120, f"{whole}s"),
        (minutes < 10, _two(minutes, "m", whole % 60, "s")),
        (minutes < 180, f"{minutes}m"),
        (hours < 8, _two(hours, "h", minutes % 60, "m")),
        (hours < 48, f"{hours}h"),
        (hours < 192, _two(days, "d", hours % 24, "h")),
        (days < 730, f"{days}d"),
        (days < 2920, _two(days // 365, "y", days % 365, "d")),
    )
    return next((text for holds, text in steps if holds), f"{days // 365}y")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def age(time: Any, now: float) -> str:
    """How long ago a time of the API was; ``<unknown>`` when there is none."""
    return duration(now - parse_time(time)) if time else UNKNOWN


def _created(obj: Object, now: float) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def _parts(obj: Object) -> tuple[str, Object, Object]:
    return obj["metadata"]["name"], obj.get("spec") or {}, obj.get("status") or {}


def _containers(spec: Object) -> tuple[str, str]:
    containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or ()
    names = ",".join(container.get("name", "") for container in containers)
    return names, ",".join(container.get("image", "") for container in containers)


def _pod(pod: Object, now: float) -> list[Any]:
    name, spec, status = _parts(pod)
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
        _created(pod, now),
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


def _node(node: Object, now: float) -> list[Any]:
    name, spec, status = _parts(node)
    conditions = [each for each in status.get("conditions") or () if each.get("type") == "Ready"]
    words = ["Ready" if each.get("status") == "True" else "NotReady" for each in conditions] or ["Unknown"]
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    facts = status.get("nodeInfo") or {}
    return [
        name,
        ",".join(words),
        _roles(node["metadata"].get("labels") or {}),
        _created(node, now),
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


def _deployment(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    counts = [ready, status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
    return [name, *counts, _created(obj, now), *_containers(spec), selector_text(spec.get("selector"))]


def _replica_set(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
    counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [name, *counts, _created(obj, now), *_containers(spec), selector_text(spec.get("selector"))]


def _stateful_set(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name, ready, _created(obj, now), *_containers(spec)]


def _daemon_set(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
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
    return [name, *counts, nodes, _created(obj, now), *_containers(spec), selector_text(spec.get("selector"))]


def _job(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
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
    tail = [*_containers(spec), selector_text(spec.get("selector"))]
    return [name, text, completions, lasted, _created(obj, now), *tail]


def _cron_job(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
    last = status.get("lastScheduleTime")
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    head = [name, spec.get("schedule", ""), spec.get("timeZone", NONE), "True" if spec.get("suspend") else "False"]
    seen = [len(status.get("active") or ()), age(last, now) if last else NONE]
    return [*head, *seen, _created(obj, now), *_containers(job), selector_text(job.get("selector"))]


def _event(event: Object, now: float) -> list[Any]:
    about = event.get("involvedObject") or {}
    source, series = event.get("source") or {}, event.get("series") or {}
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or first
    count = series.get("count") or event.get("count") or 1
    parts = (
        source.get("component") or event.get("reportingComponent"),
        source.get("host") or event.get("reportingInstance"),
    )
    return [
        age(last, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        ", ".join(part for part in parts if part),
        str(event.get("message", "")).strip(),
        age(first, now),
        count,
        event["metadata"]["name"],
    ]


def _namespace(obj: Object, now: float) -> list[Any]:
    name, _, status = _parts(obj)
    return [name, status.get("phase", ""), _created(obj, now)]


def _service(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
    outside = [
        each.get("ip") or each.get("hostname") for each in (status.get("loadBalancer") or {}).get("ingress") or ()
    ]
    kind = spec.get("type", "ClusterIP")
    pending = "<pending>" if kind == "LoadBalancer" else NONE
    ports = ",".join(
        f"{port.get('port')}{':' + str(port['nodePort']) if port.get('nodePort') else ''}/{port.get('protocol', 'TCP')}"
        for port in spec.get("ports") or ()
    )
    external = spec.get("externalName") or ",".join(
        each for each in [*outside, *(spec.get("externalIPs") or ())] if each
    )
    selector = ",".join(f"{key}={value}" for key, value in sorted((spec.get("selector") or {}).items()))
    return [
        name,
        kind,
        spec.get("clusterIP") or NONE,
        external or pending,
        ports or NONE,
        _created(obj, now),
        selector or NONE,
    ]


def _lease(obj: Object, now: float) -> list[Any]:
    name, spec, _ = _parts(obj)
    return [name, spec.get("holderIdentity", ""), _created(obj, now)]


def _budget(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    shown = [str(value) if value is not None else "N/A" for value in (least, most)]
    return [name, *shown, status.get("disruptionsAllowed", 0), _created(obj, now)]


def _priority_class(obj: Object, now: float) -> list[Any]:
    default = bool(obj.get("globalDefault"))
    policy = obj.get("preemptionPolicy", "")
    return [obj["metadata"]["name"], obj.get("value", 0), default, _created(obj, now), policy]


def _storage_class(obj: Object, now: float) -> list[Any]:
    meta = obj["metadata"]
    default = (meta.get("annotations") or {}).get("storageclass.kubernetes.io/is-default-class") == "true"
    name = f"{meta['name']} (default)" if default else meta["name"]
    middle = [obj.get("provisioner", ""), obj.get("reclaimPolicy", "Delete"), obj.get("volumeBindingMode", "Immediate")]
    return [name, *middle, bool(obj.get("allowVolumeExpansion")), _created(obj, now)]


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _modes(modes: Sequence[str] | None) -> str:
    return ",".join(_MODES.get(mode, mode) for mode in modes or ())


def _volume(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
    claim = spec.get("claimRef")
    bound = f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    head = [name, (spec.get("capacity") or {}).get("storage", ""), _modes(spec.get("accessModes"))]
    middle = [spec.get("persistentVolumeReclaimPolicy", ""), phase, bound, spec.get("storageClassName", "")]
    attributes = spec.get("volumeAttributesClassName") or UNSET
    return [*head, *middle, attributes, status.get("reason", ""), _created(obj, now), spec.get("volumeMode", UNSET)]


def _claim(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    volume = spec.get("volumeName", "")
    held = (
        [(status.get("capacity") or {}).get("storage", ""), _modes(status.get("accessModes"))] if volume else ["", ""]
    )
    attributes = spec.get("volumeAttributesClassName") or UNSET
    tail = [spec.get("storageClassName", ""), attributes, _created(obj, now), spec.get("volumeMode", UNSET)]
    return [name, phase, volume, *held, *tail]


def _config_map(obj: Object, now: float) -> list[Any]:
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [obj["metadata"]["name"], count, _created(obj, now)]


def _secret(obj: Object, now: float) -> list[Any]:
    return [obj["metadata"]["name"], obj.get("type", ""), len(obj.get("data") or ()), _created(obj, now)]


def _service_account(obj: Object, now: float) -> list[Any]:
    return [obj["metadata"]["name"], len(obj.get("secrets") or ()), _created(obj, now)]


def _csi_node(obj: Object, now: float) -> list[Any]:
    name, spec, _ = _parts(obj)
    return [name, len(spec.get("drivers") or ()), _created(obj, now)]


def _definition(obj: Object, _now: float) -> list[Any]:
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp", "")]


def _autoscaler(obj: Object, now: float) -> list[Any]:
    name, spec, status = _parts(obj)
    target = spec.get("scaleTargetRef") or {}
    metrics = ",".join(f"{UNKNOWN}/{_goal(metric)}" for metric in spec.get("metrics") or ()) or NONE
    counts = [str(spec.get("minReplicas", UNSET)), spec.get("maxReplicas", 0), status.get("currentReplicas", 0)]
    return [name, f"{target.get('kind', '')}/{target.get('name', '')}", metrics, *counts, _created(obj, now)]


def _goal(metric: Object) -> str:
    resource = metric.get("resource") or {}
    target = resource.get("target") or {}
    share = target.get("averageUtilization")
    return f"{share}%" if share is not None else str(target.get("averageValue") or target.get("value") or NONE)


CELLS: Mapping[tuple[str, str], Cells] = {
    ("", "pods"): _pod,
    ("", "nodes"): _node,
    ("", "events"): _event,
    ("", "namespaces"): _namespace,
    ("", "services"): _service,
    ("", "configmaps"): _config_map,
    ("", "secrets"): _secret,
    ("", "serviceaccounts"): _service_account,
    ("", "persistentvolumes"): _volume,
    ("", "persistentvolumeclaims"): _claim,
    ("apps", "deployments"): _deployment,
    ("apps", "replicasets"): _replica_set,
    ("apps", "statefulsets"): _stateful_set,
    ("apps", "daemonsets"): _daemon_set,
    ("batch", "jobs"): _job,
    ("batch", "cronjobs"): _cron_job,
    ("policy", "poddisruptionbudgets"): _budget,
    ("scheduling.k8s.io", "priorityclasses"): _priority_class,
    ("storage.k8s.io", "storageclasses"): _storage_class,
    ("storage.k8s.io", "csinodes"): _csi_node,
    ("coordination.k8s.io", "leases"): _lease,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _definition,
    ("autoscaling", "horizontalpodautoscalers"): _autoscaler,
}
