"""Whether the body of a write is an object for the place that it was sent to: its kind, version, name and namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from karpy.sim.api import status
from karpy.sim.api.gotext import go_kind
from karpy.sim.api.registry import Registry
from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.status import Cause
from karpy.sim.api.wire.requests import Request, Target

__all__ = ["CREATED_BY_PUT", "check_applied", "check_kind", "check_part", "check_place"]

Body = Mapping[str, Any]

_RBAC = "rbac.authorization.k8s.io"
CREATED_BY_PUT = frozenset(
    {
        ("", "endpoints"),
        ("", "events"),
        ("", "limitranges"),
        ("", "services"),
        ("coordination.k8s.io", "leases"),
        *((_RBAC, plural) for plural in ("clusterrolebindings", "clusterroles", "rolebindings", "roles")),
    }
)
"""Resources whose objects come into being when they are replaced."""
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"


def check_kind(registry: Registry, resource: Resource, version: ResourceVersion, body: Body, request: Request) -> None:
    """Refuse an object of another kind or version.

    Raises:
        KubeError: 400; 422 where a custom resource is of another kind.
    """
    kind, sent, wanted = body.get("kind"), body.get("apiVersion"), resource.api_version(version.name)
    if resource.custom:
        _check_custom(resource, version, body, request)
    elif kind is not None and (kind != resource.kind or sent not in (None, wanted)):
        _refuse_foreign(registry, resource, str(kind), wanted if sent is None else str(sent))
    if sent not in (None, wanted):
        raise status.bad_request(
            f"the API version in the data ({sent}) does not match the expected API version ({wanted})"
        )


def _check_custom(resource: Resource, version: ResourceVersion, body: Body, request: Request) -> None:
    kind, wanted = body.get("kind"), resource.api_version(version.name)
    if not kind:
        text = request.body.decode(errors="replace")
        raise request.unrecognized(resource.kind, f"Object 'Kind' is missing in '{text}'")
    if not body.get("apiVersion"):
        raise status.bad_request(f"the API version in the data () does not match the expected API version ({wanted})")
    if kind != resource.kind and body["apiVersion"] == wanted:
        cause = Cause.bad("kind", f'"{kind}"', f"must be {resource.kind}")
        raise status.invalid(resource, (body.get("metadata") or {}).get("name", ""), [cause])


def _refuse_foreign(registry: Registry, resource: Resource, kind: str, api_version: str) -> None:
    """Refuse an object that Go could not even read as the kind asked for; other versions of that kind are told by the caller."""
    group, _, version = api_version.rpartition("/")
    known = registry.by_kind(group, kind)
    if known is resource:
        return
    if known is None or known.custom or known.version(version) is None:
        why = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'
    else:
        inner = resource.group.partition(".")[0] or "core"
        why = f"converting ({version}.{kind}) to ({inner}.{resource.kind}): unknown conversion"
    raise status.bad_request(f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}')


def check_part(registry: Registry, resource: Resource, body: Any, kind: str, group: str, request: Request) -> None:
    """Refuse a body that is no ``kind``, which a part of a resource's objects (their scale, an eviction) takes.

    Raises:
        KubeError: 400.
    """
    if not isinstance(body, Mapping):
        raise request.unrecognized(kind, f"json: cannot unmarshal {go_kind(body)} into Go value")
    sent = body.get("kind") or kind
    if sent != kind:
        wanted = attrs.evolve(resource, kind=kind, group=group)
        _refuse_foreign(registry, wanted, str(sent), str(body.get("apiVersion") or "v1"))


def check_place(target: Target, meta: Body) -> None:
    """Refuse an object that was sent to another object's place.

    Raises:
        KubeError: 400.
    """
    name, namespace = meta.get("name", ""), meta.get("namespace", "")
    if not name:
        raise status.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if name != target.name:
        raise status.bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
    if namespace and target.namespace and namespace != target.namespace:
        raise status.bad_request(
            f"the namespace of the object ({namespace}) does not match the namespace on the request ({target.namespace})"
        )


def check_applied(resource: Resource, version: ResourceVersion, body: Body, target: Target) -> None:
    """Refuse an applied configuration that does not say what it is, or is something else.

    Raises:
        KubeError: 400.
    """
    wanted, sent = resource.api_version(version.name), body.get("apiVersion") or ""
    if sent != wanted:
        raise status.bad_request(
            f"Incorrect version specified in apply patch. Specified patch version: {sent}, expected: {wanted}"
        )
    meta = body.get("metadata") or {}
    check_place(target, {**meta, "name": meta.get("name") or target.name})
    if body.get("kind") != resource.kind:
        raise status.bad_request(f"the kind of the applied configuration is {body.get('kind')}, not {resource.kind}")
