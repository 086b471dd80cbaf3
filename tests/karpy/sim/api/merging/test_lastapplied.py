from __future__ import annotations

import json

from tests.karpy.sim.api.conftest import Client

PATH = "/api/v1/namespaces/default/configmaps"
NOTE = "kubectl.kubernetes.io/last-applied-configuration"
APPLY = "application/apply-patch+yaml"


def settings(**data: str) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": data}


def apply_client_side(rest: Client, **data: str) -> None:
    noted = settings(**data)
    noted["metadata"]["annotations"] = {NOTE: json.dumps(settings(**data))}
    assert rest("POST", PATH, noted, fieldManager="kubectl-client-side-apply")[0] == 201


def test_kubectl_takes_over_what_its_client_side_form_has_set(rest: Client) -> None:
    apply_client_side(rest, k="1")
    code, applied = rest("PATCH", f"{PATH}/a", settings(k="<2>"), media=APPLY, fieldManager="kubectl")
    assert code == 200
    assert applied["data"] == {"k": "<2>"}
    owners = {each["manager"]: each["fieldsV1"] for each in applied["metadata"]["managedFields"]}
    assert "f:data" in owners["kubectl"]
    assert "f:k" not in owners["kubectl-client-side-apply"].get("f:data", {})
    note = applied["metadata"]["annotations"][NOTE]
    assert json.loads(note) == settings(k="<2>")
    assert "\\u003c2\\u003e" in note, "as Go writes it"


def test_what_someone_else_has_changed_since_stays_a_conflict(rest: Client) -> None:
    apply_client_side(rest, k="1", l="1")
    merge = "application/merge-patch+json"
    rest("PATCH", f"{PATH}/a", {"data": {"l": "9"}}, media=merge, fieldManager="someone")
    code, refused = rest("PATCH", f"{PATH}/a", settings(k="2", l="2"), media=APPLY, fieldManager="kubectl")
    assert code == 409
    assert refused["message"] == 'Apply failed with 1 conflict: conflict with "someone" using v1: .data.l'


def test_other_managers_take_over_nothing(rest: Client) -> None:
    apply_client_side(rest, k="1")
    assert rest("PATCH", f"{PATH}/a", settings(k="2"), media=APPLY, fieldManager="other")[0] == 409
    _, forced = rest("PATCH", f"{PATH}/a", settings(k="2"), media=APPLY, fieldManager="other", force="true")
    assert json.loads(forced["metadata"]["annotations"][NOTE]) == settings(k="1")


def test_a_note_that_cannot_be_read_is_none(rest: Client) -> None:
    apply_client_side(rest, k="1")
    merge = "application/merge-patch+json"
    for note in ("{", "[]"):
        rest("PATCH", f"{PATH}/a", {"metadata": {"annotations": {NOTE: note}}}, media=merge)
        assert rest("PATCH", f"{PATH}/a", settings(k="2"), media=APPLY, fieldManager="kubectl")[0] == 409
