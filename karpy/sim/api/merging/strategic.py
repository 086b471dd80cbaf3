"""Strategic merge patch: lists of objects merge by key, and directives say what a plain merge cannot.

Directives: ``$patch: delete`` and ``replace``, ``$deleteFromPrimitiveList/x``, ``$setElementOrder/x`` and ``$retainKeys``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.sim.api import status
from karpy.sim.api.gotext import go_text
from karpy.sim.api.merging.listtypes import PATCH_SETS, patch_key

__all__ = ["PLAIN", "strategic_merge"]

Path = tuple[str, ...]
_DELETE_FROM = "$deleteFromPrimitiveList/"
_SET_ORDER = "$setElementOrder/"
PLAIN = frozenset((str, int, float, bool))
"""The types of values that a merge takes as they are."""


def strategic_merge(target: Any, patch: Mapping[str, Any], path: Path = ()) -> Any:
    """``target`` with ``patch`` merged into it by the rules of the built-in kinds; neither is changed.

    Raises:
        KubeError: 500 as the real server has it, a list element lacks its merge key or a directive is unknown;
            400, one is malformed.
    """
    has_target = target.__class__ is dict or isinstance(target, Mapping)
    if has_target and _is_flat(patch):
        return {**target, **patch}
    merged = dict(target) if has_target else {}
    if not any(map(_is_directive, patch)):
        for key, value in patch.items():
            _merge_member(merged, key, value, None, (*path, key))
        return merged
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    if directive is not None:
        raise status.plain(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")
    retained = patch.get("$retainKeys")
    if retained is not None:
        if not isinstance(retained, list):
            raise status.bad_request("invalid patch format of retainKeys")
        merged = {key: value for key, value in merged.items() if key in retained}
    for key, value in patch.items():
        if not key.startswith("$"):
            _merge_member(merged, key, value, patch.get(_SET_ORDER + key), (*path, key))
    _follow_directives(merged, patch, path)
    return merged


def _is_directive(key: str) -> bool:
    return key.startswith("$")


def _is_flat(patch: Mapping[str, Any]) -> bool:
    """Whether it sets plain values and does nothing else, as the parts of a status mostly do."""
    for key, value in patch.items():  # noqa: SIM110  (asked for every part of every status: a generator costs more)
        if value.__class__ not in PLAIN or key.startswith("$"):
            return False
    return True


def _follow_directives(merged: dict[str, Any], patch: Mapping[str, Any], path: Path) -> None:
    """Do what the directives about single members say."""
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM) and not isinstance(value, list):
            raise status.bad_request("invalid patch format of primitive list")
        if key.startswith(_SET_ORDER) and not isinstance(value, list):
            raise status.bad_request("invalid patch format of setElementOrder list")
        if key.startswith(_DELETE_FROM):
            _delete_values(merged, key.removeprefix(_DELETE_FROM), value)
        elif key.startswith(_SET_ORDER) and key.removeprefix(_SET_ORDER) not in patch:
            name = key.removeprefix(_SET_ORDER)
            if isinstance(merged.get(name), list):
                merged[name] = _in_order(merged[name], merged[name], [], value, (*path, name))


def _merge_member(merged: dict[str, Any], key: str, value: Any, order: Any, path: Path) -> None:
    if value.__class__ in PLAIN:
        merged[key] = value
        return
    current = merged.get(key)
    if value is None:
        merged.pop(key, None)
    elif value.__class__ is dict or isinstance(value, Mapping):
        if value.get("$patch") == "delete":
            merged.pop(key, None)
        else:
            merged[key] = strategic_merge(current, value, path)
    elif isinstance(value, list) and (patch_key(path) or _is_set(path)):
        merged[key] = _merge_list(current if isinstance(current, list) else [], value, order, path)
    else:
        merged[key] = value


def _is_set(path: Path) -> bool:
    return ".".join(path[-2:]) in PATCH_SETS or path[-1] in PATCH_SETS


def _merge_list(current: Sequence[Any], patch: Sequence[Any], order: Any, path: Path) -> list[Any]:
    key = patch_key(path)
    if key is None:
        merged = [*current, *(value for value in patch if value not in current)]
        return _in_order(merged, list(current), list(patch), order, path)
    if any(_is_object(item) and item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if not (isinstance(item, Mapping) and "$patch" in item)]
    merged = list(current)
    touched: list[Any] = []
    places: list[int] = []
    for item in patch:
        if not _is_object(item) or key not in item:
            raise status.plain(f"map: {go_text(item)} does not contain declared merge key: {key}")
        wanted, at = item[key], None
        for place, known in enumerate(merged):
            if known.get(key) == wanted:
                at = place
                break
        if item.get("$patch") == "delete":
            if at is not None:
                del merged[at]
            continue
        if at is None:
            merged.append(strategic_merge({}, item, path))
        else:
            merged[at] = strategic_merge(merged[at], item, path)
            places.append(at)
        touched.append(item)
    if order is None and len(merged) == len(current) and len(places) == len(patch) and places == sorted(places):
        return merged  # each in its place already
    return _in_order(merged, list(current), touched, order, path)


def _in_order(merged: list[Any], server: list[Any], patch: list[Any], order: Any, path: Path) -> list[Any]:
    """Put a merged list in order.

    Elements that the patch (or its ``$setElementOrder``) names keep the order they have there; the others keep the order
    of the server, each before the named element that it stood before.
    """
    key = patch_key(path)

    def name(item: Any) -> Any:
        return item.get(key) if key is not None and _is_object(item) else item

    wanted = [name(item) for item in (order if order is not None else patch)]
    present = {_hashable(name(item)): item for item in merged}
    named = [present[_hashable(n)] for n in wanted if _hashable(n) in present]
    named_keys = {_hashable(name(item)) for item in named}
    others = [item for item in merged if _hashable(name(item)) not in named_keys]
    position = {_hashable(name(item)): i for i, item in enumerate(server)}
    result: list[Any] = []
    left = 0
    for item in named:
        at = position.get(_hashable(name(item)))
        while at is not None and left < len(others) and position.get(_hashable(name(others[left])), at) < at:
            result.append(others[left])
            left += 1
        result.append(item)
    return result + others[left:]


def _is_object(value: Any) -> bool:
    """To ask for the class first is many times faster, and mostly the answer."""
    return value.__class__ is dict or isinstance(value, Mapping)


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _delete_values(merged: dict[str, Any], key: str, values: Sequence[Any]) -> None:
    current = merged.get(key)
    if isinstance(current, list):
        merged[key] = [value for value in current if value not in values]
