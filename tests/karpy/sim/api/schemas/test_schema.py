from __future__ import annotations

from karpy.sim.api.schemas.schema import apply_defaults, prune, validate

SCHEMA = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 100},
                "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
                "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                "amount": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "items": {
                    "type": "array",
                    "maxItems": 2,
                    "items": {
                        "type": "object",
                        "required": ["key"],
                        "properties": {"key": {"type": "string"}, "n": {"type": "integer", "default": 7}},
                    },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["key"],
                },
                "nested": {
                    "type": "object",
                    "default": {},
                    "properties": {"deep": {"type": "string", "default": "x"}},
                },
            },
        },
    },
}


def _told(spec: object) -> list[str]:
    return [cause.text for cause in validate({"spec": spec}, SCHEMA)]


def test_unknown_fields_are_pruned_and_named() -> None:
    unknown: list[str] = []
    obj = {
        "kind": "W",
        "metadata": {"any": 1},
        "spec": {"size": 1, "sice": 2, "items": [{"key": "a", "z": 1}]},
        "top": 1,
    }
    assert prune(obj, SCHEMA, unknown) == {
        "kind": "W",
        "metadata": {"any": 1},
        "spec": {"size": 1, "items": [{"key": "a"}]},
    }
    assert unknown == ["spec.sice", "spec.items[0].z", "top"]


def test_maps_and_preserved_objects_keep_everything() -> None:
    obj = {"spec": {"size": 1, "free": {"any": [1]}, "labels": {"x": "y"}}}
    assert prune(obj, SCHEMA) is obj


def test_defaults_fill_what_is_absent_at_any_depth() -> None:
    filled = apply_defaults({"spec": {"size": 1, "items": [{"key": "a"}]}}, SCHEMA)
    assert filled["spec"] == {"size": 1, "color": "red", "items": [{"key": "a", "n": 7}], "nested": {"deep": "x"}}


def test_what_needs_no_default_is_shared() -> None:
    spec = {"size": 1, "color": "green", "nested": {"deep": "y"}}
    assert apply_defaults({"spec": spec}, SCHEMA)["spec"] is spec


def test_violations_are_told_in_the_words_of_the_real_server() -> None:
    assert _told({"size": 0}) == ["spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"]
    assert _told({}) == ["spec.size: Required value"]
    assert _told({"size": "3"}) == [
        'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'
    ]
    assert _told({"size": 3, "color": "blue"}) == [
        'spec.color: Unsupported value: "blue": supported values: "red", "green"'
    ]
    assert _told({"size": 3, "code": "ABC"}) == [
        "spec.code: Invalid value: \"ABC\": spec.code in body should match '^[a-z]+$'"
    ]
    assert _told({"size": 3, "code": "abcdef"}) == ["spec.code: Too long: may not be longer than 5"]
    assert _told({"size": 3, "items": [{"key": "a"}, {"key": "a"}]}) == [
        'spec.items[1]: Duplicate value: map[string]interface {}{"key":"a"}'
    ]
    assert _told({"size": 3, "items": [{}]}) == ["spec.items[0].key: Required value"]
    assert _told({"size": 3, "items": [{"key": k} for k in "abc"]}) == [
        "spec.items: Too many: 3: must have at most 2 items"
    ]


def test_int_or_string_takes_both_and_nothing_else() -> None:
    assert _told({"size": 1, "amount": 5}) == _told({"size": 1, "amount": "5"}) == []
    assert _told({"size": 1, "amount": [5]})
