"""Admission: what depends on other objects when something is created (its namespace, priority classes, service addresses)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from karpy.sim.api import status
from karpy.sim.api.access.accounts import with_service_account, with_token_volume
from karpy.sim.api.limits import too_much, with_limit_defaults
from karpy.sim.api.resources import Resource
from karpy.sim.api.services import Addresses
from karpy.sim.api.store import Store

__all__ = ["Admission"]

Object = dict[str, Any]

_NAMESPACES = ("", "namespaces")
_LIMIT_RANGES = ("", "limitranges")
_DEFAULT_TOLERATIONS: tuple[Object, ...] = tuple(
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
)
_PRIORITIES = ("scheduling.k8s.io", "priorityclasses")


class Admission:
    """The checks and additions that a new object passes before its own rules are looked at."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self._store = store
        self._rng = rng
        self.default_tolerations = False
        """Whether pods tolerate nodes that are not ready or not reachable for five minutes, as they do on most clusters."""
        self.addresses = Addresses(store)

    def admit_namespace(self, resource: Resource, meta: Mapping[str, Any]) -> None:
        """Refuse objects in a namespace that does not exist, or that is being deleted."""
        if not resource.namespaced:
            return
        namespaces = self._store.existing(_NAMESPACES)
        name = meta["namespace"]
        record = namespaces.get("", name) if namespaces is not None else None
        if namespaces is None or record is None:
            if namespaces is not None:
                raise status.not_found(namespaces.resource, name)
            return
        if "deletionTimestamp" in record.object["metadata"]:
            why = f"unable to create new content in namespace {name} because it is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": f"namespace {name} is being terminated"}
            raise status.forbidden(resource, meta["name"], why, [{**cause, "field": "metadata.namespace"}])

    def admit(self, resource: Resource, obj: Object, *, from_client: bool) -> Object:
        """``obj`` with what other objects or the cluster add to it.

        Raises:
            KubeError: 403, other objects forbid it.
        """
        match resource.key:
            case ("", "pods"):
                return self._pod(resource, obj, from_client=from_client)
            case ("", "namespaces"):
                spec = obj.get("spec") or {}
                return {**obj, "spec": {**spec, "finalizers": spec.get("finalizers") or ["kubernetes"]}}
            case ("", "services"):
                return self.addresses.given(resource, obj, None)
            case ("batch", "jobs"):
                return _job_labels(obj)
            case ("", "persistentvolumeclaims"):
                claim = self._storage_class(obj)
                self._check_limits(resource, claim)
                return claim
        return obj

    def _pod(self, resource: Resource, pod: Object, *, from_client: bool) -> Object:
        ranges = self._limit_ranges(pod["metadata"]["namespace"])
        if ranges and pod.get("spec"):
            pod = with_limit_defaults(pod, ranges)
        pod = with_service_account(pod)
        if from_client:
            pod = with_token_volume(resource, pod, self._store, self._rng)
        pod = self._priority(resource, pod)
        if self.default_tolerations:
            pod = _tolerating(pod)
        self._check_limits(resource, pod)
        return pod

    def _limit_ranges(self, namespace: str) -> list[Mapping[str, Any]]:
        ranges = self._store.existing(_LIMIT_RANGES)
        return [record.object for record in ranges.records(namespace)] if ranges is not None and len(ranges) else []

    def _check_limits(self, resource: Resource, obj: Object) -> None:
        ranges = self._limit_ranges(obj["metadata"]["namespace"])
        problem = too_much(resource.kind, obj, ranges) if ranges else ""
        if problem:
            raise status.forbidden(resource, obj["metadata"]["name"], problem)

    def _priority(self, resource: Resource, pod: Object) -> Object:
        spec = pod.get("spec") or {}
        name = spec.get("priorityClassName")
        classes = self._store.existing(_PRIORITIES)
        chosen: Mapping[str, Any] | None = None
        if name:
            record = classes.get("", name) if classes is not None else None
            if record is None:
                why = f"no PriorityClass with name {name} was found"
                raise status.forbidden(resource, pod["metadata"]["name"], why)
            chosen = record.object
        elif classes is not None:
            chosen = next((each.object for each in classes.records() if each.object.get("globalDefault")), None)
        if chosen is None or "priority" in spec:
            return pod
        policy = chosen.get("preemptionPolicy", "PreemptLowerPriority")
        added = {"priority": chosen.get("value", 0), "priorityClassName": chosen["metadata"]["name"]}
        return {**pod, "spec": {**spec, **added, "preemptionPolicy": spec.get("preemptionPolicy", policy)}}

    def _storage_class(self, claim: Object) -> Object:
        spec = claim.get("spec") or {}
        classes = self._store.existing(("storage.k8s.io", "storageclasses"))
        if "storageClassName" in spec or classes is None:
            return claim
        for record in classes.records():
            meta = record.object["metadata"]
            if (meta.get("annotations") or {}).get("storageclass.kubernetes.io/is-default-class") == "true":
                return {**claim, "spec": {**spec, "storageClassName": meta["name"]}}
        return claim


def _tolerating(pod: Object) -> Object:
    spec = pod.get("spec") or {}
    tolerations = spec.get("tolerations") or []
    added = [
        toleration
        for toleration in _DEFAULT_TOLERATIONS
        if not any(
            each.get("key") in (None, "", toleration["key"]) and each.get("effect") in (None, "", "NoExecute")
            for each in tolerations
        )
    ]
    return {**pod, "spec": {**spec, "tolerations": [*tolerations, *added]}} if added else pod


def _job_labels(job: Object) -> Object:
    spec, meta = job.get("spec") or {}, job["metadata"]
    if spec.get("manualSelector") or not spec.get("template"):
        return job
    uid, name = meta["uid"], meta["name"]
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    template = spec["template"]
    template_meta = template.get("metadata") or {}
    labelled = {**template, "metadata": {**template_meta, "labels": {**(template_meta.get("labels") or {}), **labels}}}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    return {
        **job,
        "metadata": {**meta, "labels": {**labels, **(meta.get("labels") or {})}},
        "spec": {**spec, "selector": selector, "template": labelled},
    }
