"""What a pod gets from its service account: the account's existence is checked, and a volume with a token is mounted."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from karpy.sim.api import status
from karpy.sim.api.naming import suffix
from karpy.sim.api.resources import Resource
from karpy.sim.api.store import Store

__all__ = ["with_service_account", "with_token_volume"]

Object = dict[str, Any]

_ACCOUNTS = ("", "serviceaccounts")
_DEFAULT = "default"
_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_SOURCES = [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {
        "downwardAPI": {
            "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
        }
    },
]


def with_service_account(pod: Object) -> Object:
    """The pod with the account that it runs as."""
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        return pod
    return {**pod, "spec": {**spec, "serviceAccountName": _DEFAULT, "serviceAccount": _DEFAULT}}


def with_token_volume(resource: Resource, pod: Object, store: Store, rng: random.Random) -> Object:
    """A client's pod with the volume that holds its token.

    Pods that the cluster's own controllers make in this process do without: nothing in them reads it.

    Raises:
        KubeError: 403, there is no such service account. Every namespace is taken to have the default one.
    """
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    name = spec["serviceAccountName"]
    accounts = store.existing(_ACCOUNTS)
    record = accounts.get(namespace, name) if accounts is not None else None
    if record is None and name != _DEFAULT:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise status.forbidden(resource, pod["metadata"]["name"], why)
    account: Mapping[str, Any] = record.object if record is not None else {}
    changes: Object = {}
    secrets = account.get("imagePullSecrets")
    if secrets and not spec.get("imagePullSecrets"):
        changes["imagePullSecrets"] = secrets
    wanted = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken"))
    if wanted is not False:
        changes |= _mounted(spec, rng)
    return {**pod, "spec": {**spec, **changes}} if changes else pod


def _mounted(spec: Mapping[str, Any], rng: random.Random) -> Object:
    volume = f"kube-api-access-{suffix(rng)}"
    mount = {"name": volume, "readOnly": True, "mountPath": _MOUNT_PATH}
    changes: Object = {}
    for key in ("initContainers", "containers"):
        containers = spec.get(key) or ()
        if any(not _has_token(each) for each in containers):
            changes[key] = [
                each if _has_token(each) else {**each, "volumeMounts": [*(each.get("volumeMounts") or ()), mount]}
                for each in containers
            ]
    if changes:
        projected = {"name": volume, "projected": {"sources": _SOURCES, "defaultMode": 420}}
        changes["volumes"] = [*(spec.get("volumes") or ()), projected]
    return changes


def _has_token(container: Mapping[str, Any]) -> bool:
    return any(mount.get("mountPath") == _MOUNT_PATH for mount in container.get("volumeMounts") or ())
