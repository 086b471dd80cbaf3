"""What a request asks for: its path, options and body, taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec
import yaml

from karpy.kube.client import PatchType
from karpy.sim.api import protobuf, status
from karpy.sim.api.options import DeleteOptions, WriteOptions

__all__ = ["Accept", "Impersonated", "Request", "Target", "parse_accept", "parse_target"]

_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@attrs.frozen
class Target:
    """Where in the API a path points. ``name`` empty: the whole collection; ``namespace`` empty: all of them."""

    group: str
    version: str
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse_target(path: str) -> Target | None:
    """The target of ``/api/v1/…`` or ``/apis/<group>/<version>/…``; None for any other path.

    >>> parse_target("/apis/apps/v1/namespaces/t/deployments/web/scale").subresource
    'scale'
    """
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 2 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 3 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = [*rest, "", "", ""][: max(3, len(rest))]
    return None if more else Target(group, version, plural, namespace, name, subresource)


@attrs.frozen
class Accept:
    """The representation that a client wants: ``kind`` is Table, PartialObjectMetadata, APIGroupDiscoveryList… or empty."""

    kind: str = ""
    version: str = ""


def parse_accept(header: str) -> Accept:
    """The first JSON representation in an Accept header that this server can make."""
    for choice in header.split(","):
        media, *parameters = (part.strip() for part in choice.split(";"))
        if media not in ("application/json", "*/*", ""):
            continue
        named = dict(part.partition("=")[::2] for part in parameters)
        return Accept(named.get("as", ""), named.get("v", ""))
    return Accept()


@attrs.frozen
class Impersonated:
    """Whom the sender wants to be taken for (the headers ``Impersonate-User``, ``-Group`` and ``-Uid``)."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""


@attrs.frozen
class Request:
    """One HTTP request, already read."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes = b""
    content_type: str = ""
    accept: str = ""
    user_agent: str = ""
    authorization: str = ""
    impersonated: Impersonated | None = None

    def decoded(self, kind: str = "object") -> Any:
        """The body as a JSON value; YAML is read too where the content type says so.

        Raises:
            KubeError: 400, it cannot be read.
        """
        if self.body.startswith(protobuf.MAGIC):
            return protobuf.decode_object(self.body)
        if "yaml" in self.content_type:
            try:
                return yaml.load(self.body, Loader=_YAML_LOADER)  # noqa: S506 - both loaders are safe ones
            except yaml.YAMLError as error:
                raise status.bad_request(f"error decoding YAML: {error}") from error
        try:
            return msgspec.json.decode(self.body)
        except msgspec.DecodeError:
            shown = self.body.decode(errors="replace")
            raise status.bad_request(
                f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; "
                f"json parse error: {_parse_problem(shown)} ({shown[:64]})"
            ) from None

    @property
    def patch_type(self) -> PatchType:
        """How the body of a PATCH is meant.

        Raises:
            KubeError: 415, in no way that this server knows.
        """
        media = self.content_type.partition(";")[0].strip()
        for patch_type in PatchType:
            if patch_type.value == media:
                return patch_type
        raise status.unsupported_media_type()

    @property
    def manager(self) -> str:
        """Who writes: the named field manager, else the program that the user agent names."""
        return self.query.get("fieldManager") or self.user_agent.partition("/")[0] or "unknown"

    def write_options(self, warnings: list[str]) -> WriteOptions:
        """The options of a write; what the client should be warned of is appended to ``warnings``."""
        applying = self.method == "PATCH" and "apply-patch" in self.content_type
        return WriteOptions(
            dry_run=self.query.get("dryRun") == "All",
            manager=self.query.get("fieldManager", "") if applying else self.manager,
            field_validation=self.query.get("fieldValidation") or "Warn",
            force=self.query.get("force") in ("true", "1"),
            warn=warnings.append,
        )

    def delete_options(self, body: Any = None) -> DeleteOptions:
        """The options of a delete, from the body (read unless given) and the query."""
        sent = body if body is not None else (self.decoded("DeleteOptions") if self.body else {})
        conditions = sent.get("preconditions") or {}
        grace = sent.get("gracePeriodSeconds", self.query.get("gracePeriodSeconds"))
        propagation = sent.get("propagationPolicy") or self.query.get("propagationPolicy") or ""
        if not propagation and sent.get("orphanDependents") is not None:
            propagation = "Orphan" if sent["orphanDependents"] else "Background"
        return DeleteOptions(
            grace_period_s=int(grace) if grace is not None else None,
            uid=conditions.get("uid") or "",
            resource_version=conditions.get("resourceVersion") or "",
            propagation=propagation,
            dry_run="All" in (sent.get("dryRun") or ()) or self.query.get("dryRun") == "All",
        )


def _parse_problem(text: str) -> str:
    stripped = text.lstrip()
    if stripped.startswith("{") and len(stripped) > 1:
        return f"invalid character '{stripped[1]}' looking for beginning of object key string"
    return "invalid character" if stripped else "unexpected end of JSON input"
