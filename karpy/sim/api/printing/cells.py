"""The cells of printed tables: what ``kubectl get`` shows of each built-in kind, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.sim.api.printing import podcells, storagecells, workcells
from karpy.sim.api.printing.cellparts import NONE, UNSET, Cells, Object, age, containers, created, parts
from karpy.sim.api.selectors import selector_text

__all__ = ["CELLS"]


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
    name, _, status = parts(obj)
    return [name, status.get("phase", ""), created(obj, now)]


def _service(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
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
        created(obj, now),
        selector or NONE,
    ]


def _lease(obj: Object, now: float) -> list[Any]:
    name, spec, _ = parts(obj)
    return [name, spec.get("holderIdentity", ""), created(obj, now)]


def _priority_class(obj: Object, now: float) -> list[Any]:
    default = bool(obj.get("globalDefault"))
    policy = obj.get("preemptionPolicy", "")
    return [obj["metadata"]["name"], obj.get("value", 0), default, created(obj, now), policy]


def _config_map(obj: Object, now: float) -> list[Any]:
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [obj["metadata"]["name"], count, created(obj, now)]


def _secret(obj: Object, now: float) -> list[Any]:
    return [obj["metadata"]["name"], obj.get("type", ""), len(obj.get("data") or ()), created(obj, now)]


def _service_account(obj: Object, now: float) -> list[Any]:
    return [obj["metadata"]["name"], len(obj.get("secrets") or ()), created(obj, now)]


def _endpoints(obj: Object, now: float) -> list[Any]:
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [each.get("ip", "") for each in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        found += [f"{address}:{port.get('port')}" for port in ports for address in addresses] if ports else addresses
    return [obj["metadata"]["name"], _first_three(found) or NONE, created(obj, now)]


def _first_three(found: Sequence[str]) -> str:
    text = ",".join(found[:3])
    return f"{text} + {len(found) - 3} more..." if len(found) > 3 else text


def _endpoint_slice(obj: Object, now: float) -> list[Any]:
    ports = [str(each.get("port", "*")) for each in obj.get("ports") or ()]
    addresses = [address for each in obj.get("endpoints") or () for address in each.get("addresses") or ()]
    shown = [_first_three(ports) or UNSET, _first_three(addresses) or UNSET]
    return [obj["metadata"]["name"], obj.get("addressType", ""), *shown, created(obj, now)]


def _pod_template(obj: Object, _now: float) -> list[Any]:
    labels = ((obj.get("template") or {}).get("metadata") or {}).get("labels") or {}
    shown = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return [obj["metadata"]["name"], *containers(obj), shown or NONE]


def _quota(obj: Object, now: float) -> list[Any]:
    status = obj.get("status") or {}
    used = status.get("used") or {}
    shown: dict[bool, list[str]] = {True: [], False: []}
    for name, hard in sorted((status.get("hard") or {}).items()):
        shown[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard}")
    return [obj["metadata"]["name"], created(obj, now), ", ".join(shown[False]), ", ".join(shown[True])]


def _ingress(obj: Object, now: float) -> list[Any]:
    name, spec, status = parts(obj)
    hosts = [each["host"] for each in spec.get("rules") or () if each.get("host")]
    points = (status.get("loadBalancer") or {}).get("ingress") or ()
    address = ",".join(each.get("ip") or each.get("hostname") or "" for each in points)
    ports = "80, 443" if spec.get("tls") else "80"
    return [name, spec.get("ingressClassName", NONE), _first_three(hosts) or "*", address, ports, created(obj, now)]


def _network_policy(obj: Object, now: float) -> list[Any]:
    name, spec, _ = parts(obj)
    return [name, selector_text(spec.get("podSelector")) or NONE, created(obj, now)]


def _runtime_class(obj: Object, now: float) -> list[Any]:
    return [obj["metadata"]["name"], obj.get("handler", ""), created(obj, now)]


def _role_binding(obj: Object, now: float) -> list[Any]:
    role, subjects = obj.get("roleRef") or {}, obj.get("subjects") or ()
    users, groups = (
        ", ".join(each.get("name", "") for each in subjects if each.get("kind") == kind) for kind in ("User", "Group")
    )
    accounts = ", ".join(
        f"{each.get('namespace', '')}/{each.get('name', '')}"
        for each in subjects
        if each.get("kind") == "ServiceAccount"
    )
    shown = f"{role.get('kind', '')}/{role.get('name', '')}"
    return [obj["metadata"]["name"], shown, created(obj, now), users, groups, accounts]


CELLS: Mapping[tuple[str, str], Cells] = {
    ("", "pods"): podcells.pod,
    ("", "nodes"): podcells.node,
    ("", "events"): _event,
    ("", "namespaces"): _namespace,
    ("", "services"): _service,
    ("", "endpoints"): _endpoints,
    ("", "configmaps"): _config_map,
    ("", "secrets"): _secret,
    ("", "serviceaccounts"): _service_account,
    ("", "persistentvolumes"): storagecells.volume,
    ("", "persistentvolumeclaims"): storagecells.claim,
    ("", "podtemplates"): _pod_template,
    ("", "replicationcontrollers"): workcells.replica_set,
    ("", "resourcequotas"): _quota,
    ("apps", "controllerrevisions"): workcells.revision,
    ("apps", "deployments"): workcells.deployment,
    ("apps", "replicasets"): workcells.replica_set,
    ("apps", "statefulsets"): workcells.stateful_set,
    ("apps", "daemonsets"): workcells.daemon_set,
    ("batch", "jobs"): workcells.job,
    ("batch", "cronjobs"): workcells.cron_job,
    ("policy", "poddisruptionbudgets"): workcells.budget,
    ("scheduling.k8s.io", "priorityclasses"): _priority_class,
    ("storage.k8s.io", "storageclasses"): storagecells.storage_class,
    ("storage.k8s.io", "csinodes"): storagecells.csi_node,
    ("storage.k8s.io", "csidrivers"): storagecells.csi_driver,
    ("storage.k8s.io", "csistoragecapacities"): storagecells.capacity,
    ("storage.k8s.io", "volumeattachments"): storagecells.attachment,
    ("coordination.k8s.io", "leases"): _lease,
    ("discovery.k8s.io", "endpointslices"): _endpoint_slice,
    ("networking.k8s.io", "ingresses"): _ingress,
    ("networking.k8s.io", "networkpolicies"): _network_policy,
    ("node.k8s.io", "runtimeclasses"): _runtime_class,
    ("rbac.authorization.k8s.io", "rolebindings"): _role_binding,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _role_binding,
    ("autoscaling", "horizontalpodautoscalers"): workcells.autoscaler,
}
