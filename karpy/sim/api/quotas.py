"""ResourceQuotas: what a namespace uses, what a new object would add, and the refusal when that is too much.

The quota controller of a real cluster counts a moment later; here the counts are always right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from karpy.clock import Clock, parse_time
from karpy.quantity import NANO, Quantity
from karpy.sim.api import status
from karpy.sim.api.filling.poddefaults import quality_of_service
from karpy.sim.api.podresources import added, container_amounts, pod_amounts
from karpy.sim.api.records import Record
from karpy.sim.api.resources import Resource
from karpy.sim.api.store import Collection, Store

__all__ = ["QUOTAS", "Quotas"]

Object = dict[str, Any]
Body = Mapping[str, Any]
Usage = Mapping[str, Quantity]

QUOTAS = ("", "resourcequotas")
_PODS = ("", "pods")
_CLAIMS = ("", "persistentvolumeclaims")
_SERVICES = ("", "services")
_PLAIN = ("configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services")
"""Resources that quotas may count by their bare names."""
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_MUST_BE_SET = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
_ONE = Quantity(NANO)
_NOTHING = Quantity(0)


class Quotas:
    """The quotas of one store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._counting = False
        store.react(lambda _, change: self.recount(change.namespace))

    def admit(self, resource: Resource, obj: Body) -> None:
        """Refuse a new object that a quota of its namespace has no room for.

        Raises:
            KubeError: 403, it has none, or the object does not say how much it needs.
        """
        namespace = obj["metadata"].get("namespace", "")
        for quota in self._of(namespace):
            if resource.key == QUOTAS:
                continue
            hard = (quota.get("spec") or {}).get("hard") or {}
            name, meta = quota["metadata"]["name"], obj["metadata"]
            if not self._matches(quota, resource, obj):
                continue
            if resource.key == _PODS:
                unset = _unset(hard, obj)
                if unset:
                    raise status.forbidden(resource, meta["name"], f"failed quota: {name}: must specify {unset}")
            delta = self._usage(resource, obj)
            asked = {key: delta[key] for key in sorted(hard) if key in delta and delta[key].nanos > 0}
            used = self._used(quota, hard)
            over = [k for k in asked if added(used[k], asked[k]).nanos > Quantity.parse(hard[k]).nanos]
            if over:
                requested = ",".join(f"{key}={asked[key]}" for key in over)
                so_far = ",".join(f"{key}={used[key]}" for key in over)
                most = ",".join(f"{key}={hard[key]}" for key in over)
                why = f"exceeded quota: {name}, requested: {requested}, used: {so_far}, limited: {most}"
                raise status.forbidden(resource, meta["name"], why)

    def recount(self, namespace: str) -> None:
        """After a write in a namespace: bring the status of its quotas up to date."""
        if self._counting or not namespace:
            return
        quotas = self._store.existing(QUOTAS)
        if quotas is None or not quotas.has_any(namespace):
            return
        self._counting = True
        try:
            for record in quotas.records(namespace):
                self._count(quotas, record)
        finally:
            self._counting = False

    def _count(self, quotas: Collection, record: Record) -> None:
        quota = record.object
        hard = (quota.get("spec") or {}).get("hard") or {}
        used = {key: str(amount) for key, amount in self._used(quota, hard).items()}
        found = {"hard": dict(hard), "used": used}
        if found != quota.get("status") and "deletionTimestamp" not in quota["metadata"]:
            self._store.put(quotas, {**quota, "metadata": dict(quota["metadata"]), "status": found}, record)

    def _of(self, namespace: str) -> Iterator[Body]:
        quotas = self._store.existing(QUOTAS)
        if quotas is not None and namespace:
            for record in quotas.records(namespace):
                yield record.object

    def _used(self, quota: Body, hard: Iterable[str]) -> dict[str, Quantity]:
        used = dict.fromkeys(sorted(hard), _NOTHING)
        namespace = quota["metadata"]["namespace"]
        for collection in self._store.collections():
            resource = collection.resource
            if not resource.namespaced or not _concerns(resource, used):
                continue
            for record in collection.records(namespace):
                if self._matches(quota, resource, record.object) and not self._is_over(resource, record.object):
                    for key, amount in self._usage(resource, record.object).items():
                        if key in used:
                            used[key] = added(used[key], amount)
        return used

    def _is_over(self, resource: Resource, obj: Body) -> bool:
        """Pods that have ended, or should have by now, use nothing."""
        if resource.key != _PODS:
            return False
        if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return True
        deleted = obj["metadata"].get("deletionTimestamp")
        return deleted is not None and self._clock.now() > parse_time(deleted)

    def _usage(self, resource: Resource, obj: Body) -> Usage:
        counted = {f"count/{resource.qualified}": _ONE}
        spec = obj.get("spec") or {}
        if resource.key == _PODS:
            return {**counted, "pods": _ONE, **_pod_usage(spec)}
        if not resource.group and resource.plural in _PLAIN:
            counted[resource.plural] = _ONE
        if resource.key == _CLAIMS:
            return {**counted, **_claim_usage(spec)}
        if resource.key == _SERVICES:
            return {**counted, **_service_usage(spec)}
        return counted

    def _matches(self, quota: Body, resource: Resource, obj: Body) -> bool:
        """Whether the scopes of a quota take in an object; quotas with scopes are about pods only."""
        spec = quota.get("spec") or {}
        scopes = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
        scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
        if not scopes:
            return True
        return resource.key == _PODS and all(_in_scope(scope, obj.get("spec") or {}) for scope in scopes)


