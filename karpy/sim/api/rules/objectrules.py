"""Rules of the kinds that are neither pods nor workloads: nodes, services, configuration, volumes, roles, leases, events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from karpy.sim.api.rules.checks import (
    Object,
    check_choice,
    check_negative,
    check_port,
    check_quantities,
    nanos,
    spec_of,
)
from karpy.sim.api.rules.validation import quoted, validate_labels, validate_name, wrong_label_key
from karpy.sim.api.status import Cause

__all__ = [
    "check_binding",
    "check_config",
    "check_event",
    "check_lease",
    "check_limit_range",
    "check_node",
    "check_priority_class",
    "check_quota",
    "check_role",
    "check_runtime_class",
    "check_secret",
    "check_service",
]

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LARGEST = 1024 * 1024
_KEY = re.compile(r"[-._a-zA-Z0-9]+\Z")
_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_HIGHEST_USER_PRIORITY = 1_000_000_000
_SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_RBAC = "rbac.authorization.k8s.io"


def check_node(obj: Object) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(spec_of(obj).get("taints") or ()):
        where, key, effect = f"metadata.taints[{i}]", taint.get("key", ""), taint.get("effect", "")
        if wrong := wrong_label_key(key):
            yield Cause.bad(f"{where}.key", quoted(key), wrong)
        value = taint.get("value", "")
        if value:
            yield from validate_labels({"k": value}, f"{where}.value")
        if not effect:
            yield Cause.required(f"{where}.effect")
        elif effect not in _EFFECTS:
            yield Cause.unsupported(f"{where}.effect", quoted(effect), _EFFECTS)
        elif (key, effect) in seen:
            yield Cause.duplicate(where, "taints must be unique by key and effect pair")
        seen.add((key, effect))


def check_event(obj: Object) -> Iterator[Cause]:
    about = (obj.get("involvedObject") or {}).get("namespace") or "default"
    namespace = obj["metadata"].get("namespace", "")
    if namespace != about and not (about == "default" and namespace in ("default", "kube-system")):
        yield Cause.bad("involvedObject.namespace", quoted(about), "does not match event.namespace")


def check_service(obj: Object) -> Iterator[Cause]:
    spec = spec_of(obj)
    kind, ports = spec.get("type", "ClusterIP"), spec.get("ports") or ()
    if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
        yield Cause.required("spec.ports")
    if kind == "NodePort" and spec.get("clusterIP") == "None":
        yield Cause.bad("spec.clusterIP", quoted("None"), "may not be set to 'None' for NodePort services")
    if kind == "ExternalName":
        name = spec.get("externalName", "")
        if not name:
            yield Cause.required("spec.externalName")
        elif wrong := validate_name(name.rstrip("."), "subdomain"):
            yield Cause.bad("spec.externalName", quoted(name), wrong)
    yield from _service_ports(ports)
    if spec.get("selector"):
        yield from validate_labels(spec["selector"], "spec.selector")
    yield from check_choice(spec.get("sessionAffinity", "None"), "spec.sessionAffinity", ("ClientIP", "None"))
    yield from check_choice(kind, "spec.type", ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"))


def _service_ports(ports: Sequence[Object]) -> Iterator[Cause]:
    names: set[str] = set()
    for i, port in enumerate(ports):
        where, name = f"spec.ports[{i}]", port.get("name", "")
        if not name and len(ports) > 1:
            yield Cause.required(f"{where}.name")
        elif name and (wrong := validate_name(name, "label")):
            yield Cause.bad(f"{where}.name", quoted(name), wrong)
        elif name and name in names:
            yield Cause.duplicate(f"{where}.name", quoted(name))
        names.add(name)
        yield from check_port(port.get("port"), f"{where}.port")
        yield from check_choice(port.get("protocol", "TCP"), f"{where}.protocol", ("SCTP", "TCP", "UDP"))
        target = port.get("targetPort")
        if isinstance(target, int):
            yield from check_port(target, f"{where}.targetPort")


def _keys(data: Object, path: str) -> Iterator[Cause]:
    for key in data:
        if not _KEY.match(key):
            yield Cause.bad(f"{path}[{key}]", quoted(key), _KEY_TEXT)
        elif len(key) > 253:
            yield Cause.bad(f"{path}[{key}]", quoted(key), "must be no more than 253 characters")


def _size(*parts: Object) -> Iterator[Cause]:
    if sum(len(value) for part in parts for value in part.values() if isinstance(value, str)) > _LARGEST:
        yield Cause("FieldValueTooLong", f"Too long: must have at most {_LARGEST} bytes", "[]")


def check_config(obj: Object) -> Iterator[Cause]:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    yield from _keys(data, "data")
    for key in binary:
        if key in data:
            yield Cause.bad(f"data[{key}]", quoted(key), "duplicate of key present in binaryData")
    yield from _keys(binary, "binaryData")
    yield from _size(data, binary)


def check_secret(obj: Object) -> Iterator[Cause]:
    data, kind = obj.get("data") or {}, obj.get("type", "Opaque")
    yield from _keys(data, "data")
    yield from _size(data)
    if kind == "kubernetes.io/service-account-token":
        annotation = "kubernetes.io/service-account.name"
        if not (obj["metadata"].get("annotations") or {}).get(annotation):
            yield Cause.required(f"metadata.annotations[{annotation}]")
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        yield Cause.required("data[username]")
        yield Cause.required("data[password]")
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in data:
            yield Cause.required(f"data[{key}]")


def check_priority_class(obj: Object) -> Iterator[Cause]:
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        if _SYSTEM_CLASSES.get(name) != value:
            known = name in _SYSTEM_CLASSES
            why = (
                f"value of {name} PriorityClass must be {_SYSTEM_CLASSES[name]}"
                if known
                else (f"{name} is not a known system priority class")
            )
            yield Cause.forbidden(
                "metadata.name",
                f"priority class names with 'system-' prefix are reserved for system use only. error: {why}",
            )
    elif value > _HIGHEST_USER_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
        yield Cause.forbidden("value", why)
    policies = ("Never", "PreemptLowerPriority")
    yield from check_choice(obj.get("preemptionPolicy"), "preemptionPolicy", policies, needed=False)


def check_runtime_class(obj: Object) -> Iterator[Cause]:
    handler = obj.get("handler", "")
    if wrong := validate_name(handler, "label"):
        yield Cause.bad("handler", quoted(handler), wrong)


def check_limit_range(obj: Object) -> Iterator[Cause]:
    kinds: set[str] = set()
    for i, limit in enumerate(spec_of(obj).get("limits") or ()):
        where, kind = f"spec.limits[{i}]", limit.get("type", "")
        if kind in kinds:
            yield Cause.duplicate(f"{where}.type", quoted(kind))
        kinds.add(kind)
        pairs = (("min", "max"), ("min", "default"), ("min", "defaultRequest"), ("defaultRequest", "default"))
        for low, high in (*pairs, ("defaultRequest", "max"), ("default", "max")):
            small, large = limit.get(low) or {}, limit.get(high) or {}
            for name in sorted(small.keys() & large.keys()):
                if nanos(small[name]) > nanos(large[name]):
                    why = f"{low} value {small[name]} is greater than {high} value {large[name]}"
                    yield Cause.bad(f"{where}.{low}[{name}]", quoted(small[name]), why)


def check_quota(obj: Object) -> Iterator[Cause]:
    yield from check_quantities(spec_of(obj).get("hard") or {}, "spec.hard")


def check_lease(obj: Object) -> Iterator[Cause]:
    spec = spec_of(obj)
    lasts = spec.get("leaseDurationSeconds")
    if lasts is not None and lasts <= 0:
        yield Cause.bad("spec.leaseDurationSeconds", str(lasts), "must be greater than 0")
    yield from check_negative(spec.get("leaseTransitions"), "spec.leaseTransitions")


def check_role(obj: Object) -> Iterator[Cause]:
    for i, rule in enumerate(obj.get("rules") or ()):
        where = f"rules[{i}]"
        if not rule.get("verbs"):
            yield Cause.required(f"{where}.verbs", "verbs must contain at least one value")
        if rule.get("nonResourceURLs"):
            continue
        if not rule.get("apiGroups"):
            yield Cause.required(f"{where}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield Cause.required(f"{where}.resources", "resource rules must supply at least one resource")


def check_binding(obj: Object) -> Iterator[Cause]:
    role = obj.get("roleRef") or {}
    if role.get("apiGroup", _RBAC) != _RBAC:
        yield Cause.unsupported("roleRef.apiGroup", quoted(role["apiGroup"]), (_RBAC,))
    kinds = ("ClusterRole",) if obj.get("kind") == "ClusterRoleBinding" else ("Role", "ClusterRole")
    if role.get("kind", "") not in kinds:
        yield Cause.unsupported("roleRef.kind", quoted(role.get("kind", "")), kinds)
    if not role.get("name"):
        yield Cause.required("roleRef.name")
    for i, subject in enumerate(obj.get("subjects") or ()):
        where, kind = f"subjects[{i}]", subject.get("kind", "")
        if not subject.get("name"):
            yield Cause.required(f"{where}.name")
        if kind not in ("ServiceAccount", "User", "Group"):
            yield Cause.unsupported(f"{where}.kind", quoted(kind), ("ServiceAccount", "User", "Group"))
        elif kind == "ServiceAccount" and not subject.get("namespace"):
            yield Cause.required(f"{where}.namespace")
