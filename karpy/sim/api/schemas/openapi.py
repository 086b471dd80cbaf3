"""OpenAPI documents: what `kubectl explain` prints, and how kubectl learns that the server checks fields itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from karpy.sim.api.registry import Registry
from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.schemas import builtin_schema

__all__ = ["OpenApi"]

Object = dict[str, Any]

_encode = msgspec.json.Encoder(order="deterministic").encode
_META = "io.k8s.api.v1.ObjectMeta"
_METADATA = (
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
"""What is said of the metadata of a custom resource; the client's models do not say it."""
_VALIDATION = {
    "name": "fieldValidation",
    "in": "query",
    "description": "What to do about unknown fields: Ignore, Warn or Strict.",
    "schema": {"type": "string", "uniqueItems": True},
}
_DRY_RUN = {
    "name": "dryRun",
    "in": "query",
    "description": "All: check the request and change nothing.",
    "schema": {"type": "string", "uniqueItems": True},
}


class OpenApi:
    """The OpenAPI documents of what a registry serves, one for each group and version, made when asked for."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._edition = -1
        self._documents: dict[str, bytes] = {}
        self._v2_edition = -1
        self._v2 = b""

    def _group_versions(self) -> list[tuple[str, str]]:
        found: dict[tuple[str, str], None] = {}
        for resource in self._registry.resources():
            for version in resource.versions:
                if version.served:
                    found[resource.group, version.name] = None
        return sorted(found)

    def index(self) -> Object:
        """The answer of ``/openapi/v3``. The hash of a document changes with what is served."""
        paths = {}
        for group, version in self._group_versions():
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            mark = hashlib.sha256(f"{path} {self._mark(group)}".encode()).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={mark}"}
        return {"paths": paths}

    def _mark(self, group: str) -> str:
        custom = any(each.custom for each in self._registry.resources() if each.group == group)
        return str(self._registry.edition) if custom else "built-in"

    def document(self, path: str) -> bytes | None:
        """The encoded document of ``api/v1`` or ``apis/<group>/<version>``; None when nothing is served there."""
        if self._edition != self._registry.edition:
            self._documents.clear()
            self._edition = self._registry.edition
        if path not in self._documents:
            parts = path.split("/")
            group, version = ("", parts[-1]) if parts[0] == "api" else (parts[1] if len(parts) > 2 else "?", parts[-1])
            document = self._document(group, version)
            if document is None:
                return None
            self._documents[path] = _encode(document)
        return self._documents[path]

    def _document(self, group: str, version: str) -> Object | None:
        schemas: dict[str, Object] = {}
        paths: dict[str, Object] = {}
        for resource in self._registry.resources():
            served = resource.version(version)
            if resource.group == group and served is not None:
                name = _add_schema(resource, served, schemas)
                paths |= _paths(resource, version, name)
        if not paths:
            return None
        info = {"title": "Kubernetes", "version": "v1.31.0"}
        return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}

    def v2(self) -> bytes:
        """The OpenAPI v2 document: the definitions of all kinds. What can be done with them, v3 tells."""
        if self._v2_edition != self._registry.edition:
            schemas: dict[str, Object] = {}
            for resource in self._registry.resources():
                for version in resource.versions:
                    if version.served:
                        _add_schema(resource, version, schemas)
            info = {"title": "Kubernetes", "version": "v1.31.0"}
            document = {"swagger": "2.0", "info": info, "paths": {}, "definitions": schemas}
            self._v2 = _encode(document).replace(b"#/components/schemas/", b"#/definitions/")
            self._v2_edition = self._registry.edition
        return self._v2

    def v2_protobuf(self) -> bytes:
        """The same document in the protobuf form that kubectl reads v2 in: swagger (1), info (2), paths (8), definitions (9)."""
        info = b"\x0a\x0aKubernetes\x12\x07v1.31.0"
        return b"\x0a\x032.0\x12" + bytes([len(info)]) + info + b"\x42\x00\x4a\x00"


def _gvk(resource: Resource, version: str) -> Object:
    return {"group": resource.group, "version": version, "kind": resource.kind}


def _add_schema(resource: Resource, version: ResourceVersion, schemas: dict[str, Object]) -> str:
    """Put the schema of a kind among ``schemas`` and answer its name."""
    if resource.custom:
        name = f"{'.'.join(reversed(resource.group.split('.')))}.{version.name}.{resource.kind}"
        schemas |= builtin_schema.described("V1ObjectMeta")
        schemas[name] = {
            **_custom(version.schema or {}),
            "x-kubernetes-group-version-kind": [_gvk(resource, version.name)],
        }
        return name
    model = builtin_schema.model_of(resource.group, version.name, resource.kind)
    if model is None:
        name = f"io.k8s.api.{version.name}.{resource.kind}"
        schemas[name] = {"type": "object"}
    else:
        name = builtin_schema.openapi_schemas(model, schemas)
    schemas[name] = {**schemas[name], "x-kubernetes-group-version-kind": [_gvk(resource, version.name)]}
    return name


def _custom(schema: Mapping[str, Any]) -> Object:
    """A custom resource's schema with the fields that every object has."""
    common = {
        "apiVersion": {"type": "string", "description": builtin_schema.field_text("V1Pod", "api_version")},
        "kind": {"type": "string", "description": builtin_schema.field_text("V1Pod", "kind")},
        "metadata": {
            "allOf": [{"$ref": f"#/components/schemas/{_META}"}],
            "description": _METADATA,
        },
    }
    return {**schema, "properties": {**(schema.get("properties") or {}), **common}}


def _paths(resource: Resource, version: str, schema_name: str) -> dict[str, Object]:
    base = f"/apis/{resource.group}/{version}" if resource.group else f"/api/{version}"
    space = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{base}{space}/{resource.plural}"
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema_name}"}}}
    answers = {"200": {"description": "OK", "content": content}}

    def operation(action: str, **more: Any) -> Object:
        shown: Object = {"x-kubernetes-action": action, "x-kubernetes-group-version-kind": _gvk(resource, version)}
        return {**shown, **more, "responses": answers}

    writing = {"parameters": [_DRY_RUN, _VALIDATION], "requestBody": {"content": content}}
    patching = {
        "application/apply-patch+yaml": {"schema": {"type": "object"}},
        "application/json-patch+json": {"schema": {"type": "object"}},
        "application/merge-patch+json": {"schema": {"type": "object"}},
    }
    patch = {"parameters": [_DRY_RUN, _VALIDATION], "requestBody": {"content": patching}}
    paths: dict[str, Object] = {collection: {"post": operation("post", **writing)}}
    if "get" in resource.verbs:
        paths[collection]["get"] = operation("list")
        paths[f"{collection}/{{name}}"] = {
            "get": operation("get"),
            "put": operation("put", **writing),
            "patch": operation("patch", **patch),
            "delete": operation("delete"),
        }
    return paths
