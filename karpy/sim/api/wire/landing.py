"""The paths that are about the server itself: health, version, discovery, OpenAPI and metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from karpy.sim.api import status
from karpy.sim.api.registry import Registry
from karpy.sim.api.schemas.openapi import OpenApi
from karpy.sim.api.wire.answers import TEXT, Answer, page_not_found, shown
from karpy.sim.api.wire.discovery import Discovery
from karpy.sim.api.wire.metrics import Metrics
from karpy.sim.api.wire.requests import Request, parse_accept
from karpy.sim.api.wire.views import encode

__all__ = ["VERSION", "Landing"]

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
_HEALTH = ("healthz", "livez", "readyz")
_CHECKS = ("ping", "log", "etcd")
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


class Landing:
    """Answers requests that are about no resource."""

    def __init__(self, registry: Registry, metrics: Metrics) -> None:
        self.discovery = Discovery(registry)
        self._openapi = OpenApi(registry)
        self._fixed: Mapping[str, Callable[[Request], Answer]] = {
            "/": lambda _: shown({"paths": self._paths()}),
            "/version": lambda _: shown(VERSION),
            "/api": self._core_versions,
            "/apis": self._groups,
            "/metrics": lambda _: Answer(200, metrics.text().encode(), _PROMETHEUS),
            "/openapi/v2": self._openapi_v2,
            "/openapi/v3": lambda _: shown(self._openapi.index()),
            **dict.fromkeys((f"/{name}" for name in _HEALTH), _health),
            **dict.fromkeys((f"/{name}/{check}" for name in _HEALTH for check in _CHECKS), _well),
        }

    def answer(self, request: Request) -> Answer:
        """The answer to a request whose path leads to no resource.

        Raises:
            KubeError: 405, these paths can only be read.
        """
        path = request.path.rstrip("/") or "/"
        found = self._fixed.get(path) or self._document_at(path)
        if found is None:
            return page_not_found()
        if request.method not in ("GET", "HEAD"):
            raise status.method_not_allowed()
        return found(request)

    def _document_at(self, path: str) -> Callable[[Request], Answer] | None:
        parts = path.strip("/").split("/")
        if path.startswith("/openapi/v3/"):
            document = self._openapi.document(path.removeprefix("/openapi/v3/"))
            return None if document is None else lambda _: Answer(200, document)
        if parts[0] == "apis" and len(parts) == 2:
            group = self.discovery.group(parts[1])
            return None if group is None else lambda _: shown(group)
        if (parts[0], len(parts)) in (("api", 2), ("apis", 3)):
            listed = self.discovery.resource_list(parts[1] if parts[0] == "apis" else "", parts[-1])
            return None if listed is None else lambda _: shown(listed)
        return None

    def _paths(self) -> list[str]:
        groups = self.discovery.groups()
        apis = [f"/apis/{group}" for group in groups]
        versions = [f"/apis/{group}/{version}" for group, found in groups.items() for version in found]
        return sorted({*self._fixed, "/api/v1", *apis, *versions} - {"/"})

    def _core_versions(self, request: Request) -> Answer:
        if parse_accept(request.accept).kind == "APIGroupDiscoveryList":
            return self._aggregated(core=True)
        clients = [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]
        return shown({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": clients})

    def _groups(self, request: Request) -> Answer:
        if parse_accept(request.accept).kind == "APIGroupDiscoveryList":
            return self._aggregated(core=False)
        return shown(self.discovery.group_list())

    def _openapi_v2(self, request: Request) -> Answer:
        if "protobuf" in request.accept:
            return Answer(200, self._openapi.v2_protobuf(), _PROTOBUF_V2)
        return Answer(200, self._openapi.v2())

    def _aggregated(self, *, core: bool) -> Answer:
        content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        return Answer(200, encode(self.discovery.aggregated(core=core)), content_type)


def _health(request: Request) -> Answer:
    """Health in a word, or check by check where ``verbose`` is asked for."""
    if "verbose" not in request.query:
        return _well(request)
    name = request.path.strip("/")
    excluded = request.query.get("exclude", "")
    lines = [f"[+]{check} {'excluded: ok' if check == excluded else 'ok'}" for check in _CHECKS]
    return Answer(200, "".join(f"{line}\n" for line in (*lines, f"{name} check passed")).encode(), TEXT)


def _well(_: Request) -> Answer:
    return Answer(200, b"ok", TEXT)
