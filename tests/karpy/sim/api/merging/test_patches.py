from __future__ import annotations

import pytest

from karpy.errors import KubeError
from karpy.sim.api.merging.patches import json_patch, merge_patch


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": None}}, {"a": {"b": 1}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
        ({}, {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_a_merge_patch_merges_objects_removes_by_null_and_replaces_the_rest(target, patch, merged) -> None:
    assert merge_patch(target, patch) == merged


def test_a_merge_patch_shares_what_it_does_not_touch_and_changes_nothing_in_place() -> None:
    target = {"spec": {"x": 1}, "status": {"y": [1]}}
    merged = merge_patch(target, {"spec": {"x": 2}})
    assert merged["status"] is target["status"]
    assert target == {"spec": {"x": 1}, "status": {"y": [1]}}


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/a/b", "value": 2}, {"a": {"b": 2}, "l": [1, 2]}),
        ({"op": "add", "path": "/l/-", "value": 3}, {"a": {"b": 1}, "l": [1, 2, 3]}),
        ({"op": "add", "path": "/l/0", "value": 0}, {"a": {"b": 1}, "l": [0, 1, 2]}),
        ({"op": "replace", "path": "/l/1", "value": 9}, {"a": {"b": 1}, "l": [1, 9]}),
        ({"op": "remove", "path": "/l/0"}, {"a": {"b": 1}, "l": [2]}),
        ({"op": "remove", "path": "/a/b"}, {"a": {}, "l": [1, 2]}),
        ({"op": "move", "from": "/a/b", "path": "/c"}, {"a": {}, "c": 1, "l": [1, 2]}),
        ({"op": "copy", "from": "/l", "path": "/m"}, {"a": {"b": 1}, "l": [1, 2], "m": [1, 2]}),
        ({"op": "test", "path": "/a/b", "value": 1}, {"a": {"b": 1}, "l": [1, 2]}),
    ],
)
def test_json_patch_operations(operation, result) -> None:
    target = {"a": {"b": 1}, "l": [1, 2]}
    assert json_patch(target, [operation]) == result
    assert target == {"a": {"b": 1}, "l": [1, 2]}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "add", "path": "/none/below", "value": 1},
        {"op": "add", "path": "/l/7", "value": 1},
        {"op": "nonsense", "path": "/a"},
        {"op": "add", "path": "a", "value": 1},
    ],
)
def test_a_json_patch_that_does_not_apply_is_refused_as_a_whole(operation) -> None:
    with pytest.raises(KubeError) as refused:
        json_patch({"a": 1, "l": []}, [{"op": "add", "path": "/b", "value": 1}, operation])
    assert refused.value.code == 422


def test_json_pointers_unescape_slashes_and_tildes() -> None:
    assert json_patch({"a/b": {"c~d": 1}}, [{"op": "replace", "path": "/a~1b/c~0d", "value": 2}]) == {"a/b": {"c~d": 2}}
