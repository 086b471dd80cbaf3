"""Rules for the schemas in CustomResourceDefinitions: they must be structural, and their rules must be CEL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from karpy.sim.api.rules.validation import quoted
from karpy.sim.api.schemas import schema as schemas
from karpy.sim.api.schemas.cel import compile_problem
from karpy.sim.api.status import Cause

__all__ = ["validate_schema"]

Schema = Mapping[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES = ("atomic", "map", "set")
_FORBIDDEN = ("$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id")
_LOGICAL = ("allOf", "anyOf", "oneOf")
_STRUCTURE = ("type", "description", "title", "default", "additionalProperties", "nullable", "x-kubernetes-validations")
"""Keywords that may not stand below allOf, anyOf, oneOf and not."""


def validate_schema(schema: Schema, path: str) -> Iterator[Cause]:
    """What is wrong with the schema of one version of a definition."""
    kind = schema.get("type")
    if not kind:
        yield Cause.required(f"{path}.type", "must not be empty at the root")
    elif kind != "object":
        yield Cause.bad(f"{path}.type", quoted(kind), "must be object at the root")
    if schema.get("nullable"):
        yield Cause.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    yield from _node(schema, path)


def _node(schema: Schema, path: str) -> Iterator[Cause]:
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        yield Cause.unsupported(f"{path}.type", quoted(kind), _TYPES)
    for key in _FORBIDDEN:
        if schema.get(key):
            yield Cause.forbidden(f"{path}.{key}", f"{key} is not supported")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield Cause.forbidden(f"{path}.uniqueItems", why)
    pattern = schema.get("pattern")
    if pattern:
        yield from _pattern(pattern, f"{path}.pattern")
    yield from _extensions(schema, path)
    yield from _below(schema, path)
    yield from _logical(schema, path)
    yield from _default(schema, path)
    yield from _rules(schema, path)


def _pattern(pattern: str, path: str) -> Iterator[Cause]:
    try:
        re.compile(pattern)
    except re.error as error:
        why = f"must be a valid regular expression, but isn't: error parsing regexp: {error.msg}: `{pattern}`"
        yield Cause.bad(path, quoted(pattern), why)


def _untyped(schema: Schema) -> bool:
    """Whether a schema lacks the type that it needs."""
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    return not schema.get("type") and not free


def _below(schema: Schema, path: str) -> Iterator[Cause]:
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    if properties and additional not in (None, False):
        why = "additionalProperties and properties are mutual exclusive"
        yield Cause.forbidden(f"{path}.additionalProperties", why)
    if additional is False:
        yield Cause.forbidden(f"{path}.additionalProperties", "additionalProperties cannot be set to false")
    for name, inner in properties.items():
        where = f"{path}.properties[{name}]"
        if _untyped(inner):
            yield Cause.required(f"{where}.type", "must not be empty for specified object fields")
        yield from _node(inner, where)
    if isinstance(additional, Mapping):
        where = f"{path}.additionalProperties"
        if _untyped(additional):
            yield Cause.required(f"{where}.type", "must not be empty for specified object fields")
        yield from _node(additional, where)
    items = schema.get("items")
    if isinstance(items, Mapping):
        if _untyped(items):
            yield Cause.required(f"{path}.items.type", "must not be empty for specified array items")
        yield from _node(items, f"{path}.items")
    elif isinstance(items, list):
        yield Cause.forbidden(f"{path}.items", "items must be a schema object and not an array")
    elif schema.get("type") == "array":
        yield Cause.required(f"{path}.items", "must be specified")


def _logical(schema: Schema, path: str) -> Iterator[Cause]:
    inner = [(f"{path}.{key}[{i}]", each) for key in _LOGICAL for i, each in enumerate(schema.get(key) or ())]
    if isinstance(schema.get("not"), Mapping):
        inner.append((f"{path}.not", schema["not"]))
    for where, each in inner:
        for key in _STRUCTURE:
            free = key == "type" and schema.get("x-kubernetes-int-or-string")
            if key in each and not free:
                yield Cause.forbidden(f"{where}.{key}", "must be empty to be structural")


def _extensions(schema: Schema, path: str) -> Iterator[Cause]:
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string") and kind:
        yield Cause.bad(f"{path}.type", quoted(kind), "must be empty if x-kubernetes-int-or-string is true")
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield Cause.bad(f"{path}.x-kubernetes-preserve-unknown-fields", "false", "must be true or undefined")
    if schema.get("x-kubernetes-embedded-resource"):
        if kind != "object":
            why = "must be object if x-kubernetes-embedded-resource is true"
            yield Cause.bad(f"{path}.type", quoted(kind or ""), why)
        if not schema.get("properties") and not schema.get("x-kubernetes-preserve-unknown-fields"):
            why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
            yield Cause.required(f"{path}.properties", why)
    yield from _list_type(schema, path)


def _list_type(schema: Schema, path: str) -> Iterator[Cause]:
    listed, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or ()
    if listed is not None:
        if schema.get("type") != "array":
            yield Cause.bad(
                f"{path}.type", quoted(schema.get("type", "")), "must be array if x-kubernetes-list-type is specified"
            )
        elif listed not in _LIST_TYPES:
            yield Cause.unsupported(f"{path}.x-kubernetes-list-type", quoted(listed), _LIST_TYPES)
    where = f"{path}.x-kubernetes-list-map-keys"
    if listed == "map" and not keys:
        yield Cause.required(where, "must not be empty if x-kubernetes-list-type is map")
    if keys and listed != "map":
        yield Cause.forbidden(where, "must be empty if x-kubernetes-list-type is not map")
    items = schema.get("items")
    if listed != "map" or not isinstance(items, Mapping):
        return
    properties, required = items.get("properties") or {}, items.get("required") or ()
    for i, key in enumerate(keys):
        if key not in properties:
            why = "entries must all be names of item properties"
            yield Cause.bad(f"{where}[{i}]", quoted(key), why)
        elif key not in required and "default" not in properties[key]:
            why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            yield Cause.required(f"{path}.items.properties[{key}].default", why)


def _default(schema: Schema, path: str) -> Iterator[Cause]:
    """A default must be a value that the schema allows."""
    if schema.get("default") is None:
        return
    for cause in schemas.validate(schema["default"], schema, "default"):
        yield Cause(cause.reason, cause.message, f"{path}.{cause.field}")


def _rules(schema: Schema, path: str) -> Iterator[Cause]:
    for i, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        where, text = f"{path}.x-kubernetes-validations[{i}]", str(rule.get("rule") or "").strip()
        if not text:
            yield Cause.required(f"{where}.rule", "rule is not specified")
            continue
        problem = compile_problem(text)
        if problem:
            shown = "apiextensions.ValidationRule{" + f"Rule:{quoted(text)}" + "}"
            yield Cause.bad(f"{where}.rule", shown, f"compilation failed: {problem}")
        if "message" in rule and not str(rule["message"] or "").strip():
            yield Cause.bad(f"{where}.message", quoted(rule["message"]), "message must be non-empty if specified")
