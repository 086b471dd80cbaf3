"""JSON values as Go prints them in messages (``%v``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["go_kind", "go_text"]

_KINDS = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def go_text(value: Any) -> str:
    """A value as ``%v`` prints it.

    >>> go_text({"b": [1, "x"], "a": None})
    'map[a:<nil> b:[1 x]]'
    """
    if isinstance(value, Mapping):
        return "map[" + " ".join(f"{key}:{go_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list | tuple):
        return "[" + " ".join(go_text(item) for item in value) + "]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def go_kind(value: Any) -> str:
    """What Go's JSON decoder calls a value of this type."""
    return _KINDS.get(type(value), "null")
