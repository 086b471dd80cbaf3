"""JSON values as Go prints them in messages (``%v``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["base64_problem", "go_kind", "go_text"]

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


def base64_problem(text: str, *, urlsafe: bool = False) -> str:
    """What Go says of a text that is not in base64."""
    bad = re.search("[^A-Za-z0-9_-]" if urlsafe else "[^A-Za-z0-9+/]", text.rstrip("="))
    return f"illegal base64 data at input byte {bad.start() if bad else len(text) - len(text) % 4}"
