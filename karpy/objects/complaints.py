"""What to say of raw JSON that does not have the form of its kind: where, what stands there, and what may.

Nothing here runs for objects that can be read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect

from karpy.errors import InvalidObject, plain, shown

__all__ = ["complaint", "depth_complaint", "describe", "text_complaint", "without_nulls"]

_DEEP = 200
_NAMED = 4  # so many steps of the path to something that is nested too deeply are told
_AT = re.compile(r"^(.*?)(?: - at `(?:(key)` in `)?\$?(.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_EXPECTED = re.compile(r"^Expected `([^`]+)`(?:, got `([^`]+)`)?(.*)$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `([^`]+)`$")
_FIELD = re.compile(r"[A-Za-z0-9_-]{1,63}")
_WORDS: Final = {
    "str": "text",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
"""Null is accepted wherever a field may be left out, which goes without saying."""
_MANIFEST = "an object with the fields of its kind"


def complaint(error: msgspec.ValidationError, raw: Any) -> InvalidObject:
    """What msgspec says about ``raw``, as people can use it."""
    parts = _AT.match(str(error))
    problem, of_key, tail = (parts[1], parts[2], parts[3] or "") if parts else (str(error), None, "")
    path, value = _follow(raw, tail, _got(problem))
    name = describe(raw)
    if isinstance(error.__cause__, InvalidObject):
        return error.__cause__.at(path=path, object_name=name)
    missing = _MISSING.match(problem)
    if missing is not None:
        path = f"{path}.{missing[1]}" if path else missing[1]
        return InvalidObject("found nothing", path=path, object_name=name, accepted="a value: it is required")
    if of_key is not None:
        return InvalidObject("found a key that is not text", path=path, object_name=name, accepted="text as keys")
    return InvalidObject(f"found {shown(value)}", path=path, object_name=name, accepted=_accepted(problem))


def text_complaint(raw: Any) -> InvalidObject:
    """What to say when some text in ``raw`` is no Unicode text."""
    path, text = next(_broken_texts(raw, ""), ("", ""))
    return InvalidObject(f"found {shown(text)}", path=path, object_name=describe(raw), accepted="Unicode text")


def depth_complaint(raw: Any) -> InvalidObject:
    """What to say when ``raw`` is nested deeper than anything that is meant."""
    path, stack = "", [("", 0, raw)]
    while stack:
        path, depth, value = stack.pop()
        if depth > _DEEP:
            break
        stack += [(_below(path, step) if depth < _NAMED else path, depth + 1, inner) for step, inner in _entries(value)]
    return InvalidObject(
        "found a value that is nested too deeply",
        path=path,
        object_name=describe(raw),
        accepted=f"at most {_DEEP} levels",
    )


def describe(raw: Any) -> str:
    """``Kind/namespace/name`` of a raw object, as far as it says."""
    if not isinstance(raw, Mapping):
        return ""
    metadata = raw.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    kind, namespace, name = (
        raw.get("kind") or "object",
        named.get("namespace"),
        named.get("name") or named.get("generateName"),
    )
    return "/".join(plain(part) for part in (kind, namespace, name) if isinstance(part, str) and part)


def without_nulls(raw: Any, type_: Any) -> Any:
    """``raw`` without the fields that are null: the API server reads them as absent.

    Only fields: an entry of a map, or an item of a list, that is null is a mistake.
    """
    return _pruned(raw, _form(type_))


@functools.cache
def _form(type_: Any) -> inspect.Type:
    return inspect.type_info(type_)


def _pruned(raw: Any, form: inspect.Type) -> Any:
    if isinstance(form, inspect.UnionType):
        return functools.reduce(_pruned, form.types, raw)  # at most one of the forms is that of the value
    if isinstance(form, inspect.StructType) and isinstance(raw, Mapping):
        forms = {field.encode_name: field.type for field in form.fields}
        kept = {key: value for key, value in raw.items() if value is not None}
        return {key: _pruned(value, forms[key]) if key in forms else value for key, value in kept.items()}
    if isinstance(form, inspect.VarTupleType) and isinstance(raw, list | tuple):
        return [_pruned(item, form.item_type) for item in raw]
    if isinstance(form, inspect.DictType) and isinstance(raw, Mapping):
        return {key: _pruned(value, form.value_type) for key, value in raw.items()}
    return raw


def _got(problem: str) -> str:
    parts = _EXPECTED.match(problem)
    return (parts[2] or "") if parts else ""


def _accepted(problem: str) -> str:
    parts = _EXPECTED.match(problem)
    if parts is None:
        return _MANIFEST
    words = (_WORDS.get(word, word) for word in parts[1].split(" | ") if word != "null")
    return " or ".join(words) + parts[3]


def _follow(raw: Any, tail: str, got: str) -> tuple[str, Any]:
    """The path as people write it, and what stands there. msgspec does not tell the key of a map's entry: it is the first
    whose value is of the type that was found."""
    path, value = "", raw
    for step in _STEP.finditer(tail):
        field, index = step[1], step[2]
        if field is not None:
            path += f".{field}" if path else field
            value = value.get(field) if isinstance(value, Mapping) else None
        elif index == "..." and isinstance(value, Mapping):
            key = next((key for key, held in value.items() if _type_name(held) == got), None)
            path += "[…]" if key is None else f"[{shown(key)}]"
            value = value.get(key)
        else:
            path += f"[{index}]"
            value = value[int(index)] if isinstance(value, list | tuple) and index.isdigit() else None
    return path, value


def _type_name(value: Any) -> str:
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list | tuple):
        return "array"
    return "null" if value is None else type(value).__name__


def _broken_texts(raw: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(raw, str):
        if raw.encode(errors="replace").decode() != raw:
            yield path, raw
        return
    for step, inner in _entries(raw):
        if isinstance(step, str):
            yield from _broken_texts(step, path)
        yield from _broken_texts(inner, _below(path, step))


def _entries(raw: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(raw, Mapping):
        return raw.items()
    return enumerate(raw) if isinstance(raw, list | tuple) else ()


def _below(path: str, step: Any) -> str:
    if isinstance(step, int):
        return f"{path}[{step}]"
    name = step if _FIELD.fullmatch(step) else f"[{shown(step)}]"
    return f"{path}.{name}" if path and name == step else f"{path}{name}"
