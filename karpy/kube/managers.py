"""Who wrote a part of an object: what its ``managedFields`` say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.kube.client import RawObject

__all__ = ["finalizer_manager", "spec_manager"]


def finalizer_manager(obj: RawObject, finalizer: str) -> str:
    """Who put this finalizer there; empty where nobody knows."""
    return _manager(obj, "f:metadata", "f:finalizers", f'v:"{finalizer}"')


def spec_manager(obj: RawObject) -> str:
    """Who wrote the spec; empty where nobody knows."""
    return _manager(obj, "f:spec")


def _manager(obj: RawObject, *path: str) -> str:
    """The last who wrote the field at this path."""
    entries = obj["metadata"].get("managedFields") or ()
    writers = [entry for entry in entries if not entry.get("subresource") and _has(entry.get("fieldsV1") or {}, path)]
    newest = max(writers, key=lambda entry: str(entry.get("time", "")), default=None)
    return str(newest.get("manager", "")) if newest is not None else ""


def _has(fields: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    for step in path:
        if step not in fields:
            return False
        fields = fields[step]
    return True
