"""Structural schemas of custom resources: pruning, defaulting and validation, with the real server's texts."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from karpy.sim.api.schemas.formats import fits_format
from karpy.sim.api.status import Cause

__all__ = ["ById", "apply_defaults", "prune", "validate"]

Schema = Mapping[str, Any]
_EMPTY: Schema = {}
_quoted = msgspec.json.Encoder().encode


def _keeps_unknown(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def prune(value: Any, schema: Schema, unknown: list[str] | None = None, path: str = "", *, top: bool = True) -> Any:
    """``value`` without the fields that ``schema`` does not know; their paths are appended to ``unknown``.

    What stays is shared with the input. ``apiVersion``, ``kind`` and ``metadata`` are known at the top.
    """
    if isinstance(value, Mapping):
        return _prune_object(value, schema, unknown, path, top=top)
    if isinstance(value, list):
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return value
        pruned = [prune(item, items, unknown, f"{path}[{i}]", top=False) for i, item in enumerate(value)]
        return value if all(a is b for a, b in zip(pruned, value, strict=True)) else pruned
    return value


def _prune_object(
    value: Mapping[str, Any], schema: Schema, unknown: list[str] | None, path: str, *, top: bool
) -> Mapping[str, Any]:
    properties = schema.get("properties") or _EMPTY
    additional = schema.get("additionalProperties")
    keeps = _keeps_unknown(schema) or additional is True
    embedded = schema.get("x-kubernetes-embedded-resource")
    kept: dict[str, Any] = {}
    changed = False
    for key, member in value.items():
        where = f"{path}.{key}" if path else key
        known = properties.get(key, additional if isinstance(additional, Mapping) else None)
        if (top or embedded) and key in ("apiVersion", "kind", "metadata"):
            kept[key] = member
        elif known is not None:
            kept[key] = prune(member, known, unknown, where, top=False)
            changed = changed or kept[key] is not member
        elif keeps:
            kept[key] = member
        else:
            changed = True
            if unknown is not None:
                unknown.append(where)
    return kept if changed else value


def apply_defaults(value: Any, schema: Schema) -> Any:
    """``value`` with the defaults of ``schema`` filled in; what needs none is shared with the input."""
    if not _has_defaults(ById(schema)):
        return value
    if isinstance(value, Mapping):
        return _default_object(value, schema)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        filled = [apply_defaults(item, schema["items"]) for item in value]
        return value if all(a is b for a, b in zip(filled, value, strict=True)) else filled
    return value


def _default_object(value: Mapping[str, Any], schema: Schema) -> Any:
    changes: dict[str, Any] = {}
    properties = schema.get("properties") or _EMPTY
    for key, inner in properties.items():
        if key not in value:
            if "default" in inner:
                changes[key] = apply_defaults(inner["default"], inner)
        elif value[key] is None and "default" in inner and not inner.get("nullable"):
            changes[key] = apply_defaults(inner["default"], inner)
        else:
            filled = apply_defaults(value[key], inner)
            if filled is not value[key]:
                changes[key] = filled
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        for key, member in value.items():
            if key not in properties:
                filled = apply_defaults(member, additional)
                if filled is not member:
                    changes[key] = filled
    return {**value, **changes} if changes else value


class ById:
    """A schema as a cache key: schemas are compared by identity."""

    __slots__ = ("schema",)

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ById) and self.schema is other.schema


@functools.lru_cache(maxsize=16_384)
def _has_defaults(same: ById) -> bool:
    schema = same.schema
    inner = list((schema.get("properties") or _EMPTY).values())
    inner += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), Mapping)]
    return any("default" in each or _has_defaults(ById(each)) for each in inner)


def validate(value: Any, schema: Schema, path: str = "") -> Iterator[Cause]:
    """Everything about ``value`` that ``schema`` forbids, in the order of the schema's keywords."""
    if value is None and schema.get("nullable"):
        return
    wrong = _wrong_type(value, schema)
    if wrong:
        declared = schema.get("type", "")
        text = f'{path} in body must be of type {declared}: "{wrong}"'
        yield Cause("FieldValueTypeInvalid", f'Invalid value: "{wrong}": {text}', path)
        return
    if "enum" in schema and value not in schema["enum"]:
        shown = _shown(value)
        yield Cause.unsupported(path, shown, [str(choice) for choice in schema["enum"]])
    if isinstance(value, str):
        yield from _validate_string(value, schema, path)
    elif isinstance(value, bool):
        pass
    elif isinstance(value, int | float):
        yield from _validate_number(value, schema, path)
    elif isinstance(value, Mapping):
        yield from _validate_object(value, schema, path)
    elif isinstance(value, list):
        yield from _validate_list(value, schema, path)
    if "allOf" in schema or "oneOf" in schema or "anyOf" in schema or "not" in schema:
        yield from _validate_alternatives(value, schema, path)


