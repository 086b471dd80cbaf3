"""Tables: the representation of objects that kubectl prints, with the columns of the real server."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from karpy.sim.api.printing.cellparts import age
from karpy.sim.api.printing.cells import CELLS
from karpy.sim.api.printing.jsonpath import find
from karpy.sim.api.printing.workcells import scale as scale_cells
from karpy.sim.api.resources import Column, Resource, ResourceVersion

__all__ = ["partial_metadata", "scale_table", "table", "table_columns", "table_row"]

Object = dict[str, Any]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_PLAIN = (("Name", "string", 0), ("Created At", "date", 0))
"""The columns of kinds that have none of their own."""


@functools.cache
def _columns() -> Mapping[str, Any]:
    """Name, type, priority and description of each kind's columns; "" holds the descriptions that many share."""
    text = files("karpy.sim.api.printing").joinpath("columns.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


def table_columns(resource: Resource, version: ResourceVersion) -> list[Object]:
    """The column definitions of a resource."""
    if resource.custom:
        return [_definition("Name"), *(_custom(column) for column in version.columns)]
    return [_definition(*column) for column in _columns().get(resource.qualified, _PLAIN)]


def _definition(name: str, kind: str = "string", priority: int = 0, described: str = "") -> Object:
    shared = _columns()[""]
    return {
        "name": name,
        "type": kind,
        "format": "name" if name in ("Name", "Attacher") else "",
        "description": described or shared.get("Age" if name == "Created At" else name, ""),
        "priority": priority,
    }


def _custom(column: Column) -> Object:
    described = column.description or f"Custom resource definition column (in JSONPath format): {column.json_path}"
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": described,
        "priority": column.priority,
    }


def _cells(obj: Mapping[str, Any], resource: Resource, version: ResourceVersion, now: float) -> list[Any]:
    if resource.custom:
        return [obj["metadata"]["name"], *(_custom_cell(column, obj, now) for column in version.columns)]
    cells = CELLS.get(resource.key)
    if cells is not None:
        return cells(obj, now)
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp", "")]


def _custom_cell(column: Column, obj: Mapping[str, Any], now: float) -> Any:
    found = find(column.json_path, obj)
    if not found:
        return None
    value = found[0]
    if column.type == "date":
        return age(value, now)
    if column.type == "integer":
        return int(value) if isinstance(value, int | float) else None
    if column.type in ("number", "boolean"):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def partial_metadata(obj: Mapping[str, Any]) -> Object:
    """The object without all but its metadata, and of that without what the real server knows as a field inside."""
    meta = obj["metadata"]
    if obj.get("kind") == "DaemonSet":
        kept = {key: value for key, value in (meta.get("annotations") or {}).items() if key != _TEMPLATE_GENERATION}
        meta = {key: kept if key == "annotations" else value for key, value in meta.items()}
        if not kept:
            meta.pop("annotations", None)
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta}


def table_row(
    obj: Mapping[str, Any], resource: Resource, version: ResourceVersion, now: float, include: str = "Metadata"
) -> Object:
    """One row; ``include`` (Metadata, Object or None) says what of the object goes with it."""
    shown: Any = None
    if include == "Object":
        shown = obj
    elif include != "None":
        shown = partial_metadata(obj)
    return {"cells": _cells(obj, resource, version, now), "object": shown}


def table(columns: Sequence[Object] | None, rows: Iterable[Object], metadata: Mapping[str, Any]) -> Object:
    """A ``Table``; ``columns`` None is what the later events of a watch carry."""
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": list(rows),
    }


def scale_table(scale: Mapping[str, Any], now: float) -> Object:
    """The ``Scale`` of a built-in workload as a table."""
    columns = [_definition(*column) for column in _columns()["scales.autoscaling"]]
    row = {"cells": scale_cells(dict(scale), now), "object": partial_metadata(scale)}
    return table(columns, [row], {"resourceVersion": scale["metadata"]["resourceVersion"]})
