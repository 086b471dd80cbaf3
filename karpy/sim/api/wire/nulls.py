"""Nulls in what clients send, as Go reads them: a field without a value is absent, an element of a list or map is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["without_nulls"]

Schema = Mapping[str, Any]


def without_nulls(value: Any, schema: Schema) -> Any:
    """``value`` without the nulls that its schema gives a meaning to; the same object where there are none.

    Times stay: an API server writes those that are not set as nulls itself.
    """
    if isinstance(value, Mapping):
        return _object(value, schema)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        inner = schema["items"]
        cleaned = [_empty(inner) if item is None else without_nulls(item, inner) for item in value]
        return value if all(a is b for a, b in zip(cleaned, value, strict=True)) else cleaned
    return value


def _object(value: Mapping[str, Any], schema: Schema) -> Mapping[str, Any]:
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    changed: dict[str, Any] | None = None
    for key, member in value.items():
        inner = properties.get(key)
        if member is None:
            if inner is not None and inner.get("format") != "date-time":
                changed = dict(value) if changed is None else changed
                del changed[key]
            elif inner is None and isinstance(additional, Mapping):
                changed = dict(value) if changed is None else changed
                changed[key] = _empty(additional)
            continue
        inner = inner if inner is not None else additional
        if isinstance(inner, Mapping) and isinstance(member, Mapping | list):
            cleaned = without_nulls(member, inner)
            if cleaned is not member:
                changed = dict(value) if changed is None else changed
                changed[key] = cleaned
    return value if changed is None else changed


def _empty(schema: Schema) -> Any:
    """What Go makes of a null where it must have a value."""
    if schema.get("format") == "quantity":
        return "0"
    return {"string": "", "integer": 0, "number": 0, "boolean": False, "array": []}.get(schema.get("type", ""), {})
