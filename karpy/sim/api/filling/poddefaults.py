"""What the API server fills into pods and pod templates: defaults, canonical quantities, the quality-of-service class."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from karpy.errors import InvalidObject
from karpy.quantity import Quantity
from karpy.sim.api import status

__all__ = [
    "canonical_quantity",
    "canonical_resources",
    "default_pod_spec",
    "default_requests",
    "default_template",
    "quality_of_service",
]

Object = dict[str, Any]

_SPEC_DEFAULTS: Mapping[str, Any] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_CONTAINER_DEFAULTS: Mapping[str, Any] = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


@functools.lru_cache(maxsize=65_536)
def _canonical(value: str | float) -> str:
    return str(Quantity.parse(value))


def canonical_quantity(value: Any, kind: str) -> str:
    """The text that the server stores for a quantity.

    Raises:
        KubeError: 400, it is none; ``kind`` names the object that carries it.
    """
    try:
        return _canonical(value)
    except (InvalidObject, TypeError):
        raise status.bad_request(
            f'{kind} in version "v1" cannot be handled as a {kind}: quantities must match the regular expression '
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from None


def canonical_resources(amounts: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """A resource list with canonical quantities; the same object when it is canonical already."""
    for value in amounts.values():
        if canonical_quantity(value, kind) != value:
            return {name: canonical_quantity(value, kind) for name, value in amounts.items()}
    return amounts


def default_pod_spec(spec: Mapping[str, Any], kind: str, *, template: bool) -> Mapping[str, Any]:
    """A pod's spec with what the server adds; ``template`` leaves out what only pods get."""
    changes: Object = {key: value for key, value in _SPEC_DEFAULTS.items() if spec.get(key) is None}
    for key in ("containers", "initContainers", "ephemeralContainers"):
        containers = spec.get(key)
        if containers:
            filled = [_default_container(container, kind) for container in containers]
            if any(a is not b for a, b in zip(filled, containers, strict=True)):
                changes[key] = filled
    if spec.get("hostNetwork"):
        for key in ("containers", "initContainers"):
            if spec.get(key):
                changes[key] = [_mirror_host_ports(each) for each in changes.get(key, spec[key])]
    if any(len(each) <= 1 for each in spec.get("volumes") or ()):
        changes["volumes"] = [each if len(each) > 1 else {**each, "emptyDir": {}} for each in spec["volumes"]]
    if spec.get("overhead"):
        changes["overhead"] = canonical_resources(spec["overhead"], kind)
    name, other = spec.get("serviceAccountName"), spec.get("serviceAccount")
    if name != other:
        changes["serviceAccountName"] = changes["serviceAccount"] = name or other
    if not template and "enableServiceLinks" not in spec:
        changes["enableServiceLinks"] = True
    whole = {**spec, **changes} if changes else spec
    return whole if template else default_requests(whole)


def default_requests(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """A pod's spec where limits stand in for requests that are missing; the same object when none is.

    A limit of the whole pod stands in only where no container asks (``SetDefaults_Pod`` of Kubernetes).
    """
    changes: Object = {}
    asked: set[str] = set()
    for key in ("containers", "initContainers"):
        containers = spec.get(key) or ()
        filled = [_asking(container) for container in containers]
        asked.update(name for each in filled for name in (each.get("resources") or {}).get("requests") or ())
        if any(a is not b for a, b in zip(filled, containers, strict=True)):
            changes[key] = filled
    whole = spec.get("resources") or {}
    requests = whole.get("requests") or {}
    unasked = {k: v for k, v in (whole.get("limits") or {}).items() if k not in asked and k not in requests}
    if unasked:
        changes["resources"] = {**whole, "requests": {**unasked, **requests}}
    return {**spec, **changes} if changes else spec


def _asking(container: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if all(name in requests for name in limits):
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **requests}}}


def _default_container(container: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    changes: Object = {key: value for key, value in _CONTAINER_DEFAULTS.items() if container.get(key) is None}
    if "imagePullPolicy" not in container:
        changes["imagePullPolicy"] = _pull_policy(container.get("image", ""))
    resources = container.get("resources")
    if resources:
        filled = _default_resources(resources, kind)
        if filled is not resources:
            changes["resources"] = filled
    ports = container.get("ports")
    if ports and any("protocol" not in port for port in ports):
        changes["ports"] = [{**port, "protocol": port.get("protocol", "TCP")} for port in ports]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(probe):
            changes[probe] = _default_probe(container[probe])
    return {**container, **changes} if changes else container


def _mirror_host_ports(container: Mapping[str, Any]) -> Mapping[str, Any]:
    ports = container.get("ports")
    if not ports:
        return container
    return {**container, "ports": [{**port, "hostPort": port.get("hostPort", port["containerPort"])} for port in ports]}


def _pull_policy(image: str) -> str:
    last = image.rpartition("/")[2]
    tagged = ":" in last or "@" in last
    return "IfNotPresent" if tagged and not last.endswith(":latest") else "Always"


def _default_resources(resources: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    changes: Object = {}
    for key in ("limits", "requests"):
        amounts = resources.get(key)
        if amounts:
            canonical = canonical_resources(amounts, kind)
            if canonical is not amounts:
                changes[key] = canonical
    return {**resources, **changes} if changes else resources


def _default_probe(probe: Mapping[str, Any]) -> Mapping[str, Any]:
    filled = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3, **probe}
    get = probe.get("httpGet")
    if get:
        filled["httpGet"] = {"path": "/", "scheme": "HTTP", **get}
    return filled


def default_template(template: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """A pod template with what the server adds."""
    meta = template.get("metadata")
    changes: Object = {}
    if meta is None or "creationTimestamp" not in meta:
        changes["metadata"] = {"creationTimestamp": None, **(meta or {})}
    spec = template.get("spec")
    if spec is not None:
        filled = default_pod_spec(spec, kind, template=True)
        if filled is not spec:
            changes["spec"] = filled
    return {**template, **changes} if changes else template


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort, from CPU and memory of all containers."""
    containers: Sequence[Mapping[str, Any]] = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    any_set, all_limited = False, True
    for container in containers:
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            limit, request = limits.get(name), requests.get(name)
            if limit or request:
                any_set = True
            if not limit or (request is not None and request != limit):
                all_limited = False
    if not any_set:
        return "BestEffort"
    return "Guaranteed" if all_limited else "Burstable"
