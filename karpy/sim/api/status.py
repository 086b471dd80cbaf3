"""What the API server answers instead of an object: the errors, with the codes, reasons and texts of the real one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from karpy.errors import KubeError
from karpy.sim.api.resources import Resource

__all__ = [
    "Cause",
    "PageLost",
    "already_exists",
    "bad_request",
    "conflict",
    "forbidden",
    "gone",
    "internal",
    "invalid",
    "invalid_options",
    "method_not_allowed",
    "modified",
    "no_answer_from_node",
    "no_resource",
    "not_found",
    "plain",
    "status_object",
    "success",
    "together",
    "too_many_requests",
    "unknown_format",
    "unprocessable",
    "unsupported_media_type",
]

Object = dict[str, Any]


@attrs.frozen
class Cause:
    """One thing wrong with an object: the API's reason, the text and the field path."""

    reason: str
    message: str
    field: str

    @property
    def text(self) -> str:
        return f"{self.field}: {self.message}"

    @classmethod
    def required(cls, field: str, detail: str = "") -> Cause:
        return cls("FieldValueRequired", f"Required value: {detail}" if detail else "Required value", field)

    @classmethod
    def bad(cls, field: str, value: str, detail: str) -> Cause:
        """``value`` is printed as it stands: quote strings with `quoted`."""
        return cls("FieldValueInvalid", f"Invalid value: {value}: {detail}", field)

    @classmethod
    def unsupported(cls, field: str, value: str, supported: Sequence[str]) -> Cause:
        listed = ", ".join(f'"{choice}"' for choice in supported)
        return cls("FieldValueNotSupported", f"Unsupported value: {value}: supported values: {listed}", field)

    @classmethod
    def forbidden(cls, field: str, detail: str) -> Cause:
        return cls("FieldValueForbidden", f"Forbidden: {detail}", field)

    @classmethod
    def duplicate(cls, field: str, value: str) -> Cause:
        return cls("FieldValueDuplicate", f"Duplicate value: {value}", field)

    def as_object(self) -> Object:
        return {"reason": self.reason, "message": self.message, "field": self.field}


def _details(resource: Resource, name: str, kind: str = "") -> Object:
    details: Object = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = kind or resource.plural
    return details


def not_found(resource: Resource, name: str) -> KubeError:
    message = f'{resource.qualified} "{name}" not found'
    return KubeError(message, code=404, reason="NotFound", details=_details(resource, name))


def no_resource() -> KubeError:
    """The server knows no such resource or subresource."""
    return KubeError("the server could not find the requested resource", code=404, reason="NotFound")


def no_answer_from_node(kind: str, name: str) -> KubeError:
    """What is asked of a pod's node, and it has nothing at that path."""
    message = f"the server could not find the requested resource ( {kind} {name})"
    causes = [{"reason": "UnexpectedServerResponse", "message": "unknown"}]
    return KubeError(message, code=404, reason="NotFound", details={"name": name, "kind": kind, "causes": causes})


def already_exists(resource: Resource, name: str) -> KubeError:
    message = f'{resource.qualified} "{name}" already exists'
    return KubeError(message, code=409, reason="AlreadyExists", details=_details(resource, name))


def conflict(resource: Resource, name: str, why: str, *, called: str = "", kind: str = "") -> KubeError:
    message = f'Operation cannot be fulfilled on {called or resource.qualified} "{name}": {why}'
    return KubeError(message, code=409, reason="Conflict", details=_details(resource, name, kind))


def modified(resource: Resource, name: str) -> KubeError:
    """The writer has seen an older version than the stored one."""
    return conflict(
        resource, name, "the object has been modified; please apply your changes to the latest version and try again"
    )


def bad_request(message: str) -> KubeError:
    return KubeError(message, code=400, reason="BadRequest")


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[Object] = ()) -> KubeError:
    details = _details(resource, name)
    if causes:
        details["causes"] = list(causes)
    return KubeError(
        f'{resource.qualified} "{name}" is forbidden: {why}', code=403, reason="Forbidden", details=details
    )


def together(causes: Sequence[Cause]) -> str:
    """All that is wrong, in one line."""
    texts = list(dict.fromkeys(cause.text for cause in causes))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def invalid(resource: Resource, name: str, causes: Sequence[Cause], *, called: str = "") -> KubeError:
    """422: the object breaks a rule; every cause is told."""
    told = together(causes)
    kind = called or resource.kind
    qualified = kind if called or not resource.group else f"{kind}.{resource.group}"
    details = _details(resource, name, resource.plural if called else kind)
    details["causes"] = [cause.as_object() for cause in causes]
    return KubeError(f'{qualified} "{name}" is invalid: {told}', code=422, reason="Invalid", details=details)


def invalid_options(kind: str, *causes: Cause) -> KubeError:
    """422 on the options of a call (ListOptions, DeleteOptions, PatchOptions)."""
    details = {"group": "meta.k8s.io", "kind": kind, "causes": [cause.as_object() for cause in causes]}
    message = f'{kind}.meta.k8s.io "" is invalid: {together(causes)}'
    return KubeError(message, code=422, reason="Invalid", details=details)


def plain(message: str) -> KubeError:
    """500 without a reason: an error of the server's own that it hands on as it is."""
    return KubeError(message, code=500)


def unprocessable() -> KubeError:
    """A JSON patch that does not apply; the real server tells no more than this either."""
    return KubeError("the server rejected our request due to an error in our request", code=422, reason="Invalid")


def unknown_format(accepted: Sequence[str]) -> KubeError:
    """415: a body of a content type that the resource does not take."""
    return unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    )


def unsupported_media_type(message: str = "415: Unsupported Media Type") -> KubeError:
    return KubeError(message, code=415, reason="UnsupportedMediaType")


def method_not_allowed(
    message: str = "the server does not allow this method on the requested resource",
) -> KubeError:
    return KubeError(message, code=405, reason="MethodNotAllowed")


def gone(message: str) -> KubeError:
    return KubeError(message, code=410, reason="Expired")


class PageLost(KubeError):
    """410 on the next page of a list whose moment is forgotten; ``token`` leads on at the present."""

    def __init__(self, message: str, token: str) -> None:
        self.token = token
        super().__init__(message, code=410, reason="Expired")


def too_many_requests(message: str, details: Object | None = None, *, retry_after_s: float = 0.0) -> KubeError:
    return KubeError(message, code=429, reason="TooManyRequests", details=details, retry_after_s=retry_after_s)


def internal(message: str) -> KubeError:
    return KubeError(
        f"Internal error occurred: {message}",
        code=500,
        reason="InternalError",
        details={"causes": [{"message": message}]},
    )


def status_object(error: KubeError) -> Object:
    """The ``Status`` object that tells ``error`` on the wire."""
    meta = {"continue": error.token} if isinstance(error, PageLost) else {}
    status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": meta, "status": "Failure"}
    status["message"] = error.message
    if error.reason:
        status["reason"] = error.reason
    bare = error.reason in ("", "BadRequest", "Expired") or error.message.startswith("the body of the request")
    if error.details or not bare:
        status["details"] = error.details
    status["code"] = error.code
    return status


def success(details: Object | None = None, *, code: int = 0) -> Object:
    """The ``Status`` object of a call that went well and has no object to show."""
    status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        status["details"] = details
    if code:
        status["code"] = code
    return status
