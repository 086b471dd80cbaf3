"""What a schema says about a raw object: what is wrong with it, what its defaults are, which of its fields nobody knows.

The answers are those of the API server, so that a manifest in a file is judged as one in a cluster is.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from karpy.errors import InvalidObject, shown
from karpy_aws.objects.schema import ACCEPTED, RULES, Schema

__all__ = ["Violation", "ViolationKind", "unknown_fields", "violations", "with_defaults"]


class ViolationKind(enum.StrEnum):
    """The API's word for what is wrong."""

    REQUIRED = "FieldValueRequired"
    TYPE = "FieldValueTypeInvalid"
    UNSUPPORTED = "FieldValueNotSupported"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    INVALID = "FieldValueInvalid"


@attrs.frozen
class Violation:
    """One thing wrong with an object."""

    kind: ViolationKind
    path: str
    problem: str
    accepted: str

    def error(self, object_name: str = "") -> InvalidObject:
        return InvalidObject(self.problem, path=self.path, object_name=object_name, accepted=self.accepted)

    @property
    def hides_rules(self) -> bool:
        """Rules are not worth asking about an object that has the wrong form."""
        return self.kind is not ViolationKind.INVALID


def violations(value: Any, schema: Schema, path: str) -> tuple[Violation, ...]:
    """Everything about ``value`` that ``schema`` forbids. Null counts as absent."""
    found = tuple(_structure(value, schema, path))
    if any(each.hides_rules for each in found):
        return found
    return (*found, *_rules(_without_nulls(value, schema), schema, path))


def _without_nulls(value: Any, schema: Schema) -> Any:
    """``value`` as far as ``schema`` knows it, without the members that are null."""
    if isinstance(value, Mapping) and ("properties" in schema or "additionalProperties" in schema):
        properties: Schema = schema.get("properties") or {}
        additional: Schema = schema.get("additionalProperties") or {}
        said = ((name, member) for name, member in value.items() if member is not None)
        return {name: _without_nulls(member, properties.get(name, additional)) for name, member in said}
    if isinstance(value, list) and "items" in schema:
        return [_without_nulls(item, schema["items"]) for item in value]
    return value


def with_defaults(value: Any, schema: Schema) -> Any:
    """``value`` with the defaults of ``schema`` filled in, and without nulls; what is not known stays as it is."""
    properties = schema.get("properties") or {}
    if isinstance(value, Mapping) and properties:
        filled = {name: member for name, member in value.items() if member is not None}
        for name, inner in properties.items():
            if name not in filled and "default" in inner:
                filled[name] = inner["default"]
        return {name: with_defaults(member, properties.get(name, {})) for name, member in filled.items()}
    if isinstance(value, list) and "items" in schema:
        return [with_defaults(item, schema["items"]) for item in value]
    return value


def unknown_fields(value: Any, schema: Schema, path: str) -> tuple[str, ...]:
    """The paths of fields that ``schema`` does not know; an API server drops them without a word."""
    return tuple(_unknown(value, schema, path))


