"""Schemas of the built-in kinds, taken from the models of the official client when they are first asked for.

The models carry every field's name, type and description, so nothing of that has to be kept here. Reading them costs about a
second once, which is why only `kubectl explain` and the check for unknown fields over HTTP ask for it.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Mapping
from typing import Any

__all__ = [
    "QUANTITY_FIELD",
    "Model",
    "Schema",
    "described",
    "field_text",
    "model_of",
    "object_meta",
    "openapi_schemas",
    "structural_schema",
]

Model = Any
"""A model class of the official client."""

Schema = dict[str, Any]

_PLAIN: Mapping[str, Schema] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
    "object": {"type": "object"},
    "bytes": {"type": "string", "format": "byte"},
}
_PREFIX = re.compile(
    r"^(Apiextensions|Apiregistration|Authentication|Core|Discovery|Events|Flowcontrol|Rbac|Storage)?V(\d+(?:(?:alpha|beta)\d+)?)"
)
_EXCEPTIONS = {
    ("", "Event"): "CoreV1Event",
    ("events.k8s.io", "Event"): "EventsV1Event",
    ("", "Endpoints"): "V1Endpoints",
}
_QUANTITIES = frozenset(
    {
        *(
            "limits",
            "requests",
            "capacity",
            "allocatable",
            "allocatedResources",
            "hard",
            "used",
            "overhead",
            "podFixed",
        ),
        *("default", "defaultRequest", "max", "min", "maxLimitRequestRatio"),
    }
)
"""Maps to quantities, which the client's models only know as maps to strings."""
_SINGLE_QUANTITIES = frozenset(
    {
        ("V1EmptyDirVolumeSource", "sizeLimit"),
        ("V1ResourceFieldSelector", "divisor"),
        ("V1CSIStorageCapacity", "capacity"),
        ("V1CSIStorageCapacity", "maximumVolumeSize"),
        ("V2MetricTarget", "value"),
        ("V2MetricTarget", "averageValue"),
        ("V2MetricValueStatus", "value"),
        ("V2MetricValueStatus", "averageValue"),
    }
)
_INT_OR_STRING = frozenset({"port", "targetPort", "maxSurge", "maxUnavailable", "minAvailable"})


@functools.cache
def _models() -> Any:
    from kubernetes.client import models

    return models


def model_of(group: str, version: str, kind: str) -> Model | None:
    """The model of a kind; None when the client has none."""
    name = _EXCEPTIONS.get((group, kind)) or f"V{version.removeprefix('v')}{kind}"
    return getattr(_models(), name, None)


def _schema_name(model: Model) -> str:
    found = _PREFIX.match(model.__name__)
    version = found[2] if found else "1"
    bare = model.__name__[found.end() :] if found else model.__name__
    return f"io.k8s.api.v{version}.{bare}"


def _description(model: Model) -> str:
    text = inspect.cleandoc(model.__doc__ or "").partition("\n\nAttributes:")[0]
    return " ".join(text.split())


def described(model_name: str) -> Schema:
    """The OpenAPI schemas of one model of the client by its class name (``V1ObjectMeta``) and of all it refers to."""
    found: dict[str, Schema] = {}
    openapi_schemas(getattr(_models(), model_name), found)
    return found


def field_text(model_name: str, field: str) -> str:
    """The description of one field of a model, by the client's name of it."""
    return str(getattr(_models(), model_name).model_fields[field].description or "")