def _concerns(resource: Resource, keys: Iterable[str]) -> bool:
    """Whether a quota over ``keys`` counts anything of a resource."""
    if resource.key in (_PODS, _CLAIMS, _SERVICES):
        return True
    names = {f"count/{resource.qualified}", resource.plural if not resource.group else ""}
    return any(key in names for key in keys)


def _pod_usage(spec: Body) -> Object:
    usage: Object = {}
    for name, amount in pod_amounts(spec, "requests").items():
        usage[f"requests.{name}"] = amount
        if name in _COMPUTE:
            usage[name] = amount
        if name.startswith("hugepages-"):
            usage[name] = amount
    for name, amount in pod_amounts(spec, "limits").items():
        usage[f"limits.{name}"] = amount
    return usage


def _claim_usage(spec: Body) -> Object:
    asked = (spec.get("resources") or {}).get("requests") or {}
    usage: Object = {}
    storage_class = spec.get("storageClassName")
    if storage_class:
        usage[f"{storage_class}.storageclass.storage.k8s.io/persistentvolumeclaims"] = _ONE
    if "storage" in asked:
        usage["requests.storage"] = Quantity.parse(asked["storage"])
        if storage_class:
            usage[f"{storage_class}.storageclass.storage.k8s.io/requests.storage"] = usage["requests.storage"]
    return usage


def _service_usage(spec: Body) -> Object:
    kind = spec.get("type", "ClusterIP")
    ports = Quantity(len(spec.get("ports") or ()) * NANO)
    if kind == "LoadBalancer":
        return {"services.loadbalancers": _ONE, "services.nodeports": ports}
    return {"services.nodeports": ports} if kind == "NodePort" else {}


def _unset(hard: Body, pod: Body) -> str:
    """The resources under quota that containers of a pod leave open, in the real server's words."""
    required = [name for name in sorted(hard) if name in _MUST_BE_SET]
    spec, missing = pod.get("spec") or {}, dict[str, list[str]]()
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        requests, limits = container_amounts(container, "requests"), container_amounts(container, "limits")
        given = {*requests, *(f"requests.{name}" for name in requests), *(f"limits.{name}" for name in limits)}
        for name in required:
            if name not in given:
                missing.setdefault(name, []).append(container["name"])
    return "; ".join(f"{name} for: {','.join(sorted(names))}" for name, names in sorted(missing.items()))


def _in_scope(scope: Body, spec: Body) -> bool:
    match scope.get("scopeName"):
        case "Terminating":
            return (spec.get("activeDeadlineSeconds") or 0) > 0 or spec.get("activeDeadlineSeconds") == 0
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return quality_of_service(spec) == "BestEffort"
        case "NotBestEffort":
            return quality_of_service(spec) != "BestEffort"
        case "CrossNamespacePodAffinity":
            return _crosses_namespaces(spec.get("affinity") or {})
        case "PriorityClass":
            name, values = spec.get("priorityClassName"), scope.get("values") or ()
            operator = scope.get("operator")
            if operator in ("Exists", "DoesNotExist"):
                return (name is not None) is (operator == "Exists")
            return (name in values) is (operator == "In")
    return False


def _crosses_namespaces(affinity: Body) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        found = affinity.get(kind) or {}
        terms = list(found.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = found.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [each.get("podAffinityTerm") or {} for each in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False