def _wrong_type(value: Any, schema: Schema) -> str:
    """The name of the type that ``value`` has and should not have; empty when it is right."""
    found = _type_name(value)
    if schema.get("x-kubernetes-int-or-string"):
        return "" if found in ("integer", "string") else found
    declared = schema.get("type")
    if not declared or declared == found or (declared == "number" and found == "integer"):
        return ""
    if declared == "integer" and isinstance(value, float) and value.is_integer():
        return ""
    return found


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


@functools.lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _validate_string(value: str, schema: Schema, path: str) -> Iterator[Cause]:
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    if longest is not None and len(value) > longest:
        yield Cause("FieldValueTooLong", f"Too long: may not be longer than {longest}", path)
    if shortest is not None and len(value) < shortest:
        yield Cause.bad(path, _shown(value), f"{path} in body should be at least {shortest} chars long")
    form = schema.get("format")
    if form is not None and not fits_format(value, form):
        text = f"{path} in body must be of type {form}: {_shown(value)}"
        yield Cause("FieldValueTypeInvalid", f"Invalid value: {_shown(value)}: {text}", path)
    pattern = schema.get("pattern")
    if pattern is not None and not _pattern(pattern).search(value):
        yield Cause.bad(path, _shown(value), f"{path} in body should match '{pattern}'")


def _shown(value: Any) -> str:
    return _quoted(value).decode()


def _validate_number(value: float, schema: Schema, path: str) -> Iterator[Cause]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None and (value > high or (value == high and schema.get("exclusiveMaximum"))):
        than = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield Cause.bad(path, str(value), f"{path} in body should be {than} {high}")
    if low is not None and (value < low or (value == low and schema.get("exclusiveMinimum"))):
        than = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield Cause.bad(path, str(value), f"{path} in body should be {than} {low}")
    step = schema.get("multipleOf")
    if step and not math.isclose(value / step, round(value / step), rel_tol=1e-12, abs_tol=1e-12):
        yield Cause.bad(path, str(value), f"{path} in body should be a multiple of {step}")


def _validate_object(value: Mapping[str, Any], schema: Schema, path: str) -> Iterator[Cause]:
    for name in schema.get("required") or ():
        if name not in value:
            yield Cause.required(f"{path}.{name}" if path else name)
    most = schema.get("maxProperties")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path)
    least = schema.get("minProperties")
    if least is not None and len(value) < least:
        yield Cause.bad(path, str(len(value)), f"{path} in body should have at least {least} properties")
    if schema.get("x-kubernetes-embedded-resource"):
        for name in ("apiVersion", "kind"):
            if not value.get(name):
                yield Cause.required(f"{path}.{name}", "must not be empty")
    properties = schema.get("properties") or _EMPTY
    additional = schema.get("additionalProperties")
    for name, member in value.items():
        inner = properties.get(name)
        if inner is None and isinstance(additional, Mapping):
            inner = additional
        if inner is not None:
            yield from validate(member, inner, f"{path}.{name}" if path else name)


def _validate_list(value: list[Any], schema: Schema, path: str) -> Iterator[Cause]:
    most, least = schema.get("maxItems"), schema.get("minItems")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path)
    if least is not None and len(value) < least:
        yield Cause.bad(path, str(len(value)), f"{path} in body should have at least {least} items")
    yield from _validate_unique(value, schema, path)
    items = schema.get("items")
    if isinstance(items, Mapping):
        for i, item in enumerate(value):
            yield from validate(item, items, f"{path}[{i}]")


def _validate_unique(value: list[Any], schema: Schema, path: str) -> Iterator[Cause]:
    keys = schema.get("x-kubernetes-list-map-keys")
    if schema.get("x-kubernetes-list-type") == "set":
        seen: list[Any] = []
        for i, item in enumerate(value):
            if item in seen:
                yield Cause.duplicate(f"{path}[{i}]", _shown(item))
            seen.append(item)
    elif keys:
        known: set[tuple[Any, ...]] = set()
        for i, item in enumerate(value):
            name = tuple(item.get(key) for key in keys) if isinstance(item, Mapping) else ()
            if name in known and None not in name:
                shown = ", ".join(f"{_shown(k)}:{_shown(v)}" for k, v in zip(keys, name, strict=True))
                yield Cause.duplicate(f"{path}[{i}]", f"map[string]interface {{}}{{{shown}}}")
            known.add(name)


def _validate_alternatives(value: Any, schema: Schema, path: str) -> Iterator[Cause]:
    if schema.get("x-kubernetes-int-or-string"):
        return
    every, one, some, none = (schema.get(key) for key in ("allOf", "oneOf", "anyOf", "not"))
    for inner in every or ():
        yield from validate(value, inner, path)
    if one and sum(_holds(value, inner, path) for inner in one) != 1:
        yield Cause.bad(path, '""', f'"{path}" must validate one and only one schema (oneOf)')
    if some and not any(_holds(value, inner, path) for inner in some):
        yield Cause.bad(path, '""', f'"{path}" must validate at least one schema (anyOf)')
    if none and _holds(value, none, path):
        yield Cause.bad(path, '""', f'"{path}" must not validate the schema (not)')


def _holds(value: Any, schema: Schema, path: str) -> bool:
    return next(validate(value, schema, path), None) is None