def _unknown(value: Any, schema: Schema, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        if "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields"):
            return
        properties = schema.get("properties") or {}
        for name, member in value.items():
            if name in properties:
                yield from _unknown(member, properties[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, schema.get("items") or {}, f"{path}[{index}]")


# Types and bounds

_WORDS: Final = {
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def _structure(value: Any, schema: Schema, path: str) -> Iterator[Violation]:
    wanted = _wanted(value, schema)
    if wanted:
        yield Violation(ViolationKind.TYPE, path, f"found {shown(value)}", wanted)
        return
    if "enum" in schema and value not in schema["enum"]:
        accepted = ", ".join(map(str, schema["enum"]))
        yield Violation(ViolationKind.UNSUPPORTED, path, f"{shown(value)} is not known", accepted)
    if isinstance(value, str):
        yield from _string(value, schema, path)
    elif isinstance(value, Mapping):
        yield from _object(value, schema, path)
    elif isinstance(value, list):
        yield from _list(value, schema, path)
    elif not isinstance(value, bool):
        yield from _number(value, schema, path)


def _wanted(value: Any, schema: Schema) -> str:
    """What is accepted instead, when ``value`` is of the wrong type."""
    if schema.get("x-kubernetes-int-or-string"):
        return "" if isinstance(value, str) or _is_integer(value) else "text or an integer"
    declared = schema.get("type", "")
    fits = {
        "string": isinstance(value, str),
        "integer": _is_integer(value),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, Mapping),
    }.get(declared, True)
    return "" if fits else _WORDS[declared]


def _is_integer(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _string(value: str, schema: Schema, path: str) -> Iterator[Violation]:
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength", 0), schema.get("pattern")
    if longest is not None and len(value) > longest:
        problem = f"{shown(value)} has {len(value)} characters"
        yield Violation(ViolationKind.TOO_LONG, path, problem, f"at most {longest} characters")
    if len(value) < shortest:
        yield Violation(ViolationKind.INVALID, path, "it is empty", "text that is not empty")
    elif pattern is not None and not re.fullmatch(pattern, value):  # all patterns here are anchored at both ends
        accepted = schema.get(ACCEPTED, f"what matches {pattern}")
        yield Violation(ViolationKind.INVALID, path, f"{shown(value)} is malformed", accepted)


def _number(value: float, schema: Schema, path: str) -> Iterator[Violation]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if (low is not None and value < low) or (high is not None and value > high):
        accepted = f"an integer from {low} to {high}" if high is not None else f"an integer, {low} or more"
        yield Violation(ViolationKind.INVALID, path, f"{shown(value)} is out of range", accepted)


def _object(value: Mapping[str, Any], schema: Schema, path: str) -> Iterator[Violation]:
    strange = [name for name in value if not isinstance(name, str)]
    if strange:
        yield Violation(ViolationKind.TYPE, path, f"found the key {shown(strange[0])}", "text as keys")
        return
    said = {name: member for name, member in value.items() if member is not None}
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    for name in schema.get("required") or ():
        if name not in said:
            yield Violation(ViolationKind.REQUIRED, f"{path}.{name}", "it is not set", _value_of(properties[name]))
    most, least = schema.get("maxProperties"), schema.get("minProperties", 0)
    if most is not None and len(said) > most:
        yield Violation(ViolationKind.TOO_MANY, path, f"there are {len(said)} entries", f"at most {most}")
    if len([name for name in said if additional or name in properties]) < least:
        accepted = "at least one of " + ", ".join(properties) if properties else "at least one entry"
        yield Violation(ViolationKind.INVALID, path, "it is empty", accepted)
    for name, member in said.items():
        inner = properties.get(name, additional)
        if inner is not None:
            yield from _structure(member, inner, _below(path, name, properties))


def _below(path: str, name: str, properties: Schema) -> str:
    """Keys of maps stand in brackets: they may have dots themselves."""
    return f"{path}.{name}" if name in properties else f"{path}[{name}]"


def _value_of(schema: Schema) -> str:
    return ", ".join(map(str, schema["enum"])) if "enum" in schema else _WORDS.get(schema.get("type", ""), "a value")


def _list(value: list[Any], schema: Schema, path: str) -> Iterator[Violation]:
    most, least = schema.get("maxItems"), schema.get("minItems", 0)
    accepted = f"{least} to {most} entries"
    if most is not None and len(value) > most:
        yield Violation(ViolationKind.TOO_MANY, path, f"there are {len(value)} entries", accepted)
    if len(value) < least:
        yield Violation(ViolationKind.INVALID, path, f"there are {len(value)} entries", accepted)
    for index, item in enumerate(value):
        yield from _structure(item, schema.get("items") or {}, f"{path}[{index}]")


# Rules


def _rules(value: Any, schema: Schema, path: str) -> Iterator[Violation]:
    """Those of the innermost values first: they tell more than what follows from them further out."""
    if isinstance(value, Mapping):
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, member in value.items():
            inner = properties.get(name, additional)
            if inner is not None:
                yield from _rules(member, inner, _below(path, name, properties))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _rules(item, schema.get("items") or {}, f"{path}[{index}]")
    for rule in schema.get(RULES) or ():
        problem = rule.problem(value)
        if problem:
            where = f"{path}.{rule.field}" if rule.field else path
            yield Violation(ViolationKind.INVALID, where, problem, rule.accepted)
