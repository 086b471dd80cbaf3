"""Patches: JSON patch (RFC 6902) and JSON merge patch (RFC 7396) on immutable JSON values, and which kind a resource takes.

None changes its input: what a patch does not touch is shared between the old value and the new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.kube.client import PatchType
from karpy.sim.api import status
from karpy.sim.api.merging.strategic import PLAIN, strategic_merge
from karpy.sim.api.resources import Resource

__all__ = ["json_patch", "merge_patch", "patched"]

Body = Mapping[str, Any]


def merge_patch(target: Any, patch: Any) -> Any:
    """``target`` with ``patch`` merged into it: objects are merged, null removes, everything else replaces.

    >>> merge_patch({"a": {"b": 1, "c": 2}}, {"a": {"c": None}})
    {'a': {'b': 1}}
    """
    if not (patch.__class__ is dict or isinstance(patch, Mapping)):
        return patch
    merged = dict(target) if target.__class__ is dict or isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value.__class__ in PLAIN:
            merged[key] = value
        elif value is None:
            merged.pop(key, None)
        elif value.__class__ is dict or isinstance(value, Mapping):
            merged[key] = merge_patch(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def json_patch(target: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """``target`` after all ``operations``, in order.

    Raises:
        KubeError: 422, an operation does not apply; 400, the patch is no JSON patch.
    """
    for operation in operations:
        target = _apply(target, operation)
    return target


def _apply(target: Any, operation: Mapping[str, Any]) -> Any:
    steps = _steps(operation.get("path", ""))
    match operation.get("op"):
        case "add":
            return _change(target, steps, "add", operation.get("value"))
        case "replace":
            return _change(target, steps, "replace", operation.get("value"))
        case "remove":
            return _change(target, steps, "remove", None)
        case "test":
            if _find(target, steps, missing=None) != operation.get("value"):
                raise status.unprocessable()
            return target
        case "copy":
            return _change(target, steps, "add", _find(target, _steps(operation.get("from", ""))))
        case "move":
            origin = _steps(operation.get("from", ""))
            moved = _find(target, origin)
            return _change(_change(target, origin, "remove", None), steps, "add", moved)
    raise status.unprocessable()


def _steps(pointer: str) -> tuple[str, ...]:
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise status.unprocessable()
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/"))


_REQUIRED = object()


def _find(target: Any, steps: Sequence[str], missing: Any = _REQUIRED) -> Any:
    for step in steps:
        if isinstance(target, Mapping) and step in target:
            target = target[step]
        elif isinstance(target, list | tuple) and step.isdigit() and int(step) < len(target):
            target = target[int(step)]
        elif missing is not _REQUIRED:
            return missing
        else:
            raise status.unprocessable()
    return target


def _change(target: Any, steps: Sequence[str], op: str, value: Any) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(target, Mapping):
        return _change_member(target, step, rest, op, value)
    if isinstance(target, list | tuple):
        return _change_item(list(target), step, rest, op, value)
    raise status.unprocessable()


def _change_member(target: Mapping[str, Any], step: str, rest: Sequence[str], op: str, value: Any) -> Any:
    changed = dict(target)
    if rest:
        if step not in changed:
            raise status.unprocessable()
        changed[step] = _change(changed[step], rest, op, value)
    elif op == "remove":
        if step not in changed:
            raise status.unprocessable()
        del changed[step]
    elif op == "replace" and step not in changed:
        raise status.unprocessable()
    else:
        changed[step] = value
    return changed


def _change_item(items: list[Any], step: str, rest: Sequence[str], op: str, value: Any) -> Any:
    if step == "-" and op == "add" and not rest:
        return [*items, value]
    if not step.isdigit():
        raise status.unprocessable()
    index = int(step)
    if index > len(items) or (index == len(items) and (rest or op != "add")):
        raise status.unprocessable()
    if rest:
        items[index] = _change(items[index], rest, op, value)
    elif op == "add":
        items.insert(index, value)
    elif op == "remove":
        del items[index]
    else:
        items[index] = value
    return items


def patched(resource: Resource, before: Body, patch: Any, patch_type: PatchType) -> Body:
    """``before`` after ``patch``.

    Raises:
        KubeError: 415 the resource does not take this kind of patch, 400 or 422 it cannot be applied.
    """
    if patch_type is PatchType.JSON:
        if not isinstance(patch, list | tuple):
            raise status.bad_request("a JSON patch must be a list of operations")
        after = json_patch(before, patch)
    elif not isinstance(patch, Mapping):
        raise status.bad_request("the patch must be an object")
    elif patch_type is PatchType.MERGE:
        after = merge_patch(before, patch)
    elif resource.custom:
        raise status.unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        )
    else:
        after = strategic_merge(before, patch)
    if not isinstance(after, Mapping):
        raise status.unprocessable()
    return after
