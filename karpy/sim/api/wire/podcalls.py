"""Requests to the parts of a pod that are no part of its object: binding, eviction, log, and containers added to debug it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from karpy.sim.api import status
from karpy.sim.api.status import Cause
from karpy.sim.api.wire.answers import Answer, shown
from karpy.sim.api.wire.bodies import check_part, check_place

if TYPE_CHECKING:
    from karpy.sim.api.wire.calls import Call

__all__ = ["added_binding", "pod_part"]

Body = Mapping[str, Any]


def pod_part(call: Call) -> Answer:
    """The answer to a request for a part of a pod.

    Raises:
        KubeError: 405 the part does not know the verb; 400, 404, 409, 422, 429 as the part has it.
    """
    match call.target.subresource, call.request.method:
        case "binding", "POST":
            return _bind(call, _body(call, "Binding", ""), call.target.name)
        case "eviction", "POST":
            return _evict(call, _body(call, "Eviction", "policy"))
        case "log", "GET":
            return _log(call)
        case "ephemeralcontainers", "GET":
            return call.shown(call.existing())
        case "ephemeralcontainers", "PUT" | "PATCH":
            return _debug(call)
    raise status.method_not_allowed()


def added_binding(call: Call) -> Answer:
    """A binding that was sent to the collection of bindings: it names its pod itself."""
    body = _body(call, "Binding", "")
    pods = call.server.registry.get("", "pods")
    assert pods is not None, "pods are always served"
    return _bind(attrs.evolve(call, resource=pods), body, (body.get("metadata") or {}).get("name", ""))


def _body(call: Call, kind: str, group: str) -> Body:
    """The object that was sent, which must be of the part's kind."""
    body: Any = call.request.decoded(kind)
    check_part(call.server.registry, call.resource, body, kind, group, call.request)
    found: Body = body
    return found


def _bind(call: Call, body: Body, name: str) -> Answer:
    named = (body.get("metadata") or {}).get("name", name)
    if named != name:
        raise status.bad_request("name in URL does not match name in Binding object")
    target = body.get("target") or {}
    causes = []
    if target.get("kind", "") not in ("", "Node"):
        causes.append(Cause.unsupported("target.kind", f'"{target["kind"]}"', ("Node", "<empty>")))
    if not target.get("name"):
        causes.append(Cause.required("target.name"))
    if causes:
        raise status.plain(status.together(causes))
    call.server.subresources.bind(call.resource, name, call.target.namespace, target["name"], call.options())
    return shown(status.success(code=201), 201)


def _evict(call: Call, body: Body) -> Answer:
    named = (body.get("metadata") or {}).get("name", "")
    if named and named != call.target.name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    options = call.request.delete_options(body.get("deleteOptions") or {})
    call.server.subresources.evict(call.resource, call.target.name, call.target.namespace, options)
    return shown(status.success(code=201), 201)


def _log(call: Call) -> Answer:
    """The log of a pod, which is empty: nothing is run. Without kubelets there is nobody to ask."""
    record = call.existing()
    if not call.server.features.kubelets:
        raise status.no_answer_from_node("pods/log", record.object["metadata"]["name"])
    return Answer(200, b"", "text/plain")


def _debug(call: Call) -> Answer:
    """Containers are added to a pod that runs."""
    patch_type = call.request.patch_type if call.request.method == "PATCH" else None
    body = call.request.decoded_patch() if patch_type is not None else call.body()
    if patch_type is None:
        check_place(call.target, body.get("metadata") or {})
    at = (call.resource, call.version, call.target.name, call.target.namespace)
    return call.shown(call.server.subresources.debug(*at, body, patch_type, call.options()))
