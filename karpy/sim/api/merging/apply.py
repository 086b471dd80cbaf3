"""Field ownership: server-side apply, its conflicts, and the ownership that other writers gain and lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from karpy.errors import KubeError
from karpy.sim.api import status
from karpy.sim.api.filling.zeros import ZERO
from karpy.sim.api.merging import fields
from karpy.sim.api.merging.fields import FieldTree
from karpy.sim.api.merging.lastapplied import KUBECTL, last_applied, with_last_applied
from karpy.sim.api.merging.shapes import BuiltinShape, SchemaShape, Shape
from karpy.sim.api.options import WriteOptions
from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.status import Cause

__all__ = ["SERVER", "merge_applied", "track_update"]

Object = dict[str, Any]
Body = Mapping[str, Any]

SERVER = "kube-apiserver"
"""Who the server itself is as an owner of fields."""
_UNOWNED_META = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)


def _shape(version: ResourceVersion) -> Shape:
    return SchemaShape(version.schema, top=True) if version.schema is not None else BuiltinShape()


def _owned_part(obj: Body, version: ResourceVersion, subresource: str) -> Object:
    """The part of an object whose fields are owned through ``subresource`` (empty: the object itself)."""
    if subresource == "status":
        return {"status": obj["status"]} if "status" in obj else {}
    meta = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in _UNOWNED_META}
    part: Object = {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata")}
    if version.status or "status" in part:
        part.pop("status", None)
    if meta:
        part["metadata"] = meta
    return part


def _entries(obj: Body | None) -> list[Object]:
    return [dict(entry) for entry in (obj["metadata"].get("managedFields") if obj is not None else None) or ()]


def _group(entry: Body) -> str:
    return str(entry.get("apiVersion", "")).rpartition("/")[0]


def _same_writer(entry: Body, manager: str, operation: str, api_version: str, subresource: str) -> bool:
    return (
        entry.get("manager") == manager
        and entry.get("operation") == operation
        and entry.get("apiVersion") == api_version
        and entry.get("subresource", "") == subresource
    )


def track_update(
    resource: Resource,
    version: ResourceVersion,
    old: Body | None,
    new: Object,
    manager: str,
    time: str,
    subresource: str,
) -> Object:
    """``new`` with the ownership that ``manager`` gains by turning ``old`` into it, and that others lose.

    An object that nobody's ownership was tracked of (it was made from within the process) stays so until it is applied.
    """
    if old is not None and not old["metadata"].get("managedFields"):
        return _with_entries(new, _readable(new))
    shape = _shape(version)
    before = _owned_part(old, version, subresource) if old is not None else ZERO.get(resource.kind, {})
    after = _owned_part(new, version, subresource)
    changed = _cleaned(fields.changed_fields(before, {**after, **_filler(before, after)}, shape) or {})
    api_version = resource.api_version(version.name)
    entries = _entries(new if old is None else old)
    if old is not None and not subresource:
        entries = _rewritten(new, entries)
    mine: Object | None = None
    kept: list[Object] = []
    for entry in entries:
        if _group(entry) != resource.group:
            # written under another group's names of the fields, which mean nothing here
            kept.append(entry)
            continue
        tree = fields.present(entry.get("fieldsV1") or {}, new, shape)
        if _same_writer(entry, manager, "Update", api_version, subresource):
            mine = entry
            tree = fields.union(tree, changed)
        elif changed:
            tree = fields.subtract(tree, changed)
        if tree != entry.get("fieldsV1"):
            stamp = {"time": time} if entry is mine and subresource != "scale" else {}
            entry = {**entry, **stamp, "fieldsV1": tree}
        if tree:
            kept.append(entry)
    if mine is None and changed:
        kept.append(_entry(manager, "Update", api_version, time, changed, subresource))
    return _with_entries(new, kept)


def _rewritten(new: Body, before: list[Object]) -> list[Object]:
    """Ownership as a write of the object itself says it is; one that says nothing readable leaves it as it was."""
    if new["metadata"].get("managedFields") == [{}]:
        return []  # the way to forget all owners
    return _readable(new) or before


def _readable(obj: Body) -> list[Object]:
    entries = _entries(obj)
    return entries if all(_is_readable(entry) for entry in entries) else []


def _is_readable(entry: Body) -> bool:
    known = entry.get("operation") in ("Apply", "Update") and entry.get("fieldsType") == "FieldsV1"
    return known and isinstance(entry.get("fieldsV1"), Mapping)


def _filler(before: Body, after: Body) -> Object:
    """Top-level members that exist before and are absent after count as unchanged, not as removed."""
    return {key: before[key] for key in before if key not in after}


def _cleaned(tree: FieldTree) -> FieldTree:
    """A set without metadata's own dot, which nobody owns."""
    meta = tree.get("f:metadata")
    if meta is not None and fields.SELF in meta:
        meta = {key: inner for key, inner in meta.items() if key != fields.SELF}
        return {**tree, "f:metadata": meta} if meta else {k: v for k, v in tree.items() if k != "f:metadata"}
    return tree


