"""Schemas of node classes: one description of every field serves the API server, as a CRD, and karpy's own readers.

A schema is an OpenAPI object as Kubernetes takes it. What goes beyond types and bounds is a `Rule`, kept under the key `RULES`:
once in CEL for the API server, once in Python for manifests that never meet one. Tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

__all__ = [
    "ACCEPTED",
    "RULES",
    "Rule",
    "Schema",
    "integer",
    "listing",
    "mapping",
    "open_object",
    "record",
    "rendered",
    "text",
    "truth",
    "with_rules",
]

Schema = Mapping[str, Any]

RULES: Final = "x-karpy-rules"
ACCEPTED: Final = "x-karpy-accepted"
"""What a pattern lets in, in words."""
_CEL_RULES: Final = "x-kubernetes-validations"


@attrs.frozen
class Rule:
    """Something that must hold of the value it is attached to.

    ``problem`` says in words what is wrong with a value, and nothing when the rule holds. It is asked about values whose types
    are right. ``field`` is the member of the value that the complaint is about, when it is one. ``cel`` is empty where an API
    server cannot check the rule, so that readers alone do.
    """

    cel: str
    accepted: str
    problem: Callable[[Any], str]
    field: str = ""


def text(description: str = "", **more: Any) -> dict[str, Any]:
    return _described({"type": "string", **more}, description)


def integer(description: str = "", **more: Any) -> dict[str, Any]:
    return _described({"type": "integer", **more}, description)


def truth(description: str = "") -> dict[str, Any]:
    return _described({"type": "boolean"}, description)


def mapping(description: str = "", **more: Any) -> dict[str, Any]:
    """Text by text."""
    return _described({"type": "object", "additionalProperties": {"type": "string"}, **more}, description)


def open_object(description: str = "") -> dict[str, Any]:
    """An object of any content."""
    return _described({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, description)


def listing(items: Schema, description: str = "", **more: Any) -> dict[str, Any]:
    return _described({"type": "array", "items": dict(items), **more}, description)


def record(
    properties: Mapping[str, Schema], description: str = "", required: Sequence[str] = (), **more: Any
) -> dict[str, Any]:
    """An object of these members and no others."""
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties), **more}
    if required:
        schema["required"] = list(required)
    return _described(schema, description)


def with_rules(schema: Schema, *rules: Rule) -> dict[str, Any]:
    return {**schema, RULES: (*schema.get(RULES, ()), *rules)}


def rendered(schema: Schema) -> dict[str, Any]:
    """``schema`` as a CRD has it: rules in CEL only. The result is the caller's own."""
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key == RULES:
            in_cel = [_rendered_rule(rule, schema) for rule in value if rule.cel]
            if in_cel:
                made[_CEL_RULES] = in_cel
        elif key == ACCEPTED:
            continue
        elif key == "properties":
            made[key] = {name: rendered(member) for name, member in value.items()}
        elif isinstance(value, Mapping):
            made[key] = rendered(value)
        else:
            made[key] = list(value) if isinstance(value, list | tuple) else value
    return made


def _rendered_rule(rule: Rule, schema: Schema) -> dict[str, str]:
    made = {"rule": rule.cel, "message": f"accepted: {rule.accepted}"}
    if rule.field in schema.get("properties", ()):
        made["fieldPath"] = f".{rule.field}"
    return made


def _described(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {**schema, "description": description} if description else schema
