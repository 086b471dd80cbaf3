"""Field sets: which fields of an object someone owns, in the FieldsV1 form of ``metadata.managedFields``.

A set is a tree of dicts: ``f:name`` a member, ``k:{...}`` an element of a keyed list, ``v:...`` a value of a set, ``.`` the node
itself. A `Shape` says how the value at a place divides into fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from karpy.sim.api.merging.shapes import Shape

__all__ = [
    "FieldTree",
    "added_fields",
    "changed_fields",
    "element_key",
    "intersection",
    "merge_values",
    "owned_fields",
    "paths_of",
    "remove_fields",
    "subtract",
    "union",
    "value_at",
]

FieldTree = dict[str, Any]
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.decode
SELF = "."


def element_key(item: Any, keys: Sequence[str]) -> str:
    """The name of a keyed element in a set: ``k:{"name":"c"}``."""
    named = {key: item[key] for key in keys if isinstance(item, Mapping) and key in item}
    return "k:" + _encode(named).decode()


def _elements(value: Sequence[Any], keys: Sequence[str]) -> dict[str, Any]:
    return {element_key(item, keys): item for item in value}


def owned_fields(value: Any, shape: Shape) -> FieldTree:
    """The set of someone who applies ``value``: its leaves, and every element of a keyed list."""
    if isinstance(value, Mapping) and not shape.is_atomic:
        return {f"f:{key}": owned_fields(member, shape.member(key)) for key, member in value.items()}
    if isinstance(value, list):
        if shape.keys is not None:
            inner = shape.element()
            items = _elements(value, shape.keys).items()
            return {key: {SELF: {}, **owned_fields(item, inner)} for key, item in items}
        if shape.is_set:
            return {"v:" + _encode(item).decode(): {} for item in value}
    return {}


def added_fields(value: Any, shape: Shape) -> FieldTree:
    """The set of someone who brings ``value`` into being where nothing was."""
    if isinstance(value, Mapping) and value and not shape.is_atomic:
        members = {f"f:{key}": added_fields(member, shape.member(key)) for key, member in value.items()}
        return {SELF: {}, **members}
    if isinstance(value, list) and value:
        if shape.keys is not None:
            inner = shape.element()
            items = _elements(value, shape.keys).items()
            return {SELF: {}, **{key: {SELF: {}, **added_fields(item, inner)} for key, item in items}}
        if shape.is_set:
            return {SELF: {}, **{"v:" + _encode(item).decode(): {} for item in value}}
    return {}


def changed_fields(old: Any, new: Any, shape: Shape) -> FieldTree | None:
    """The set of someone who turns ``old`` into ``new``; None when nothing was added or changed."""
    if old is new:
        return None
    if isinstance(new, Mapping) and isinstance(old, Mapping | None) and not shape.is_atomic:
        return _changed_members(old or {}, new, shape)
    if isinstance(new, list) and isinstance(old, list | None):
        if shape.keys is not None:
            return _changed_elements(old or [], new, shape)
        if shape.is_set:
            fresh: FieldTree = {"v:" + _encode(item).decode(): {} for item in new if item not in (old or [])}
            return fresh or None
    return {} if old != new else None


def _changed_members(old: Mapping[str, Any], new: Mapping[str, Any], shape: Shape) -> FieldTree | None:
    tree: FieldTree = {}
    for key, member in new.items():
        inner = shape.member(key)
        if key not in old:
            tree[f"f:{key}"] = added_fields(member, inner)
        else:
            changed = changed_fields(old[key], member, inner)
            if changed is not None:
                tree[f"f:{key}"] = changed
    return tree or None


def _changed_elements(old: Sequence[Any], new: Sequence[Any], shape: Shape) -> FieldTree | None:
    keys, inner = shape.keys or (), shape.element()
    before = _elements(old, keys)
    tree: FieldTree = {}
    for key, item in _elements(new, keys).items():
        if key not in before:
            tree[key] = {SELF: {}, **added_fields(item, inner)}
        else:
            changed = changed_fields(before[key], item, inner)
            if changed is not None:
                tree[key] = changed
    return tree or None


def _opened(inner: FieldTree) -> tuple[bool, FieldTree]:
    """Whether a node is itself in the set, and the nodes below it. A leaf is; a branch is when it has a dot."""
    if not inner:
        return True, {}
    return SELF in inner, {key: below for key, below in inner.items() if key != SELF}


def _closed(member: bool, below: FieldTree) -> FieldTree | None:
    """The node again; None when it is not in the set and has nothing below."""
    if below:
        return {SELF: {}, **below} if member else below
    return {} if member else None


def union(a: FieldTree, b: FieldTree) -> FieldTree:
    """The fields of either set."""
    merged = dict(a)
    for key, inner in b.items():
        if key in merged and key != SELF:
            (mine, below), (theirs, other) = _opened(merged[key]), _opened(inner)
            merged[key] = _closed(mine or theirs, union(below, other)) or {}
        else:
            merged[key] = inner
    return merged


def subtract(a: FieldTree, b: FieldTree) -> FieldTree:
    """The fields of ``a`` that are not in ``b``."""
    kept: FieldTree = {}
    for key, inner in a.items():
        if key not in b:
            kept[key] = inner
        elif key != SELF:
            (mine, below), (theirs, other) = _opened(inner), _opened(b[key])
            rest = _closed(mine and not theirs, subtract(below, other))
            if rest is not None:
                kept[key] = rest
    return kept


def intersection(a: FieldTree, b: FieldTree) -> FieldTree:
    """The fields in both sets."""
    common: FieldTree = {}
    for key, inner in a.items():
        if key in b and key != SELF:
            (mine, below), (theirs, other) = _opened(inner), _opened(b[key])
            both = _closed(mine and theirs, intersection(below, other))
            if both is not None:
                common[key] = both
    return common


def present(tree: FieldTree, value: Any, shape: Shape) -> FieldTree:
    """The part of ``tree`` whose fields still exist in ``value``."""
    kept: FieldTree = {}
    for key, inner in tree.items():
        if key == SELF:
            kept[key] = inner
            continue
        found, member, below = _step(key, value, shape)
        if found:
            rest = present(inner, member, below) if inner else inner
            if rest or not inner:
                kept[key] = rest
    return kept


def _step(key: str, value: Any, shape: Shape) -> tuple[bool, Any, Shape]:
    """Follow one step of a set into ``value``: whether it exists, what is there, and its shape."""
    kind, name = key[:2], key[2:]
    if kind == "f:":
        if isinstance(value, Mapping) and name in value:
            return True, value[name], shape.member(name)
    elif kind == "k:" and isinstance(value, list):
        wanted = _decode(name)
        for item in value:
            if isinstance(item, Mapping) and all(item.get(k) == v for k, v in wanted.items()):
                return True, item, shape.element()
    elif kind == "v:" and isinstance(value, list):
        return _decode(name) in value, None, shape.element()
    return False, None, shape


def value_at(value: Any, path: Sequence[str], shape: Shape) -> tuple[bool, Any]:
    """What stands in ``value`` at ``path`` (steps of a set), and whether anything does."""
    for key in path:
        if key == SELF:
            return True, None
        found, value, shape = _step(key, value, shape)
        if not found:
            return False, None
    return True, value


def paths_of(tree: FieldTree, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of the leaves of a set."""
    for key, inner in tree.items():
        if inner:
            yield from paths_of(inner, (*above, key))
        else:
            yield (*above, key)


