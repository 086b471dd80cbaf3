from __future__ import annotations

from karpy.sim.api.merging import fields
from karpy.sim.api.merging.shapes import BuiltinShape, SchemaShape

SHAPE = BuiltinShape()


def test_an_applied_configuration_owns_its_leaves_and_the_elements_of_keyed_lists() -> None:
    applied = {
        "metadata": {"labels": {"x": "1"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": [{}]},
    }
    assert fields.owned_fields(applied, SHAPE) == {
        "f:metadata": {"f:labels": {"f:x": {}}},
        "f:spec": {
            "f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:image": {}}},
            "f:tolerations": {},
        },
    }


def test_an_update_owns_what_it_adds_and_changes_but_not_what_it_leaves() -> None:
    old = {"spec": {"replicas": 1, "paused": True}}
    new = {"spec": {"replicas": 2, "paused": True, "nodeSelector": {"a": "b"}, "limits": {"cpu": "1"}}}
    assert fields.changed_fields(old, new, SHAPE) == {
        "f:spec": {"f:replicas": {}, "f:nodeSelector": {}, "f:limits": {".": {}, "f:cpu": {}}}
    }
    assert fields.changed_fields(new, new, SHAPE) is None


def test_sets_can_be_joined_subtracted_and_intersected() -> None:
    a = {"f:spec": {"f:x": {}, "f:y": {}}}
    b = {"f:spec": {"f:y": {}, "f:z": {}}}
    assert fields.union(a, b) == {"f:spec": {"f:x": {}, "f:y": {}, "f:z": {}}}
    assert fields.subtract(a, b) == {"f:spec": {"f:x": {}}}
    assert fields.intersection(a, b) == {"f:spec": {"f:y": {}}}


def test_removal_takes_fields_and_elements_out() -> None:
    value = {"spec": {"replicas": 1, "containers": [{"name": "a"}, {"name": "b"}]}}
    tree = {"f:spec": {"f:replicas": {}, "f:containers": {'k:{"name":"b"}': {".": {}, "f:name": {}}}}}
    assert fields.remove_fields(value, tree, SHAPE) == {"spec": {"containers": [{"name": "a"}]}}


def test_custom_lists_merge_by_the_keys_of_their_schema() -> None:
    items = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"], "items": {}}
    shape = SchemaShape({"properties": {"items": items, "tags": {"type": "array", "x-kubernetes-list-type": "set"}}})
    live = {"items": [{"key": "a", "v": 1}], "tags": ["x"], "other": [1]}
    applied = {"items": [{"key": "a", "w": 2}, {"key": "b"}], "tags": ["y"], "other": [2]}
    assert fields.merge_values(live, applied, shape) == {
        "items": [{"key": "a", "v": 1, "w": 2}, {"key": "b"}],
        "tags": ["x", "y"],
        "other": [2],
    }
