"""What the schema of a custom resource forbids in a write: its structure first, then its rules in CEL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.sim.api.objects import unchanged
from karpy.sim.api.schemas import schema
from karpy.sim.api.schemas.cel import has_rules, validate_rules
from karpy.sim.api.status import Cause

__all__ = ["schema_causes"]

Body = Mapping[str, Any]

_BLOCKING = frozenset(
    {
        "FieldValueRequired",
        "FieldValueTypeInvalid",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueNotSupported",
    }
)


def schema_causes(new: Body, old: Body | None, version_schema: Mapping[str, Any]) -> list[Cause]:
    """What the schema forbids in what changed: an object is not refused for what an older schema had let in."""
    causes = _structural(new, old, version_schema)
    if causes and old is not None:
        # what was let in by another version, or by an older schema, may stay as it is
        known = set(_structural(old, None, version_schema))
        causes = [cause for cause in causes if cause not in known]
    if any(cause.reason in _BLOCKING for cause in causes) and has_rules(version_schema):
        text = (
            'Invalid value: "null": some validation rules were not checked because the object was invalid; '
            "correct the existing errors to complete validation"
        )
        return [*causes, Cause("FieldValueInvalid", text, "<nil>")]
    return causes + validate_rules(new, old, version_schema)


def _structural(new: Body, old: Body | None, version_schema: Mapping[str, Any]) -> list[Cause]:
    causes = [Cause.required(name) for name in version_schema.get("required") or () if name not in new]
    for name, inner in (version_schema.get("properties") or {}).items():
        if name in new and name != "metadata" and (old is None or not unchanged(name, new, old)):
            causes += schema.validate(new[name], inner, name)
    return causes
