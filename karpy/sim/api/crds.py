"""CustomResourceDefinitions: their defaults and rules, and the resource that one of them defines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from karpy.sim.api.resources import Column, Resource, ResourceVersion, ScalePaths
from karpy.sim.api.status import Cause
from karpy.sim.api.validation import quoted

__all__ = ["AGE_COLUMN", "CLEANUP_FINALIZER", "default_crd", "established_status", "resource_of", "validate_crd"]

Object = Mapping[str, Any]

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
AGE_COLUMN = Column("Age", "date", ".metadata.creationTimestamp")


def default_crd(crd: Object) -> Object:
    """The definition with its names, scope and conversion spelt out."""
    spec = crd.get("spec") or {}
    names = dict(spec.get("names") or {})
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    filled = {**spec, "names": names, "conversion": spec.get("conversion") or {"strategy": "None"}}
    return crd if filled == spec else {**crd, "spec": filled}


def validate_crd(crd: Object) -> Iterator[Cause]:
    """What is wrong with a definition."""
    spec = crd.get("spec") or {}
    names = spec.get("names") or {}
    expected = f"{names.get('plural', '')}.{spec.get('group', '')}"
    name = crd["metadata"].get("name", "")
    if name != expected:
        yield Cause.bad("metadata.name", quoted(name), 'must be spec.names.plural+"."+spec.group')
    for field in ("plural", "kind"):
        if not names.get(field):
            yield Cause.required(f"spec.names.{field}")
    if not spec.get("group"):
        yield Cause.required("spec.group")
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        yield Cause.unsupported("spec.scope", quoted(spec.get("scope", "")), ("Cluster", "Namespaced"))
    versions = spec.get("versions") or []
    if sum(bool(version.get("storage")) for version in versions) != 1:
        shown = "[]" if not versions else "[" + ", ".join(str(version.get("name")) for version in versions) + "]"
        yield Cause.bad("spec.versions", shown, "must have exactly one version marked as storage version")
    for i, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield Cause.required(f"spec.versions[{i}].schema.openAPIV3Schema", "schemas are required")


def established_status(crd: Object, time: str) -> Object:
    """The status that tells that a definition is accepted and served."""
    spec = crd["spec"]
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    conditions = [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    return {
        "conditions": [
            {"type": type_, "status": "True", "lastTransitionTime": time, "reason": reason, "message": message}
            for type_, reason, message in conditions
        ],
        "acceptedNames": spec["names"],
        "storedVersions": stored,
    }


def resource_of(crd: Object) -> Resource:
    """The resource that a (valid, defaulted) definition defines."""
    spec = crd["spec"]
    names = spec["names"]
    versions = tuple(_version(version) for version in spec["versions"])
    storage = next(version for version in spec["versions"] if version.get("storage"))
    kept = next(version for version in versions if version.name == storage["name"])
    subresources = [name for name, on in (("scale", kept.scale is not None), ("status", kept.status)) if on]
    return Resource(
        group=spec["group"],
        plural=names["plural"],
        singular=names["singular"],
        kind=names["kind"],
        list_kind=names["listKind"],
        namespaced=spec["scope"] == "Namespaced",
        storage=storage["name"],
        versions=versions,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        counts_generations=True,
        custom=True,
        verbs=("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"),
        subresources=tuple(subresources),
    )


def _version(version: Object) -> ResourceVersion:
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    columns = tuple(_column(column) for column in version.get("additionalPrinterColumns") or ())
    warning = version.get("deprecationWarning") or ""
    return ResourceVersion(
        name=version["name"],
        schema=version["schema"]["openAPIV3Schema"],
        columns=columns or (AGE_COLUMN,),
        status="status" in subresources,
        scale=_scale(scale) if scale is not None else None,
        served=bool(version.get("served")),
        warning=warning if version.get("deprecated") else "",
    )


def _column(column: Object) -> Column:
    return Column(
        name=column["name"],
        type=column["type"],
        json_path=column["jsonPath"],
        priority=column.get("priority", 0),
        description=column.get("description", ""),
        format=column.get("format", ""),
    )


def _scale(scale: Object) -> ScalePaths:
    return ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))
