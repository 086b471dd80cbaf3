"""CustomResourceDefinitions: their defaults and rules, and the resource that one of them defines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from karpy.sim.api.resources import Column, Resource, ResourceVersion, ScalePaths
from karpy.sim.api.rules.validation import quoted, validate_name
from karpy.sim.api.schemas.structural import validate_schema
from karpy.sim.api.status import Cause

__all__ = [
    "AGE_COLUMN",
    "CLEANUP_FINALIZER",
    "default_crd",
    "established_status",
    "is_established",
    "resource_of",
    "validate_crd",
]

Object = Mapping[str, Any]

_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = re.compile(r"(^|\.)(k8s|kubernetes)\.io$")
_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
_STORED = "it must remain in spec.versions until it is removed from status.storedVersions"
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


def validate_crd(crd: Object, old: Object | None = None) -> Iterator[Cause]:
    """What is wrong with a definition, or with a change of one."""
    spec = crd.get("spec") or {}
    names = spec.get("names") or {}
    expected = f"{names.get('plural', '')}.{spec.get('group', '')}"
    name = crd["metadata"].get("name", "")
    if name != expected:
        yield Cause.bad("metadata.name", quoted(name), 'must be spec.names.plural+"."+spec.group')
    yield from _group(spec.get("group", ""), crd["metadata"])
    yield from _scope(spec.get("scope", ""))
    yield from _versions(spec.get("versions") or [])
    yield from _names(names)
    if old is not None:
        yield from _changes(crd, old)


def _group(group: str, meta: Object) -> Iterator[Cause]:
    if not group:
        yield Cause.required("spec.group")
        return
    wrong = validate_name(group, "subdomain")
    if wrong:
        yield Cause.bad("spec.group", quoted(group), wrong)
    elif "." not in group:
        yield Cause.bad("spec.group", quoted(group), "should be a domain with at least one dot")
    if _PROTECTED.search(group) and not (meta.get("annotations") or {}).get(_APPROVAL):
        why = (
            f'protected groups must have approval annotation "{_APPROVAL}", see '
            "https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield Cause.required(f"metadata.annotations[{_APPROVAL}]", why)


def _scope(scope: str) -> Iterator[Cause]:
    if not scope:
        yield Cause.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield Cause.unsupported("spec.scope", quoted(scope), ("Cluster", "Namespaced"))


def _versions(versions: Sequence[Object]) -> Iterator[Cause]:
    names = [version.get("name", "") for version in versions]
    shown = f"[{', '.join(names)}]"
    for i, name in enumerate(names):
        wrong = validate_name(name, "label1035")
        if wrong:
            yield Cause.bad(f"spec.versions[{i}].name", quoted(name), wrong)
    if len(set(names)) != len(names):
        yield Cause.bad("spec.versions", shown, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield Cause.bad("spec.versions", shown, "must have exactly one version marked as storage version")
    found = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]
    for i, schema in enumerate(found):
        if not schema:
            yield Cause.required(f"spec.versions[{i}].schema.openAPIV3Schema", "schemas are required")
    # a schema that all versions share is one schema to the real server, and is complained about once
    shared = all(schema == found[0] for schema in found)
    for i, schema in enumerate(found[:1] if shared else found):
        if schema:
            where = "spec.validation" if shared else f"spec.versions[{i}].schema"
            yield from validate_schema(schema, f"{where}.openAPIV3Schema")
    for i, version in enumerate(versions):
        yield from _subresources(version.get("subresources") or {}, f"spec.versions[{i}].subresources")
        yield from _columns(version.get("additionalPrinterColumns") or (), f"spec.versions[{i}]")


def _subresources(subresources: Object, path: str) -> Iterator[Cause]:
    scale = subresources.get("scale")
    if scale is None:
        return
    for key, head in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        found = scale.get(key, "")
        if not found:
            yield Cause.required(f"{path}.scale.{key}")
        elif not found.startswith(head):
            yield Cause.bad(f"{path}.scale.{key}", quoted(found), f"should be a json path under {head[:-1]}")


def _columns(columns: Sequence[Object], path: str) -> Iterator[Cause]:
    for i, column in enumerate(columns):
        where = f"{path}.additionalPrinterColumns[{i}]"
        if not column.get("name"):
            yield Cause.required(f"{where}.name")
        kind = column.get("type", "")
        if not kind:
            yield Cause.required(f"{where}.type", f"must be one of {','.join(_COLUMN_TYPES)}")
        elif kind not in _COLUMN_TYPES:
            yield Cause.bad(f"{where}.type", quoted(kind), f"must be one of {','.join(_COLUMN_TYPES)}")
        if not column.get("jsonPath"):
            yield Cause.required(f"{where}.JSONPath")


def _names(names: Object) -> Iterator[Cause]:
    mixed = "may have mixed case, but should otherwise match: "
    for field, note in (("plural", ""), ("singular", ""), ("kind", mixed), ("listKind", mixed)):
        name = names.get(field) or ""
        wrong = validate_name(name.lower() if note else name, "label1035")
        if not name:
            if field != "listKind":
                yield Cause.required(f"spec.names.{field}")
        elif wrong:
            yield Cause.bad(f"spec.names.{field}", quoted(name), f"{note}{wrong}")
    for i, name in enumerate(names.get("shortNames") or ()):
        wrong = validate_name(name, "label1035")
        if wrong:
            yield Cause.bad(f"spec.names.shortNames[{i}]", quoted(name), wrong)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield Cause.bad("spec.names.listKind", quoted(names["listKind"]), "kind and listKind may not be the same")


def _changes(crd: Object, old: Object) -> Iterator[Cause]:
    """What may not change once a definition is served."""
    before, after = old["spec"], crd["spec"]
    served = [each for each in (old.get("status") or {}).get("conditions") or () if each.get("type") == "Established"]
    if any(each.get("status") == "True" for each in served):
        fields = (("group",), ("scope",), ("names", "kind"), ("names", "plural"))
        for steps in fields:
            one, other = before, after
            for step in steps:
                one, other = one.get(step) or {}, other.get(step) or {}
            if one != other:
                yield Cause.bad(f"spec.{'.'.join(steps)}", quoted(other), "field is immutable")
    known = {version.get("name") for version in after.get("versions") or ()}
    for i, name in enumerate((crd.get("status") or {}).get("storedVersions") or ()):
        if name not in known:
            yield Cause.bad(f"status.storedVersions[{i}]", quoted(name), "missing from spec.versions; " + _STORED)


def established_status(crd: Object, others: Iterable[Object], time: str) -> Object:
    """The status that the controllers of a real cluster give to a definition: its names are free, and it is served.

    ``others`` are the definitions of the same group. Names that another one has already are not accepted.
    """
    spec, found = crd["spec"], crd.get("status") or {}
    accepted = dict(found.get("acceptedNames") or {})
    taken, kinds = _taken([each for each in others if each["metadata"]["name"] != crd["metadata"]["name"]])
    names, conflict = spec["names"], ("", "")
    for field, reason, used in (
        ("plural", "PluralConflict", taken),
        ("singular", "SingularConflict", taken),
        ("shortNames", "ShortNamesConflict", taken),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        wanted = names.get(field)
        if wanted is None:
            accepted.pop(field, None)
            continue
        clashes = [name for name in ([wanted] if isinstance(wanted, str) else wanted) if name in used]
        if clashes:
            conflict = (reason, f'"{clashes[0]}" is already in use')
        else:
            accepted[field] = wanted
    if names.get("categories"):
        accepted["categories"] = names["categories"]
    accepted.setdefault("plural", "")
    accepted.setdefault("kind", "")
    conditions = _conditions(found.get("conditions") or (), conflict, time)
    stored = list(found.get("storedVersions") or ())
    stored += [each["name"] for each in spec["versions"] if each.get("storage") and each["name"] not in stored]
    return {"conditions": conditions, "acceptedNames": accepted, "storedVersions": stored}


def _taken(others: Iterable[Object]) -> tuple[set[str], set[str]]:
    taken: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        names = (other.get("status") or {}).get("acceptedNames") or {}
        taken |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())} - {""}
        kinds |= {names.get("kind", ""), names.get("listKind", "")} - {""}
    return taken, kinds


def _conditions(old: Iterable[Object], conflict: tuple[str, str], time: str) -> list[Object]:
    before = {condition["type"]: condition for condition in old}
    if conflict[0]:
        names = ("NamesAccepted", "False", *conflict)
        served = ("Established", "False", "NotAccepted", "not all names are accepted")
    else:
        names = ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
        served = ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
    if before.get("Established", {}).get("status") == "True":
        found = before["Established"]  # what is served stays served
        served = ("Established", "True", found["reason"], found["message"])
    return [
        before[type_]
        if (before.get(type_) or {}).get("status") == status and before[type_].get("reason") == reason
        else {"type": type_, "status": status, "lastTransitionTime": time, "reason": reason, "message": message}
        for type_, status, reason, message in (names, served)
    ]


def is_established(crd: Object) -> bool:
    """Whether a definition is served."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def resource_of(crd: Object) -> Resource:
    """The resource that a (valid, defaulted) definition defines."""
    spec = crd["spec"]
    names = (crd.get("status") or {}).get("acceptedNames") or spec["names"]
    names = {**spec["names"], "shortNames": names.get("shortNames") or []}
    versions = tuple(
        _version(each, f"{spec['group']}/{each['name']} {names['kind']} is deprecated") for each in spec["versions"]
    )
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
        defined_at=int(crd["metadata"].get("resourceVersion") or 0),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        counts_generations=True,
        custom=True,
        verbs=("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"),
        subresources=tuple(subresources),
    )


def _version(version: Object, default_warning: str) -> ResourceVersion:
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    columns = tuple(_column(column) for column in version.get("additionalPrinterColumns") or ())
    warning = version.get("deprecationWarning") or default_warning
    return ResourceVersion(
        name=version["name"],
        schema=version["schema"]["openAPIV3Schema"],
        columns=columns or (AGE_COLUMN,),
        status="status" in subresources,
        scale=_scale(scale) if scale is not None else None,
        served=bool(version.get("served")),
        warning=warning if version.get("deprecated") else "",
        selectable=tuple(field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ()),
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
