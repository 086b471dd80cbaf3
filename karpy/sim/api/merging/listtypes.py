"""How the lists and maps of built-in kinds merge: by which key, as a set, or as a whole.

Strategic merge patch and server-side apply have a table each, because the real API differs between the two (a Service port
merges by ``port`` in the one, by ``port`` and ``protocol`` in the other; node taints by ``key`` in the one, whole in the other).
Paths are matched by their last field names, which is unambiguous within the kinds that are served.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["APPLY_KEYS", "ATOMIC", "PATCH_KEYS", "PATCH_SETS", "SETS", "apply_keys", "is_atomic", "is_set", "patch_key"]

PATCH_KEYS: Mapping[str, str] = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "env": "name",
    "containers.ports": "containerPort",
    "initContainers.ports": "containerPort",
    "ephemeralContainers.ports": "containerPort",
    "spec.ports": "port",
    "imagePullSecrets": "name",
    "secrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "conditions": "type",
    "ownerReferences": "uid",
    "addresses": "type",
    "podIPs": "ip",
    "hostIPs": "ip",
    "drivers": "name",
    "loadBalancer.ingress": "ip",
    "webhooks": "name",
    "items.ports": "port",
}
"""The field whose value tells an element of the list from the others."""

PATCH_SETS = frozenset({"metadata.finalizers", "podCIDRs", "supplementalGroups"})
"""Lists of plain values that are merged as sets."""

APPLY_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "env": ("name",),
    "containers.ports": ("containerPort", "protocol"),
    "initContainers.ports": ("containerPort", "protocol"),
    "spec.ports": ("port", "protocol"),
    "imagePullSecrets": ("name",),
    "secrets": ("name",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "resourceClaims": ("name",),
    "resources.claims": ("name",),
    "schedulingGates": ("name",),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
    "addresses": ("type",),
    "podIPs": ("ip",),
    "hostIPs": ("ip",),
    "drivers": ("name",),
    "webhooks": ("name",),
}

SETS = frozenset({"metadata.finalizers", "podCIDRs"})

ATOMIC = frozenset(
    {
        "selector",
        "nodeSelector",
        "involvedObject",
        "regarding",
        "related",
        "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        "nodeAffinity.required",
        "configMapKeyRef",
        "secretKeyRef",
        "fieldRef",
        "resourceFieldRef",
        "scaleTargetRef",
        "labelSelector",
        "namespaceSelector",
        "dataSource",
        "claimRef",
        "target",
        "roleRef",
        "secretRef",
        "limits.default",
    }
)
"""Objects that have one owner as a whole."""


def _lookup(path: tuple[str, ...]) -> tuple[str, str]:
    return (path[-1] if path else "", ".".join(path[-2:]))


def patch_key(path: tuple[str, ...]) -> str | None:
    """The merge key of the list at ``path`` (field names only) in a strategic merge patch; None: it is replaced."""
    last, pair = _lookup(path)
    return PATCH_KEYS.get(pair) or PATCH_KEYS.get(last)


def apply_keys(path: tuple[str, ...]) -> tuple[str, ...] | None:
    """The keys that name an element of the list at ``path`` in server-side apply; None: the list is owned whole."""
    last, pair = _lookup(path)
    return APPLY_KEYS.get(pair) or APPLY_KEYS.get(last)


def is_set(path: tuple[str, ...]) -> bool:
    """Whether the list at ``path`` is a set of plain values in server-side apply."""
    last, pair = _lookup(path)
    return pair in SETS or last in SETS


def is_atomic(path: tuple[str, ...]) -> bool:
    """Whether the object at ``path`` has one owner as a whole."""
    last, pair = _lookup(path)
    return last in ATOMIC or pair in ATOMIC
