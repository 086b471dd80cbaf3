"""What the API server fills into built-in objects, per kind, when they are created or changed.

A function here gets the object as the client wants it and returns the one to store; it shares what it does not change.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from karpy.sim.api.filling.poddefaults import (
    canonical_quantity,
    canonical_resources,
    default_pod_spec,
    quality_of_service,
)
from karpy.sim.api.filling.workdefaults import (
    Default,
    default_cron_job,
    default_job,
    nothing,
    rolling,
    with_spec,
    workload,
)
from karpy.sim.api.filling.zeros import EVENT
from karpy.sim.api.limits import default_limit_range
from karpy.sim.api.remembered import Remembered

__all__ = ["INITIAL_STATUS", "default_object", "default_status", "initial_status"]

Object = Mapping[str, Any]


def _pod(obj: Object) -> Object:
    spec = obj.get("spec") or {}
    return {**obj, "spec": _pod_spec(spec)}


_pod_spec = Remembered(lambda spec: default_pod_spec(spec, "Pod", template=False))


_NODE_FACTS = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
_BLANK_NODE_FACTS: Mapping[str, str] = dict.fromkeys(_NODE_FACTS, "")
_NO_KUBELET_PORT: Mapping[str, Any] = {"kubeletEndpoint": {"Port": 0}}


def _node(obj: Object) -> Object:
    found = default_status(("", "nodes"), obj.get("status") or {})
    changes: dict[str, Any] = {}
    if "daemonEndpoints" not in found:
        changes["daemonEndpoints"] = _NO_KUBELET_PORT
    if "nodeInfo" not in found:
        changes["nodeInfo"] = _BLANK_NODE_FACTS
    for key in ("capacity", "allocatable"):
        if found.get(key):
            canonical = canonical_resources(found[key], "Node")
            if canonical is not found[key]:
                changes[key] = canonical
    if not changes and "spec" in obj and found is obj.get("status"):
        return obj
    return {**obj, "spec": obj.get("spec") or {}, "status": {**found, **changes}}


def _service(obj: Object) -> Object:
    spec = obj.get("spec") or {}
    kind = spec.get("type", "ClusterIP")
    defaults: dict[str, Any] = {"type": kind, "sessionAffinity": "None"}
    if kind != "ExternalName":
        defaults["internalTrafficPolicy"] = "Cluster"
    if kind in ("NodePort", "LoadBalancer"):
        defaults["externalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer":
        defaults["allocateLoadBalancerNodePorts"] = True
    changes: dict[str, Any] = {}
    if spec.get("sessionAffinity") == "ClientIP" and not spec.get("sessionAffinityConfig"):
        changes["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10_800}}
    ports = spec.get("ports")
    if ports and any("protocol" not in port or "targetPort" not in port for port in ports):
        changes["ports"] = [{"protocol": "TCP", "targetPort": port.get("port"), **port} for port in ports]
    return with_spec(obj, defaults, changes)


def _claim(obj: Object) -> Object:
    spec = obj.get("spec") or {}
    changes: dict[str, Any] = {}
    requests = (spec.get("resources") or {}).get("requests")
    if requests:
        canonical = canonical_resources(requests, "PersistentVolumeClaim")
        if canonical is not requests:
            changes["resources"] = {**spec["resources"], "requests": canonical}
    return with_spec(obj, {"volumeMode": "Filesystem"}, changes)


def _volume(obj: Object) -> Object:
    capacity = (obj.get("spec") or {}).get("capacity")
    changes = {"capacity": canonical_resources(capacity, "PersistentVolume")} if capacity else {}
    return with_spec(obj, {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}, changes)


def _top(defaults: Mapping[str, Any]) -> Default:
    def default(obj: Object) -> Object:
        missing = {key: value for key, value in defaults.items() if key not in obj}
        return {**obj, **missing} if missing else obj

    return default


def _secret(obj: Object) -> Object:
    text = obj.get("stringData")
    if not text:
        return obj if "type" in obj else {**obj, "type": "Opaque"}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in text.items()}
    kept = {key: value for key, value in obj.items() if key != "stringData"}
    return {**kept, "data": {**(obj.get("data") or {}), **encoded}, "type": obj.get("type", "Opaque")}


def _namespace(obj: Object) -> Object:
    meta = obj["metadata"]
    labels = meta.get("labels") or {}
    if labels.get("kubernetes.io/metadata.name") == meta.get("name") or not meta.get("name"):
        return obj
    return {**obj, "metadata": {**meta, "labels": {**labels, "kubernetes.io/metadata.name": meta["name"]}}}


def _daemon_set(obj: Object) -> Object:
    filled = _DAEMON_SET(obj)
    meta = filled["metadata"]
    annotations = meta.get("annotations") or {}
    if _TEMPLATE_GENERATION in annotations:
        return filled
    return {**filled, "metadata": {**meta, "annotations": {_TEMPLATE_GENERATION: "1", **annotations}}}


def _quota(obj: Object) -> Object:
    hard = (obj.get("spec") or {}).get("hard")
    if not hard:
        return obj
    return with_spec(obj, {}, {"hard": {key: canonical_quantity(v, "ResourceQuota") for key, v in hard.items()}})


_QUARTER = {"maxUnavailable": "25%", "maxSurge": "25%"}

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_DAEMON_SET = workload(
    "DaemonSet", {"revisionHistoryLimit": 10}, rolling("updateStrategy", {"maxUnavailable": 1, "maxSurge": 0})
)

_DEFAULTS: Mapping[tuple[str, str], Default] = {
    ("", "pods"): _pod,
    ("", "nodes"): _node,
    ("", "services"): _service,
    ("", "secrets"): _secret,
    ("", "namespaces"): _namespace,
    ("", "events"): _top(EVENT),
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _volume,
    ("", "limitranges"): default_limit_range,
    ("", "resourcequotas"): _quota,
    ("", "replicationcontrollers"): workload("ReplicationController", {"replicas": 1}, nothing),
    ("apps", "deployments"): workload(
        "Deployment",
        {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
        rolling("strategy", _QUARTER),
    ),
    ("apps", "replicasets"): workload("ReplicaSet", {"replicas": 1}, nothing),
    ("apps", "statefulsets"): workload(
        "StatefulSet",
        {
            "replicas": 1,
            "revisionHistoryLimit": 10,
            "podManagementPolicy": "OrderedReady",
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        },
        rolling("updateStrategy", {"partition": 0}),
    ),
    ("apps", "daemonsets"): _daemon_set,
    ("batch", "jobs"): default_job,
    ("batch", "cronjobs"): default_cron_job,
    ("scheduling.k8s.io", "priorityclasses"): _top({"preemptionPolicy": "PreemptLowerPriority"}),
    ("storage.k8s.io", "storageclasses"): _top({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
}

INITIAL_STATUS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("", "namespaces"): {"phase": "Active"},
    ("", "services"): {"loadBalancer": {}},
    ("", "persistentvolumeclaims"): {"phase": "Pending"},
    ("", "persistentvolumes"): {"phase": "Pending"},
    ("", "replicationcontrollers"): {"replicas": 0},
    ("", "resourcequotas"): {},
    ("apps", "deployments"): {},
    ("apps", "replicasets"): {"replicas": 0},
    ("apps", "statefulsets"): {"replicas": 0, "availableReplicas": 0},
    ("apps", "daemonsets"): {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    ("batch", "jobs"): {},
    ("batch", "cronjobs"): {},
    ("autoscaling", "horizontalpodautoscalers"): {"desiredReplicas": 0, "currentMetrics": None},
    ("policy", "poddisruptionbudgets"): {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
    ("networking.k8s.io", "ingresses"): {"loadBalancer": {}},
}


def default_object(key: tuple[str, str], obj: Object) -> Object:
    """``obj`` with the defaults of the resource ``key`` (group, plural)."""
    default = _DEFAULTS.get(key)
    return default(obj) if default is not None else obj


_GATED: Mapping[str, Any] = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
_BLANK_CONDITION: Object = {"type": "", "status": ""}
_BLANK_CONDITIONS: Mapping[tuple[str, str], Object] = {
    ("", "pods"): {**_BLANK_CONDITION, "lastProbeTime": None, "lastTransitionTime": None},
    ("", "nodes"): {**_BLANK_CONDITION, "lastHeartbeatTime": None, "lastTransitionTime": None},
}


def default_status(key: tuple[str, str], found: Object) -> Object:
    """The status of a built-in object with what the server completes when it is written."""
    changes: dict[str, Any] = {}
    blank = _BLANK_CONDITIONS.get(key, _BLANK_CONDITION)
    conditions = found.get("conditions")
    if conditions and not all(blank.keys() <= each.keys() for each in conditions):
        changes["conditions"] = [{**blank, **each} for each in conditions]
    if key == ("", "pods") and found.get("podIP") and not found.get("podIPs"):
        changes["podIPs"] = [{"ip": found["podIP"]}]
    return {**found, **changes} if changes else found


def initial_status(key: tuple[str, str], obj: Object) -> Mapping[str, Any] | None:
    """The status that a new object starts with; None when it has none, or keeps the one it was sent with."""
    if key == ("", "pods"):
        spec = obj.get("spec") or {}
        gated = {"conditions": [dict(_GATED)]} if spec.get("schedulingGates") else {}
        return {**gated, "phase": "Pending", "qosClass": quality_of_service(spec)}
    if key == ("apiextensions.k8s.io", "customresourcedefinitions"):
        stored = [version.get("name") for version in obj["spec"].get("versions") or () if version.get("storage")]
        return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}
    return INITIAL_STATUS.get(key)
