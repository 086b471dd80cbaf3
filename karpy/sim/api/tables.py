"""Tables: the representation of objects that kubectl prints, with the columns of the real server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from karpy.sim.api.cells import CELLS, age
from karpy.sim.api.jsonpath import find
from karpy.sim.api.resources import Column, Resource, ResourceVersion

__all__ = ["partial_metadata", "table", "table_columns", "table_row"]

Object = dict[str, Any]

_COLUMNS: Mapping[tuple[str, str], str] = {
    ("", "pods"): "Name Ready Status Restarts Age | IP Node Nominated_Node Readiness_Gates",
    ("", "nodes"): "Name Status Roles Age Version | Internal-IP External-IP OS-Image Kernel-Version Container-Runtime",
    ("", "namespaces"): "Name Status Age",
    ("", "services"): "Name Type Cluster-IP External-IP Port(s) Age | Selector",
    ("", "configmaps"): "Name Data Age",
    ("", "secrets"): "Name Type Data# Age",
    ("", "serviceaccounts"): "Name Secrets Age",
    ("", "persistentvolumes"): "Name Capacity Access_Modes Reclaim_Policy Status Claim StorageClass "
    "VolumeAttributesClass Reason Age | VolumeMode",
    ("", "persistentvolumeclaims"): "Name Status Volume Capacity Access_Modes StorageClass VolumeAttributesClass Age | "
    "VolumeMode",
    ("apps", "deployments"): "Name Ready Up-to-date Available Age | Containers Images Selector",
    ("apps", "replicasets"): "Name Desired# Current# Ready# Age | Containers Images Selector",
    ("apps", "statefulsets"): "Name Ready Age | Containers Images",
    ("apps", "daemonsets"): "Name Desired# Current# Ready# Up-to-date# Available# Node_Selector Age | "
    "Containers Images Selector",
    ("batch", "jobs"): "Name Status Completions Duration Age | Containers Images Selector",
    ("batch", "cronjobs"): "Name Schedule Timezone Suspend Active# Last_Schedule Age | Containers Images Selector",
    ("policy", "poddisruptionbudgets"): "Name Min_Available Max_Unavailable Allowed_Disruptions# Age",
    ("scheduling.k8s.io", "priorityclasses"): "Name Value# Global-Default? Age PreemptionPolicy",
    ("storage.k8s.io", "storageclasses"): "Name Provisioner ReclaimPolicy VolumeBindingMode AllowVolumeExpansion Age",
    ("storage.k8s.io", "csinodes"): "Name Drivers# Age",
    ("coordination.k8s.io", "leases"): "Name Holder Age",
    ("apiextensions.k8s.io", "customresourcedefinitions"): "Name Created_At",
    ("autoscaling", "horizontalpodautoscalers"): "Name Reference Targets MinPods MaxPods Replicas# Age",
}
"""Column names; ``_`` stands for a blank, ``#`` marks integers, ``?`` booleans, and what follows ``|`` is for wide output."""

_EVENT_COLUMNS = (
    ("Last Seen", 0),
    ("Type", 0),
    ("Reason", 0),
    ("Object", 0),
    ("Subobject", 1),
    ("Source", 1),
    ("Message", 0),
    ("First Seen", 1),
    ("Count", 1),
    ("Name", 1),
)


def table_columns(resource: Resource, version: ResourceVersion) -> list[Object]:
    """The column definitions of a resource."""
    if resource.custom:
        return [_definition("Name", 0), *(_custom(column) for column in version.columns)]
    if resource.key == ("", "events"):
        return [_definition(name, priority) for name, priority in _EVENT_COLUMNS]
    shown, _, wide = _COLUMNS.get(resource.key, "Name Age").partition("|")
    columns = [_marked(word, 0) for word in shown.split()]
    return columns + [_marked(word, 1) for word in wide.split()]


def _marked(word: str, priority: int) -> Object:
    kind = {"#": "integer", "?": "boolean"}.get(word[-1], "string")
    return _definition(word.rstrip("#?").replace("_", " "), priority, kind)


def _definition(name: str, priority: int, kind: str = "string") -> Object:
    described = {"Name": "The name of the object.", "Age": "How long ago the object was created."}
    return {
        "name": name,
        "type": kind,
        "format": "name" if name == "Name" else "",
        "description": described.get(name, f"{name} of the object."),
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
    return [obj["metadata"]["name"], age(obj["metadata"].get("creationTimestamp"), now)]


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
    """The object without all but its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


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
