"""Who owns which fields may be rewritten by writing it."""

from __future__ import annotations

import json

import pytest

from tests.karpy.sim.api.conftest import Client

PATH = "/api/v1/namespaces/default/configmaps"
JSON_PATCH, MERGE = "application/json-patch+json", "application/merge-patch+json"


@pytest.fixture
def made(rest: Client) -> dict:
    body = {"metadata": {"name": "a"}, "data": {"k": "1"}}
    return rest("POST", PATH, body, fieldManager="first")[1]


def owners(obj: dict) -> list[tuple[str, str]]:
    return [(each["manager"], each["operation"]) for each in obj["metadata"].get("managedFields", ())]


def test_an_owner_is_renamed_by_a_patch(rest: Client, made: dict) -> None:
    (entry,) = made["metadata"]["managedFields"]
    renamed = [{**entry, "manager": "second", "operation": "Apply"}]
    patch = [{"op": "replace", "path": "/metadata/managedFields", "value": renamed}]
    code, changed = rest("PATCH", f"{PATH}/a", patch, media=JSON_PATCH, fieldManager="kubectl")
    assert code == 200
    assert changed["metadata"]["managedFields"] == renamed
    assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


def test_an_empty_entry_forgets_all_owners(rest: Client, made: dict) -> None:
    _, changed = rest("PATCH", f"{PATH}/a", {"metadata": {"managedFields": [{}]}}, media=MERGE)
    assert "managedFields" not in changed["metadata"]


@pytest.mark.parametrize("said", [[], None, [{"manager": "x"}], [{"operation": "Apply", "fieldsType": "FieldsV2"}]])
def test_what_cannot_be_read_leaves_the_owners_as_they_were(rest: Client, made: dict, said: object) -> None:
    changed = json.loads(json.dumps(made))
    changed["metadata"]["managedFields"] = said
    _, after = rest("PUT", f"{PATH}/a", changed)
    assert owners(after) == [("first", "Update")]


def test_a_subresource_does_not_rewrite_owners(rest: Client) -> None:
    _, node = rest("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": {"a": "b"}}}, fieldManager="first")
    said = [{**node["metadata"]["managedFields"][0], "manager": "second"}]
    body = {**node, "metadata": {**node["metadata"], "managedFields": said}}
    _, after = rest("PUT", "/api/v1/nodes/n/status", body, fieldManager="kubelet")
    assert owners(after) == [("first", "Update")]