def _entry(manager: str, operation: str, api_version: str, time: str, tree: FieldTree, subresource: str) -> Object:
    entry: Object = {"manager": manager, "operation": operation, "apiVersion": api_version}
    if subresource != "scale":
        entry["time"] = time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": tree}
    return {**entry, "subresource": subresource} if subresource else entry


def _with_entries(obj: Object, entries: Sequence[Object]) -> Object:
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    if entries:
        ordered = sorted(
            entries, key=lambda e: (e.get("operation") != "Apply", e.get("time", ""), e.get("manager", ""))
        )
        meta["managedFields"] = [{**entry, "fieldsV1": _sorted(entry["fieldsV1"])} for entry in ordered]
    return {**obj, "metadata": meta}


def _sorted(tree: FieldTree) -> FieldTree:
    return {key: _sorted(tree[key]) for key in sorted(tree)}


def merge_applied(
    resource: Resource,
    version: ResourceVersion,
    live: Body | None,
    applied: Body,
    options: WriteOptions,
    time: str,
    subresource: str,
) -> Object:
    """The object that results when ``options.manager`` applies ``applied`` to ``live``, ownership included.

    Raises:
        KubeError: 409 another manager owns a field with another value, 400 the configuration carries managedFields,
            422 no manager is named.
    """
    if not options.manager:
        raise status.invalid_options("PatchOptions", Cause.required("fieldManager", "is required for apply patch"))
    if (applied.get("metadata") or {}).get("managedFields"):
        raise status.bad_request("metadata.managedFields must be nil")
    shape = _shape(version)
    wanted = _owned_part(applied, version, subresource)
    mine = _without_empty(fields.owned_fields(wanted, shape))
    api_version = resource.api_version(version.name)
    entries = _entries(live) or _before_first_apply(resource, version, live)
    others = [e for e in entries if not _same_writer(e, options.manager, "Apply", api_version, subresource)]
    previous = next((e for e in entries if e not in others), None)
    base: Body = live if live is not None else applied
    merged = fields.merge_values(base, wanted, shape)
    if live is not None:
        by_client = _set_by_client(live, version, subresource) if options.manager == KUBECTL else frozenset()
        others = _settle_conflicts(live, merged, mine, others, shape, by_client, force=options.force)
    if previous is not None:
        given_up = fields.subtract(previous.get("fieldsV1") or {}, mine)
        for entry in others:
            given_up = fields.subtract(given_up, entry.get("fieldsV1") or {})
        merged = fields.remove_fields(merged, given_up, shape)
    if mine:
        unchanged = previous is not None and previous.get("fieldsV1") == _sorted(mine)
        stamp = previous["time"] if previous is not None and unchanged and "time" in previous else time
        others = [*others, _entry(options.manager, "Apply", api_version, stamp, mine, subresource)]
    if applied.get("metadata", {}).get("resourceVersion"):
        meta = {**merged["metadata"], "resourceVersion": applied["metadata"]["resourceVersion"]}
        merged = {**merged, "metadata": meta}
    if options.manager == KUBECTL:
        merged = with_last_applied(merged, applied)
    return _with_entries(merged, others)