def remove_fields(value: Any, tree: FieldTree, shape: Shape) -> Any:
    """``value`` without the fields of ``tree``."""
    if isinstance(value, Mapping):
        kept = dict(value)
        for key, inner in tree.items():
            name = key[2:]
            if key.startswith("f:") and name in kept:
                below = shape.member(name)
                member, parts = _opened(inner)
                kept[name] = remove_fields(kept[name], parts, below)
                if member and (not kept[name] or not _is_divided(kept[name], below)):
                    del kept[name]
        return kept
    if isinstance(value, list):
        return _remove_elements(value, tree, shape)
    return value


def _is_divided(value: Any, shape: Shape) -> bool:
    """Whether a value consists of fields that may have other owners than the whole."""
    if isinstance(value, Mapping):
        return not shape.is_atomic
    return isinstance(value, list) and (shape.keys is not None or shape.is_set)


def _remove_elements(value: Sequence[Any], tree: FieldTree, shape: Shape) -> list[Any]:
    kept: list[Any] = []
    for item in value:
        key = element_key(item, shape.keys) if shape.keys is not None else "v:" + _encode(item).decode()
        inner = tree.get(key)
        if inner is None:
            kept.append(item)
        elif not _opened(inner)[0]:
            kept.append(remove_fields(item, inner, shape.element()))
    return kept


def merge_values(live: Any, applied: Any, shape: Shape) -> Any:
    """``live`` with what ``applied`` says put over it, by the shape of each place."""
    if isinstance(applied, Mapping) and isinstance(live, Mapping) and not shape.is_atomic:
        merged = dict(live)
        for key, member in applied.items():
            merged[key] = merge_values(live[key], member, shape.member(key)) if key in live else member
        return merged
    if isinstance(applied, list) and isinstance(live, list):
        if shape.keys is not None:
            inner = shape.element()
            items = _elements(live, shape.keys)
            for key, item in _elements(applied, shape.keys).items():
                items[key] = merge_values(items[key], item, inner) if key in items else item
            return list(items.values())
        if shape.is_set:
            return [*live, *(item for item in applied if item not in live)]
    return applied
