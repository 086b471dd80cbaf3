"""What a request asks for: its path, options and body, taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec
import yaml

from karpy.errors import KubeError
from karpy.kube.client import PatchType
from karpy.sim.api import status
from karpy.sim.api.gotext import go_kind
from karpy.sim.api.options import DeleteOptions, WriteOptions
from karpy.sim.api.status import Cause
from karpy.sim.api.wire import protobuf
from karpy.sim.api.wire.parsing import parse_problem, summary, yaml_problem
from karpy.sim.api.wire.queries import check_write_options, flag, integer

__all__ = ["Accept", "Impersonated", "Request", "Target", "parse_accept", "parse_target", "undeprecated"]

_JSON, _YAML = "application/json", "application/yaml"
_OPTIONS_KINDS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
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


def undeprecated(request: Request) -> Request:
    """The request, with a path of the older way to watch (``/api/v1/watch/pods``) as clients write it today."""
    parts = request.path.split("/")
    at = {"api": 3, "apis": 4}.get(parts[1] if len(parts) > 1 else "", len(parts))
    if at >= len(parts) - 1 or parts[at] != "watch" or request.method != "GET":
        return request
    return attrs.evolve(request, path="/".join(parts[:at] + parts[at + 1 :]), query={**request.query, "watch": "true"})


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

    def decoded(self, kind: str = "object", *, custom: bool = False) -> Any:
        """The body as a JSON value; YAML is read too where the content type says so. ``custom``: it is for a custom resource.

        Raises:
            KubeError: 400 it cannot be read, 415 it is of a kind that is not taken.
        """
        self._check_media_type(custom=custom)
        if self.body.startswith(protobuf.MAGIC):
            return protobuf.decode_object(self.body)
        if "yaml" in self.content_type:
            return self._read_yaml()
        try:
            return msgspec.json.decode(self.body)
        except msgspec.DecodeError:
            problem = parse_problem(self.body.decode(errors="replace"))
            raise self.unrecognized(kind, f"couldn't get version/kind; json parse error: {problem}") from None

    def unrecognized(self, kind: str, problem: str) -> KubeError:
        """400: the body is no object of this kind."""
        return status.bad_request(
            f"the object provided is unrecognized (must be of type {kind}): {problem} ({summary(self.body)})"
        )

    def _check_media_type(self, *, custom: bool) -> None:
        media = self.content_type.partition(";")[0].strip()
        if self.method == "PATCH" or media in ("", _JSON, _YAML) or (media == protobuf.MEDIA_TYPE and not custom):
            return
        raise status.unknown_format((_JSON, _YAML) if custom else (_JSON, _YAML, protobuf.MEDIA_TYPE))

    def decoded_patch(self) -> Any:
        """The body of a PATCH.

        Raises:
            KubeError: 400, it cannot be read, or is not of the form that its content type says.
        """
        if self.patch_type is PatchType.APPLY:
            return self._read_yaml()
        try:
            patch = msgspec.json.decode(self.body)
        except msgspec.DecodeError:
            problem = parse_problem(self.body.decode(errors="replace"))
            raise status.bad_request(f"error decoding patch: {problem}") from None
        wanted, go_type = (
            (list, "[]interface {}") if self.patch_type is PatchType.JSON else (dict, "map[string]interface {}")
        )
        if not isinstance(patch, wanted):
            raise status.bad_request(
                f"error decoding patch: json: cannot unmarshal {go_kind(patch)} into Go value of type {go_type}"
            )
        return patch

    def _read_yaml(self) -> Any:
        try:
            found = yaml.load(self.body, Loader=_YAML_LOADER)  # noqa: S506 - both loaders are safe ones
        except (yaml.YAMLError, ValueError) as error:
            raise status.bad_request(
                f"error decoding YAML: error converting YAML to JSON: {yaml_problem(error)}"
            ) from None
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise status.bad_request(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
                f"{go_kind(found)} into Go value of type map[string]interface {{}}"
            )
        return found

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
        check_write_options(self.query, _OPTIONS_KINDS.get(self.method, "CreateOptions"), applying=applying)
        return WriteOptions(
            dry_run=self.query.get("dryRun") == "All",
            manager=self.query.get("fieldManager", "") if applying else self.manager,
            field_validation=self.query.get("fieldValidation") or "Warn",
            force=flag(self.query, "force"),
            warn=warnings.append,
        )

    def delete_options(self, body: Any = None) -> DeleteOptions:
        """The options of a delete, from the body (read unless given) and the query."""
        sent = body if body is not None else (self.decoded("DeleteOptions") if self.body else {})
        if not isinstance(sent, Mapping) or sent.get("kind", "DeleteOptions") != "DeleteOptions":
            raise status.bad_request("decoded object cannot be converted to DeleteOptions")
        _check_delete_options(sent, self.query)
        conditions = sent.get("preconditions") or {}
        grace = sent.get("gracePeriodSeconds")
        if grace is None:
            grace = integer(self.query, "gracePeriodSeconds")
        propagation = sent.get("propagationPolicy") or self.query.get("propagationPolicy") or ""
        if not propagation and sent.get("orphanDependents") is not None:
            propagation = "Orphan" if sent["orphanDependents"] else "Background"
        elif not propagation and "orphanDependents" in self.query:
            propagation = "Orphan" if flag(self.query, "orphanDependents") else "Background"
        return DeleteOptions(
            grace_period_s=int(grace) if grace is not None else None,
            uid=conditions.get("uid") or "",
            resource_version=conditions.get("resourceVersion") or "",
            propagation=propagation,
            dry_run="All" in (sent.get("dryRun") or ()) or self.query.get("dryRun") == "All",
        )


def _check_delete_options(sent: Mapping[str, Any], query: Mapping[str, str]) -> None:
    policy, orphans = sent.get("propagationPolicy") or query.get("propagationPolicy"), sent.get("orphanDependents")
    causes = []
    if policy and orphans is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(Cause.bad("propagationPolicy", f'"{policy}"', why))
    asked = [each for each in sent.get("dryRun") or ([query["dryRun"]] if "dryRun" in query else []) if each != "All"]
    if asked:
        shown = ", ".join(f'"{each}"' for each in asked)
        causes.append(Cause.unsupported("dryRun", f"[]string{{{shown}}}", ("All",)))
    if causes:
        raise status.invalid_options("DeleteOptions", *causes)