def _reference(type_name: str, key: str) -> tuple[Schema, list[Model]]:
    """The OpenAPI form of a type as the models name it, and the models that it refers to."""
    listed = re.fullmatch(r"(?:List|list)\[(.+)\]", type_name)
    if listed:
        items, used = _reference(listed[1], "")
        return {"type": "array", "items": items}, used
    mapped = re.fullmatch(r"(?:Dict|dict)\[(?:str), ?(.+)\]", type_name)
    if mapped:
        if key in _QUANTITIES and mapped[1] == "str":
            return {"type": "object", "additionalProperties": {"$ref": _QUANTITY_REF}}, []
        values, used = _reference(mapped[1], "")
        return {"type": "object", "additionalProperties": values}, used
    model = getattr(_models(), type_name, None)
    if model is not None and hasattr(model, "openapi_types"):
        return {"$ref": f"#/components/schemas/{_schema_name(model)}"}, [model]
    if type_name == "object" and key in _INT_OR_STRING:
        return {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"}, []
    return dict(_PLAIN.get(type_name, {})), []


_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_QUANTITY_REF = f"#/components/schemas/{_QUANTITY}"
QUANTITY_SCHEMA: Schema = {
    "oneOf": [{"type": "string"}, {"type": "number"}],
    "description": "An amount, such as 100m or 2Gi.",
}


def openapi_schemas(model: Model, into: dict[str, Schema]) -> str:
    """Put the schema of ``model`` and of all that it refers to ``into``; the answer is its name."""
    name = _schema_name(model)
    into.setdefault(_QUANTITY, QUANTITY_SCHEMA)
    waiting = [model]
    while waiting:
        current = waiting.pop()
        if _schema_name(current) not in into:
            schema, used = _openapi_schema(current)
            into[_schema_name(current)] = schema
            waiting += used
    return name


def _openapi_schema(model: Model) -> tuple[Schema, list[Model]]:
    properties: dict[str, Schema] = {}
    required: list[str] = []
    used: list[Model] = []
    for field, type_name in model.openapi_types.items():
        key = model.attribute_map[field]
        shape, more = _reference(type_name, key)
        used += more
        known = model.model_fields.get(field)
        text = (known.description if known is not None else "") or ""
        if "$ref" in shape:
            shape = (
                {"allOf": [shape], "default": {}, "description": text} if text else {"allOf": [shape], "default": {}}
            )
        elif text:
            shape["description"] = text
        properties[key] = shape
        if known is not None and known.is_required():
            required.append(key)
    schema: Schema = {"type": "object", "description": _description(model), "properties": properties}
    return ({**schema, "required": required} if required else schema), used


@functools.cache
def structural_schema(group: str, version: str, kind: str) -> Schema | None:
    """The fields of a kind as a structural schema, for telling unknown ones; None when they are not known."""
    model = model_of(group, version, kind)
    return _fields(model.__name__) if model is not None else None


def object_meta() -> Schema:
    """The fields of metadata as a structural schema."""
    return _fields("V1ObjectMeta")


@functools.cache
def _fields(model_name: str) -> Schema:
    if "JSONSchema" in model_name:
        # schemas hold schemas: what is below is taken as it comes
        return _FREE
    model = getattr(_models(), model_name)
    shapes = {}
    for field, name in model.openapi_types.items():
        key = model.attribute_map[field]
        shapes[key] = QUANTITY_FIELD if (model_name, key) in _SINGLE_QUANTITIES else _field_shape(name, key)
    found = _PREFIX.match(model_name)
    return {"type": "object", "properties": shapes, "title": model_name[found.end() :] if found else model_name}


_FREE: Schema = {"x-kubernetes-preserve-unknown-fields": True}
QUANTITY_FIELD: Schema = {"type": "string", "format": "quantity"}
"""A field that is a quantity: numbers are taken too."""


def _field_shape(type_name: str, key: str = "") -> Schema:
    listed = re.fullmatch(r"(?:List|list)\[(.+)\]", type_name)
    if listed:
        return {"type": "array", "items": _field_shape(listed[1])}
    mapped = re.fullmatch(r"(?:Dict|dict)\[str, ?(.+)\]", type_name)
    if mapped:
        if key in _QUANTITIES and mapped[1] == "str":
            return {"type": "object", "additionalProperties": QUANTITY_FIELD}
        return {"type": "object", "additionalProperties": _field_shape(mapped[1])}
    if type_name in _PLAIN:
        return _FREE if type_name == "object" else dict(_PLAIN[type_name])
    return _fields(type_name)
