"""The REST face of the server, without the network: a request in, an answer (or an open watch) out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs

from karpy.errors import KubeError
from karpy.sim.api import newevents, status
from karpy.sim.api.answers import TEXT, Answer, page_not_found, shown, told
from karpy.sim.api.calls import Call
from karpy.sim.api.discovery import Discovery
from karpy.sim.api.guard import Guard
from karpy.sim.api.identity import Identity
from karpy.sim.api.listing import WatchStream
from karpy.sim.api.openapi import OpenApi
from karpy.sim.api.requests import Request, Target, parse_accept, parse_target
from karpy.sim.api.tokens import Tokens
from karpy.sim.api.views import encode

if TYPE_CHECKING:
    from karpy.sim.apiserver import ApiServer

__all__ = ["VERSION", "Rest"]

VERSION: Mapping[str, str] = {
    "major": "1",
    "minor": "31",
    "gitVersion": "v1.31.0+karpy",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


class Rest:
    """Answers requests from one `ApiServer`."""

    def __init__(self, server: ApiServer, tokens: Tokens | None = None) -> None:
        self._server = server
        self._tokens = tokens or Tokens(server)
        self._guard = Guard(server, self._tokens)
        self._discovery = Discovery(server.registry)
        self._openapi = OpenApi(server.registry)
        self._plain: Mapping[str, Callable[[Request], Answer | None]] = {
            "/version": lambda _: shown(VERSION),
            "/api": self._core_versions,
            "/apis": self._groups,
            "/openapi/v2": self._openapi_v2,
            "/openapi/v3": lambda _: shown(self._openapi.index()),
            **dict.fromkeys(("/healthz", "/readyz", "/livez"), lambda _: Answer(200, b"ok", TEXT)),
        }

    def handle(self, request: Request) -> Answer | WatchStream:
        """Answer one request; never raises."""
        warnings: list[str] = []
        try:
            with self._server.lock:
                return self._route(request, self._guard.admit(request), warnings)
        except KubeError as error:
            return told(error, tuple(warnings))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # an object of a shape that no rule foresaw: the client is told, the server lives on
            return told(status.internal(f"{type(error).__name__}: {error}"), tuple(warnings))

    def _route(self, request: Request, who: Identity, warnings: list[str]) -> Answer | WatchStream:
        path = request.path.rstrip("/") or "/"
        plain = self._plain.get(path)
        if plain is not None:
            return plain(request) or page_not_found()
        if path.startswith(("/healthz/", "/readyz/", "/livez/")):
            return Answer(200, b"ok", TEXT)
        if path.startswith("/openapi/v3/"):
            document = self._openapi.document(path.removeprefix("/openapi/v3/"))
            return Answer(200, document) if document is not None else page_not_found()
        target = parse_target(path)
        if target is None:
            parts = path.strip("/").split("/")
            group = self._discovery.group(parts[1]) if len(parts) == 2 and parts[0] == "apis" else None
            return shown(group) if group is not None else page_not_found()
        if not target.plural:
            listed = self._discovery.resource_list(target.group, target.version)
            return shown(listed) if listed is not None else page_not_found()
        return self._resource(request, target, who, warnings)

    def _core_versions(self, request: Request) -> Answer:
        if parse_accept(request.accept).kind == "APIGroupDiscoveryList":
            return self._aggregated(core=True)
        clients = [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]
        return shown({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": clients})

    def _groups(self, request: Request) -> Answer:
        if parse_accept(request.accept).kind == "APIGroupDiscoveryList":
            return self._aggregated(core=False)
        return shown(self._discovery.group_list())

    def _openapi_v2(self, request: Request) -> Answer:
        if "protobuf" in request.accept:
            return Answer(
                200, self._openapi.v2_protobuf(), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
            )
        return shown(self._openapi.v2())

    def _aggregated(self, *, core: bool) -> Answer:
        content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        return Answer(200, encode(self._discovery.aggregated(core=core)), content_type)

    def _resource(self, request: Request, target: Target, who: Identity, warnings: list[str]) -> Answer | WatchStream:
        if self._discovery.resource_list(target.group, target.version) is None:
            return page_not_found()
        resource, version = self._server.registry.at(target.group, target.version, target.plural)
        if target.namespace and not resource.namespaced:
            raise status.no_resource()
        if version.warning:
            warnings.append(version.warning)
        face = resource
        if resource.key == newevents.KEY:
            resource, version = self._server.registry.at("", "v1", "events")
            chosen = newevents.core_field_selector(request.query.get("fieldSelector", ""))
            request = attrs.evolve(request, query={**request.query, "fieldSelector": chosen})
        call = Call(self._server, request, target, resource, version, warnings, face, who, self._tokens)
        if target.subresource and target.subresource != "status":
            return call.subresource()
        if target.subresource == "status" and not version.status:
            raise status.no_resource()
        if target.name:
            return call.on_object()
        return call.on_collection()
