"""The REST face of the server, without the network: a request in, an answer (or an open watch) out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from karpy.clock import format_time
from karpy.errors import KubeError
from karpy.kube.client import PatchType
from karpy.sim.api import newevents, status
from karpy.sim.api.deletion import check_propagation
from karpy.sim.api.discovery import Discovery
from karpy.sim.api.listing import WatchStream, list_records, open_watch, select
from karpy.sim.api.openapi import OpenApi
from karpy.sim.api.options import WriteOptions
from karpy.sim.api.requests import Request, Target, parse_accept, parse_target
from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.reviews import review
from karpy.sim.api.store import Record
from karpy.sim.api.views import View, encode

if TYPE_CHECKING:
    from karpy.sim.apiserver import ApiServer

__all__ = ["VERSION", "Answer", "Rest"]

JSON = "application/json"
_YES = ("true", "1")

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


@attrs.frozen
class Answer:
    """An HTTP answer; ``warnings`` become ``Warning`` headers."""

    code: int
    body: bytes
    content_type: str = JSON
    warnings: tuple[str, ...] = ()
    retry_after_s: float = 0.0


def _told(error: KubeError, warnings: tuple[str, ...] = ()) -> Answer:
    return Answer(error.code, encode(status.status_object(error)), JSON, warnings, error.retry_after_s)


def _page_not_found() -> Answer:
    return Answer(404, b"404 page not found\n", "text/plain; charset=utf-8")


class Rest:
    """Answers requests from one `ApiServer`."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._discovery = Discovery(server.registry)
        self._openapi = OpenApi(server.registry)
        self._plain: Mapping[str, Callable[[Request], Answer | None]] = {
            "/version": lambda _: _object(VERSION),
            "/api": self._core_versions,
            "/apis": self._groups,
            "/openapi/v2": self._openapi_v2,
            "/openapi/v3": lambda _: _object(self._openapi.index()),
            **dict.fromkeys(
                ("/healthz", "/readyz", "/livez"), lambda _: Answer(200, b"ok", "text/plain; charset=utf-8")
            ),
        }

    def handle(self, request: Request) -> Answer | WatchStream:
        """Answer one request; never raises."""
        warnings: list[str] = []
        try:
            with self._server.lock:
                return self._route(request, warnings)
        except KubeError as error:
            return _told(error, tuple(warnings))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # an object of a shape that no rule foresaw: the client is told, the server lives on
            return _told(status.internal(f"{type(error).__name__}: {error}"), tuple(warnings))

    def _route(self, request: Request, warnings: list[str]) -> Answer | WatchStream:
        path = request.path.rstrip("/") or "/"
        plain = self._plain.get(path)
        if plain is not None:
            return plain(request) or _page_not_found()
        if path.startswith(("/healthz/", "/readyz/", "/livez/")):
            return Answer(200, b"ok", "text/plain; charset=utf-8")
        if path.startswith("/openapi/v3/"):
            document = self._openapi.document(path.removeprefix("/openapi/v3/"))
            return Answer(200, document) if document is not None else _page_not_found()
        target = parse_target(path)
        if target is None:
            parts = path.strip("/").split("/")
            group = self._discovery.group(parts[1]) if len(parts) == 2 and parts[0] == "apis" else None
            return _object(group) if group is not None else _page_not_found()
        if not target.plural:
            listed = self._discovery.resource_list(target.group, target.version)
            return _object(listed) if listed is not None else _page_not_found()
        return self._resource(request, target, warnings)

    def _core_versions(self, request: Request) -> Answer:
        if parse_accept(request.accept).kind == "APIGroupDiscoveryList":
            return self._aggregated(core=True)
        clients = [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]
        return _object({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": clients})

    def _groups(self, request: Request) -> Answer:
        if parse_accept(request.accept).kind == "APIGroupDiscoveryList":
            return self._aggregated(core=False)
        return _object(self._discovery.group_list())

    def _openapi_v2(self, request: Request) -> Answer:
        if "protobuf" in request.accept:
            return Answer(
                200, self._openapi.v2_protobuf(), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
            )
        return _object(self._openapi.v2())

    def _aggregated(self, *, core: bool) -> Answer:
        content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        return Answer(200, encode(self._discovery.aggregated(core=core)), content_type)

    def _resource(self, request: Request, target: Target, warnings: list[str]) -> Answer | WatchStream:
        if self._discovery.resource_list(target.group, target.version) is None:
            return _page_not_found()
        resource, version = self._server.registry.at(target.group, target.version, target.plural)
        if target.namespace and not resource.namespaced:
            raise status.no_resource()
        if version.warning:
            warnings.append(version.warning)
        if resource.key == newevents.KEY:
            core, version = self._server.registry.at("", "v1", "events")
            chosen = newevents.core_field_selector(request.query.get("fieldSelector", ""))
            request = attrs.evolve(request, query={**request.query, "fieldSelector": chosen})
            call = _Call(self._server, request, target, core, version, warnings, resource)
        else:
            call = _Call(self._server, request, target, resource, version, warnings, resource)
        if target.subresource and target.subresource != "status":
            return call.subresource()
        if target.subresource == "status" and not version.status:
            raise status.no_resource()
        if target.name:
            return call.on_object()
        return call.on_collection()


def _object(obj: Mapping[str, Any], code: int = 200) -> Answer:
    return Answer(code, encode(obj))


@attrs.frozen(eq=False)
class _Call:
    """One request to one resource; ``face`` is the resource as the client calls it."""

    server: ApiServer
    request: Request
    target: Target
    resource: Resource
    version: ResourceVersion
    warnings: list[str]
    face: Resource

    @property
    def _view(self) -> View:
        include = self.request.query.get("includeObject", "Metadata")
        accept = parse_accept(self.request.accept)
        return View(self.resource, self.version, accept, include, new_events=self.face.key == newevents.KEY)

    def _answer(self, body: bytes, code: int = 200) -> Answer:
        return Answer(code, body, JSON, tuple(self.warnings))

    def _shown(self, record: Record, code: int = 200) -> Answer:
        return self._answer(self._view.single(record, self.server.clock.now()), code)

    def _existing(self) -> Record:
        space = self.target.namespace if self.resource.namespaced else ""
        record = self.server.store.collection(self.resource).get(space, self.target.name)
        if record is None:
            raise status.not_found(self.resource, self.target.name)
        return record

    def _options(self) -> WriteOptions:
        options = self.request.write_options(self.warnings)
        # under its other names nobody's ownership of an event is tracked
        return options if self.face is self.resource else attrs.evolve(options, manager="")

    def _is_watch(self) -> bool:
        return self.request.query.get("watch") in _YES

    def on_collection(self) -> Answer | WatchStream:
        match self.request.method:
            case "GET" if self._is_watch():
                return open_watch(self.server, self._view, self.target, self.request)
            case "GET" if "list" in self.resource.verbs:
                return self._answer(list_records(self.server, self._view, self.target, self.request))
            case "POST":
                return self._create()
            case "DELETE" if "deletecollection" in self.resource.verbs:
                return self._delete_collection()
        raise status.method_not_allowed()

    def _create(self) -> Answer:
        body = self._body()
        if self.resource.verbs == ("create",):
            return _object(review(self.resource, body, self.target.namespace), 201)
        record = self.server.writes.create(self.resource, self.version, body, self.target.namespace, self._options())
        return self._shown(record, 201)

    def _body(self) -> Mapping[str, Any]:
        """The object that was sent, which must be of this resource's kind."""
        body = self.request.decoded(self.resource.kind)
        kind, wanted = body.get("kind") if isinstance(body, Mapping) else None, self.resource.kind
        api_version = self.face.api_version(self.version.name)
        if not isinstance(body, Mapping):
            raise status.bad_request(f"the object provided is unrecognized (must be of type {wanted})")
        if kind is not None and kind != wanted:
            raise status.bad_request(
                f'{kind} in version "{self.version.name}" cannot be handled as a {wanted}: '
                f"converting (v1.{kind}) to (core.{wanted}): unknown conversion"
            )
        if body.get("apiVersion") not in (None, api_version):
            raise status.bad_request(
                f"the API version in the data ({body['apiVersion']}) does not match the expected API version ({api_version})"
            )
        return body if self.face is self.resource else dict(newevents.as_core(body))

    def _delete_collection(self) -> Answer:
        collection = self.server.store.collection(self.resource)
        records = select(collection, self.target, self.request.query)
        options = self.request.delete_options()
        for record in records:
            meta = record.object["metadata"]
            current = collection.get(meta.get("namespace", ""), meta["name"])
            if current is not None:
                self.server.deletion.delete(collection, current, options)
        metadata = {"resourceVersion": str(self.server.store.revision)}
        return self._answer(self._view.collection(records, self.server.clock.now(), metadata))

    def on_object(self) -> Answer | WatchStream:
        match self.request.method:
            case "GET" if self._is_watch():
                return open_watch(self.server, self._view, self.target, self.request)
            case "GET":
                return self._shown(self._existing())
            case "PUT":
                return self._replace()
            case "PATCH":
                return self._patch()
            case "DELETE" if not self.target.subresource:
                return self._delete()
        raise status.method_not_allowed()

    def _replace(self) -> Answer:
        body = self._body()
        meta = body.get("metadata") or {}
        if meta.get("name") and meta["name"] != self.target.name:
            raise status.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({self.target.name})"
            )
        named = {**body, "metadata": {**meta, "name": self.target.name}}
        record = self.server.writes.update(
            self.resource, self.version, named, self.target.namespace, self._options(), self.target.subresource
        )
        return self._shown(record)

    def _patch(self) -> Answer:
        patch_type = self.request.patch_type
        body = self.request.decoded(self.resource.kind)
        if self.face is not self.resource:
            body = newevents.as_core(body)
        space = self.target.namespace if self.resource.namespaced else ""
        existed = self.server.store.collection(self.resource).get(space, self.target.name) is not None
        record = self.server.writes.patch(
            self.resource,
            self.version,
            self.target.name,
            body,
            patch_type,
            self.target.namespace,
            self._options(),
            self.target.subresource,
        )
        return self._shown(record, 200 if existed or patch_type is not PatchType.APPLY else 201)

    def _delete(self) -> Answer:
        options = self.request.delete_options()
        check_propagation(options)
        record = self._existing()
        gone = self.server.deletion.delete(self.server.store.collection(self.resource), record, options)
        meta = gone.object["metadata"]
        if "deletionTimestamp" in meta or self.resource.key in _SHOWN_WHEN_DELETED:
            return self._shown(gone)
        details = {"name": meta["name"]}
        if self.resource.group:
            details["group"] = self.resource.group
        details |= {"kind": self.resource.plural, "uid": meta["uid"]}
        return _object(status.success(details))

    def subresource(self) -> Answer:
        """Anything below an object but its status."""
        name = self.target.subresource
        if name == "scale" and self.version.scale is not None:
            return self._scale()
        if name in self.resource.subresources and not self.resource.custom:
            match name, self.request.method:
                case "binding", "POST":
                    return self._bind()
                case "eviction", "POST":
                    return self._evict()
                case "log", "GET":
                    self._existing()
                    return Answer(200, b"", "text/plain")
                case "token", "POST":
                    return _object(self._token(), 201)
                case "finalize", "PUT":
                    return self._finalize()
            raise status.method_not_allowed()
        raise status.no_resource()

    def _scale(self) -> Answer:
        at = (self.resource, self.version, self.target.name, self.target.namespace)
        subresources = self.server.subresources
        match self.request.method:
            case "GET":
                return _object(subresources.scale(*at))
            case "PUT":
                return _object(subresources.write_scale(*at, self.request.decoded("Scale"), None, self._options()))
            case "PATCH":
                kind = self.request.patch_type
                return _object(subresources.write_scale(*at, self.request.decoded("Scale"), kind, self._options()))
        raise status.method_not_allowed()

    def _bind(self) -> Answer:
        node = (self.request.decoded("Binding").get("target") or {}).get("name", "")
        options = self._options()
        self.server.subresources.bind(self.resource, self.target.name, self.target.namespace, node, options)
        return _object(status.success(code=201), 201)

    def _evict(self) -> Answer:
        body = self.request.decoded("Eviction") if self.request.body else {}
        options = self.request.delete_options(body.get("deleteOptions") or {})
        self.server.subresources.evict(self.resource, self.target.name, self.target.namespace, options)
        return _object(status.success(code=201), 201)

    def _token(self) -> dict[str, Any]:
        asked = self.request.decoded("TokenRequest") if self.request.body else {}
        lifetime = (asked.get("spec") or {}).get("expirationSeconds", 3600)
        ends = format_time(self.server.clock.now() + lifetime)
        token = f"{self.target.namespace}.{self.target.name}.{self._existing().object['metadata']['uid']}"
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": self.target.name, "namespace": self.target.namespace},
            "spec": {"expirationSeconds": lifetime, **(asked.get("spec") or {})},
            "status": {"token": token, "expirationTimestamp": ends},
        }

    def _finalize(self) -> Answer:
        record = self._existing()
        collection = self.server.store.collection(self.resource)
        spec = self._body().get("spec") or {}
        finalizers = {**(record.object.get("spec") or {}), "finalizers": spec.get("finalizers") or []}
        changed = {**record.object, "metadata": dict(record.object["metadata"]), "spec": finalizers}
        record = self.server.deletion.settle(collection, self.server.store.put(collection, changed, record))
        return self._shown(record)


_SHOWN_WHEN_DELETED = frozenset(
    {("", "pods"), ("", "namespaces"), ("apiextensions.k8s.io", "customresourcedefinitions")}
)
