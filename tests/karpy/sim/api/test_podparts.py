"""The parts of pods that are no part of their objects, and the forms that answers come in."""

from __future__ import annotations

import pytest
import yaml

from karpy.sim.api.features import LIVING
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from tests.karpy.sim.api.conftest import Client

BASE = "/api/v1/namespaces/default"
POD = f"{BASE}/pods/p"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"


@pytest.fixture
def rest(rest: Client) -> Client:
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert rest("POST", f"{BASE}/pods", body)[0] == 201
    return rest


def binding(called: str = "p", **target: str) -> dict:
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": called}, "target": target}


@pytest.mark.parametrize(
    ("code", "message", "body"),
    [
        (400, "name in URL does not match name in Binding object", binding("q", name="n")),
        (500, "target.name: Required value", binding()),
        (500, 'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"', binding(kind="Pod", name="n")),
        (400, "Pod in version \"v1\" cannot be handled as a Binding: converting (v1.Pod) to (core.Binding)",
         {"kind": "Pod", "apiVersion": "v1"}),
    ],
)  # fmt: skip
def test_bindings_that_are_refused(rest: Client, code: int, message: str, body: dict) -> None:
    found, answer = rest("POST", f"{POD}/binding", body)
    assert (found, answer["message"][: len(message)]) == (code, message)
    assert "nodeName" not in rest("GET", POD)[1]["spec"]


def test_a_binding_may_go_to_the_collection_of_bindings_and_names_its_pod_itself(rest: Client) -> None:
    assert rest("POST", f"{BASE}/bindings", binding(kind="Node", name="n"))[0] == 201
    assert rest("GET", POD)[1]["spec"]["nodeName"] == "n"
    assert rest("POST", f"{BASE}/bindings", binding("none", name="n"))[0] == 404


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("name in URL does not match name in Eviction object", {"kind": "Eviction", "metadata": {"name": "q"}}),
        ("Node in version \"v1\" cannot be handled as a Eviction: converting (v1.Node) to (policy.Eviction)",
         {"kind": "Node", "apiVersion": "v1"}),
        ("the object provided is unrecognized (must be of type Eviction)", b""),
    ],
)  # fmt: skip
def test_evictions_that_are_refused(rest: Client, message: str, body: object) -> None:
    code, answer = rest("POST", f"{POD}/eviction", body)
    assert (code, answer["message"][: len(message)]) == (400, message)
    assert rest("GET", POD)[0] == 200


def test_every_namespace_has_an_account_that_tokens_can_be_had_for(rest: Client) -> None:
    rest("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})
    accounts = rest("GET", "/api/v1/namespaces/new/serviceaccounts")[1]["items"]
    assert [each["metadata"]["name"] for each in accounts] == ["default"]
    assert rest("POST", "/api/v1/namespaces/new/serviceaccounts/default/token", {"spec": {}})[0] == 201


def test_logs_are_empty_where_there_are_kubelets_and_nobody_has_them_without(rest: Client) -> None:
    code, answer = rest("GET", f"{POD}/log")
    assert (code, answer["message"]) == (404, "the server could not find the requested resource ( pods/log p)")
    living = Client(ApiServer(VirtualClock(), features=LIVING))
    living("POST", f"{BASE}/pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    assert living("GET", f"{POD}/log") == (200, "")
    assert living("GET", f"{BASE}/pods/none/log")[0] == 404


class TestDebugging:
    PATH = f"{POD}/ephemeralcontainers"

    def add(self, rest: Client, *names: str) -> tuple[int, dict]:
        spec = {"ephemeralContainers": [{"name": name, "image": "busybox"} for name in names]}
        code, answer = rest("PATCH", self.PATH, {"spec": spec}, media=STRATEGIC)
        return code, answer

    def test_containers_can_be_added_to_a_pod_that_runs(self, rest: Client) -> None:
        code, answer = self.add(rest, "d")
        assert code == 200
        (added,) = answer["spec"]["ephemeralContainers"]
        assert (added["name"], added["terminationMessagePolicy"]) == ("d", "File")
        assert rest("GET", self.PATH)[1] == answer
        owned = [entry for entry in answer["metadata"]["managedFields"] if entry.get("subresource")]
        assert owned[0]["subresource"] == "ephemeralcontainers"

    def test_they_stay_as_they_are(self, rest: Client) -> None:
        self.add(rest, "d")
        code, answer = rest("PATCH", self.PATH, {"spec": {"ephemeralContainers": None}}, media=MERGE)
        assert (code, "may not be removed" in answer["message"]) == (422, True)
        changed = {"spec": {"ephemeralContainers": [{"name": "d", "image": "other"}]}}
        code, answer = rest("PATCH", self.PATH, changed, media=STRATEGIC)
        assert (code, "may not be changed" in answer["message"]) == (422, True)

    def test_their_names_are_free_ones(self, rest: Client) -> None:
        code, answer = self.add(rest, "c")
        assert code == 422
        assert 'spec.ephemeralContainers[0].name: Duplicate value: "c"' in answer["message"]

    def test_nothing_else_of_the_pod_is_changed_that_way(self, rest: Client) -> None:
        rest("PATCH", self.PATH, {"spec": {"hostname": "h"}}, media=STRATEGIC)
        assert "hostname" not in rest("GET", POD)[1]["spec"]


class TestForms:
    def test_answers_come_as_yaml_to_those_who_like_it_best(self, rest: Client) -> None:
        code, text = rest("GET", POD, accept="application/yaml")
        assert (code, yaml.safe_load(text)) == (200, rest("GET", POD)[1])

    def test_answers_can_be_laid_out_for_reading(self, rest: Client) -> None:
        answer = rest.answer("GET", POD, pretty="true")
        assert b'\n  "metadata": {\n' in answer.body  # type: ignore[union-attr]

    @pytest.mark.parametrize("accept", ["text/plain", "application/cbor", "image/png, text/html"])
    def test_other_forms_are_not_to_be_had(self, rest: Client, accept: str) -> None:
        code, answer = rest("GET", POD, accept=accept)
        assert (code, answer["reason"]) == (406, "NotAcceptable")
        assert rest("GET", "/healthz", accept=accept) == (200, "ok")


def test_a_scale_is_printed_with_its_two_numbers(rest: Client) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    rest("POST", "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "web"}, "spec": spec})
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    _, table = rest("GET", "/apis/apps/v1/namespaces/default/deployments/web/scale", accept=accept)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    (row,) = table["rows"]
    assert row["cells"] == ["web", 3, 0, "0s"]
    assert row["object"]["metadata"]["name"] == "web"
