"""Objects in other versions than the one they are stored in, and objects that are older than the definition of their kind.

Conversion strategy None changes ``apiVersion`` and nothing else. What a schema has since forgotten is pruned, and what it has since
given a default is filled in, whenever an object is read: nothing is rewritten until the next write.
"""

from __future__ import annotations

from typing import Any

from karpy.sim.api.records import Record
from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.schemas.schema import apply_defaults, prune

__all__ = ["as_stored", "as_version"]


def as_version(record: Record, resource: Resource, version: ResourceVersion) -> dict[str, Any]:
    """The object of ``record`` as ``version`` shows it; the stored object itself where they are the same."""
    if version.name == resource.storage and record.revision > resource.defined_at:
        return record.object
    return record.view(version, lambda obj: _converted(obj, resource, version))


def as_stored(record: Record, resource: Resource) -> dict[str, Any]:
    """The object of ``record`` as it would be stored today."""
    if record.revision > resource.defined_at:
        return record.object
    return as_version(record, resource, resource.stored)


def _converted(obj: dict[str, Any], resource: Resource, version: ResourceVersion) -> dict[str, Any]:
    shown = {**obj, "apiVersion": resource.api_version(version.name)}
    if version.schema is None:
        return shown
    filled: dict[str, Any] = apply_defaults(prune(shown, version.schema), version.schema)
    return filled
