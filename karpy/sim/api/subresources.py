"""Binding, eviction and debugging of pods: subresources that are more than a part of their object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.clock import Clock, format_time
from karpy.kube.client import PatchType
from karpy.sim.api import status
from karpy.sim.api.budgets import budget_status
from karpy.sim.api.deletion import Deletion
from karpy.sim.api.filling.poddefaults import default_pod_spec
from karpy.sim.api.merging.apply import SERVER, track_update
from karpy.sim.api.merging.patches import patched
from karpy.sim.api.options import IN_PROCESS, DeleteOptions, WriteOptions
from karpy.sim.api.records import Record
from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.rules.podrules import check_debugging
from karpy.sim.api.selectors import matches_label_selector
from karpy.sim.api.store import Collection, Store
from karpy.sim.api.writes import Writes
from karpy.sim.podfacts import is_ready

__all__ = ["Subresources"]

Object = dict[str, Any]
Body = Mapping[str, Any]

_PODS = ("", "pods")
_BUDGETS = ("policy", "poddisruptionbudgets")


class Subresources:
    """The subresources of one store's objects."""

    def __init__(self, store: Store, writes: Writes, deletion: Deletion, clock: Clock) -> None:
        self._store = store
        self._writes = writes
        self._deletion = deletion
        self._clock = clock

    def _existing(self, resource: Resource, name: str, namespace: str) -> tuple[Collection, Record]:
        collection = self._store.collection(resource)
        record = collection.get((namespace or "default") if resource.namespaced else "", name)
        if record is None:
            raise status.not_found(resource, name)
        return collection, record

    def bind(
        self, resource: Resource, name: str, namespace: str, node: str, options: WriteOptions = IN_PROCESS
    ) -> Record:
        """Assign a pod to a node.

        Raises:
            KubeError: 404 there is no such pod, 409 it is assigned or being deleted.
        """
        collection, record = self._existing(resource, name, namespace)
        pod = record.object
        spec, meta = pod.get("spec") or {}, pod["metadata"]
        bindings = "pods/binding"
        if meta.get("deletionTimestamp"):
            why = f"pod {name} is being deleted, cannot be assigned to a host"
            raise status.conflict(resource, name, why, called=bindings, kind=bindings)
        if spec.get("nodeName"):
            why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
            raise status.conflict(resource, name, why, called=bindings, kind=bindings)
        if options.dry_run:
            return record
        condition = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": format_time(self._clock.now()),
        }
        bound = {
            **pod,
            "metadata": dict(meta),
            "spec": {**spec, "nodeName": node},
            "status": _with_condition(pod.get("status") or {}, condition),
        }
        return self._store.put(collection, bound, record)

    def debug(
        self,
        resource: Resource,
        version: ResourceVersion,
        name: str,
        namespace: str,
        body: Any,
        patch_type: PatchType | None,
        options: WriteOptions,
    ) -> Record:
        """Add containers to a pod (``patch_type`` None: a PUT); nothing else of what was sent counts.

        Raises:
            KubeError: 404 there is no such pod, 409 it has changed, 422 a container was changed, removed or is wrong.
        """
        collection, record = self._existing(resource, name, namespace)
        pod = record.object
        wanted = body if patch_type is None else patched(resource, pod, body, patch_type)
        sent = (wanted.get("metadata") or {}).get("resourceVersion")
        if sent and sent != pod["metadata"]["resourceVersion"]:
            raise status.modified(resource, name)
        asked = (wanted.get("spec") or {}).get("ephemeralContainers") or []
        spec = default_pod_spec({**pod["spec"], "ephemeralContainers": asked}, "Pod", template=False)
        new: Object = {**pod, "metadata": dict(pod["metadata"]), "spec": spec}
        causes = list(check_debugging(pod["spec"], spec))
        if causes:
            raise status.invalid(resource, name, causes)
        time = format_time(self._clock.now())
        if options.manager:
            new = track_update(resource, version, pod, new, options.manager, time, "ephemeralcontainers")
        return Record(new, record.revision) if options.dry_run else self._store.put(collection, new, record)

    def evict(self, resource: Resource, name: str, namespace: str, options: DeleteOptions) -> None:
        """Delete a pod, if the budgets that cover it allow.

        Raises:
            KubeError: 404 there is no such pod, 429 a budget forbids it now, 500 several budgets cover it,
                409 a precondition does not hold.
        """
        collection, record = self._existing(resource, name, namespace)
        pod = record.object
        if not _needs_budget(pod):
            self._deletion.delete(collection, record, options)
            return
        budgets = self._budgets_of(pod)
        if len(budgets) > 1:
            raise status.internal(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            )
        if options.uid and options.uid != pod["metadata"]["uid"]:
            self._deletion.delete(collection, record, options)
        for budgets_collection, budget in budgets:
            self._spend(budgets_collection, budget, pod, dry_run=options.dry_run)
        if options.dry_run:
            return
        if "deletionTimestamp" not in pod["metadata"]:
            record = self._mark_disrupted(collection, record)
        self._deletion.delete(collection, record, options)

    def _budgets_of(self, pod: Body) -> list[tuple[Collection, Record]]:
        collection = self._store.existing(_BUDGETS)
        if collection is None:
            return []
        meta = pod["metadata"]
        labels = meta.get("labels") or {}
        return [
            (collection, record)
            for record in collection.records(meta["namespace"])
            if matches_label_selector((record.object.get("spec") or {}).get("selector"), labels)
        ]

    def _spend(self, collection: Collection, record: Record, pod: Body, *, dry_run: bool) -> None:
        budget = record.object
        found, name = budget.get("status") or {}, budget["metadata"]["name"]
        if found.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
            # nobody has counted for this budget yet, and perhaps nobody will: count here
            found = {**found, **budget_status(budget, self._covered(budget))}
        healthy, wanted = found.get("currentHealthy", 0), found.get("desiredHealthy", 0)
        if not is_ready(pod) and _spares_unhealthy(budget, healthy, wanted):
            return
        allowed = found.get("disruptionsAllowed", 0)
        if allowed <= 0:
            text = f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
            cause = {"reason": "DisruptionBudget", "message": text}
            raise status.too_many_requests(
                "Cannot evict pod as it would violate the pod's disruption budget.", {"causes": [cause]}
            )
        if dry_run:
            return
        now = format_time(self._clock.now())
        disrupted = {**(found.get("disruptedPods") or {}), pod["metadata"]["name"]: now}
        spent = {**found, "disruptedPods": disrupted, "disruptionsAllowed": allowed - 1}
        if allowed == 1:
            spent = _with_condition(spent, _insufficient(budget, now))
        new: Object = {**budget, "metadata": dict(budget["metadata"]), "status": spent}
        resource = collection.resource
        new = track_update(resource, resource.stored, budget, new, SERVER, now, "status")
        self._store.put(collection, new, record)

    def _covered(self, budget: Body) -> list[Body]:
        pods = self._store.existing(_PODS)
        selector = (budget.get("spec") or {}).get("selector")
        records = pods.records(budget["metadata"]["namespace"]) if pods is not None else ()
        found = (record.object for record in records)
        return [pod for pod in found if matches_label_selector(selector, pod["metadata"].get("labels") or {})]

    def _mark_disrupted(self, collection: Collection, record: Record) -> Record:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": format_time(self._clock.now()),
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        pod = record.object
        marked = _with_condition(pod.get("status") or {}, condition)
        return self._store.put(collection, {**pod, "metadata": dict(pod["metadata"]), "status": marked}, record)


def _needs_budget(pod: Body) -> bool:
    """Pods that do not run, or are going anyway, are evicted without asking."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed", "Pending")


def _spares_unhealthy(budget: Body, healthy: int, wanted: int) -> bool:
    """Whether a pod that is not ready may go without spending the budget."""
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    return bool(healthy >= wanted and wanted > 0)


def _insufficient(budget: Body, now: str) -> Object:
    return {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": budget["metadata"].get("generation", 0),
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    }


def _with_condition(found: Body, condition: Body) -> Object:
    """A status with one condition set, in the place of an older one of its type."""
    conditions = list(found.get("conditions") or ())
    for i, each in enumerate(conditions):
        if each.get("type") == condition["type"]:
            conditions[i] = condition
            break
    else:
        conditions.append(condition)
    return {**found, "conditions": conditions}