def _set_by_client(live: Body, version: ResourceVersion, subresource: str) -> frozenset[tuple[str, ...]]:
    """The fields that client-side applying has set and that are still as it left them."""
    noted = last_applied(live)
    if noted is None:
        return frozenset()
    part, shape = _owned_part(noted, version, subresource), _shape(version)
    paths = fields.paths_of(fields.owned_fields(part, shape))
    return frozenset(path for path in paths if fields.value_at(part, path, shape) == fields.value_at(live, path, shape))


def _before_first_apply(resource: Resource, version: ResourceVersion, live: Body | None) -> list[Object]:
    """Ownership of what an untracked object held before anyone applied it."""
    if live is None:
        return []
    zero = ZERO.get(resource.kind, {})
    part = _owned_part(live, version, "")
    tree = _cleaned(fields.changed_fields(zero, {**part, **_filler(zero, part)}, _shape(version)) or {})
    if not tree:
        return []
    created = live["metadata"].get("creationTimestamp", "")
    return [_entry("before-first-apply", "Update", resource.api_version(version.name), created, tree, "")]


def _without_empty(tree: FieldTree) -> FieldTree:
    return {key: inner for key, inner in tree.items() if inner or key != "f:metadata"}


def _settle_conflicts(
    live: Body,
    merged: Body,
    mine: FieldTree,
    others: Sequence[Object],
    shape: Shape,
    yielding: frozenset[tuple[str, ...]],
    *,
    force: bool,
) -> list[Object]:
    """The other managers' entries after the claim of ``mine``; a field that would change is a conflict, unless it yields."""
    causes: list[tuple[Object, str]] = []
    settled: list[Object] = []
    for entry in others:
        tree = entry.get("fieldsV1") or {}
        contested: list[tuple[str, ...]] = []
        for path in fields.paths_of(fields.intersection(mine, tree)):
            if path[-1] == fields.SELF:
                continue
            _, becomes = fields.value_at(merged, path, shape)
            there, found = fields.value_at(live, path, shape)
            if not there or becomes != found:
                contested.append(path)
        causes += [(entry, _shown(path)) for path in contested if path not in yielding]
        lost = _tree_of(contested)
        settled.append({**entry, "fieldsV1": fields.subtract(tree, lost)} if lost else entry)
    if causes and not force:
        raise _conflict(causes)
    return [entry for entry in settled if entry.get("fieldsV1")]


def _tree_of(paths: Sequence[tuple[str, ...]]) -> FieldTree:
    tree: FieldTree = {}
    for path in paths:
        node = tree
        for step in path:
            node = node.setdefault(step, {})
    return tree


def _shown(path: Sequence[str]) -> str:
    """A path of a set as messages print it: ``.spec.containers[name="c"].image``."""
    text = ""
    for step in path:
        kind, name = step[:2], step[2:]
        if kind == "f:":
            text += f".{name}"
        elif kind == "k:":
            named = msgspec.json.decode(name)
            text += "[" + ",".join(f"{k}={msgspec.json.encode(v).decode()}" for k, v in named.items()) + "]"
        else:
            text += f"[={name}]"
    return text


def _writer(entry: Body) -> str:
    text = f'"{entry.get("manager")}"'
    if entry.get("subresource"):
        text += f' with subresource "{entry["subresource"]}"'
    return text if entry.get("operation") == "Apply" else f"{text} using {entry.get('apiVersion')}"


def _conflict(causes: Sequence[tuple[Object, str]]) -> KubeError:
    by_writer: dict[str, list[str]] = {}
    for entry, path in causes:
        by_writer.setdefault(_writer(entry), []).append(path)
    told = []
    for writer, paths in sorted(by_writer.items()):
        if len(paths) == 1 and len(by_writer) == 1:
            told.append(f"conflict with {writer}: {paths[0]}")
        elif len(paths) == 1:
            told.append(f"conflicts with {writer}:\n- {paths[0]}")
        else:
            told.append(f"conflicts with {writer}:\n" + "\n".join(f"- {path}" for path in paths))
    number = f"{len(causes)} conflict" + ("s" if len(causes) > 1 else "")
    details = {
        "causes": [
            {"reason": "FieldManagerConflict", "message": f"conflict with {writer}", "field": path}
            for writer, paths in sorted(by_writer.items())
            for path in paths
        ]
    }
    message = f"Apply failed with {number}: " + "\n".join(told)
    return KubeError(message, code=409, reason="Conflict", details=details)
