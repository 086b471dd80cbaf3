"""The HTTP face: what a client sees on the wire, and how the thread comes and goes."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from karpy.objects import kinds
from karpy.sim.api.features import LIVING
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from karpy.sim.http import ApiServerHttp, is_loopback, serve

PODS = "/api/v1/namespaces/default/pods"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


@pytest.fixture
def server() -> ApiServer:
    return ApiServer(VirtualClock(), features=LIVING)


@pytest.fixture
def face(server: ApiServer) -> Iterator[ApiServerHttp]:
    face = serve(server)
    yield face
    face.stop()


class Client:
    def __init__(self, face: ApiServerHttp) -> None:
        self._connection = http.client.HTTPConnection(face.host, face.port, timeout=10)

    def send(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, dict, http.client.HTTPResponse]:
        data = json.dumps(body) if body is not None else None
        if data is not None:
            headers.setdefault("Content-Type", "application/json")
        self._connection.request(method, path, data, {"User-Agent": "tester/1", **headers})
        response = self._connection.getresponse()
        return response.status, json.loads(response.read() or b"{}"), response

    def watch(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path)
        return self._connection.getresponse()

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def client(face: ApiServerHttp) -> Iterator[Client]:
    client = Client(face)
    yield client
    client.close()


def test_what_is_created_over_http_is_seen_in_process_and_back(server: ApiServer, client: Client) -> None:
    code, created, _ = client.send("POST", PODS, POD)
    assert code == 201
    assert server.get(kinds.POD, "p", "default") == created
    server.patch(kinds.POD, "p", {"metadata": {"labels": {"a": "b"}}}, "default")
    assert client.send("GET", f"{PODS}/p")[1]["metadata"]["labels"] == {"a": "b"}


def test_errors_are_status_objects(client: Client) -> None:
    code, status, _ = client.send("GET", f"{PODS}/none")
    assert code == 404
    assert (status["kind"], status["reason"], status["message"]) == ("Status", "NotFound", 'pods "none" not found')


def test_a_page_that_does_not_exist_is_plain_text(client: Client, face: ApiServerHttp) -> None:
    connection = http.client.HTTPConnection(face.host, face.port, timeout=10)
    connection.request("GET", "/apis/nonsense.io/v1")
    response = connection.getresponse()
    assert (response.status, response.read()) == (404, b"404 page not found\n")
    connection.close()


def test_unknown_fields_are_warned_of_and_dropped(client: Client) -> None:
    pod = {**POD, "spec": {**POD["spec"], "nodename": "n"}}
    code, created, response = client.send("POST", PODS, pod)
    assert code == 201
    assert "nodename" not in created["spec"]
    assert response.headers.get_all("Warning") == [
        '299 - "unknown field \\"spec.nodename\\""',
        '299 - "\\"spec.nodename\\" is misspelt: it belongs at \\"spec.nodeName\\""',
    ]


def test_strict_validation_refuses_unknown_fields(client: Client) -> None:
    pod = {**POD, "spec": {**POD["spec"], "nope": 1}}
    code, status, _ = client.send("POST", f"{PODS}?fieldValidation=Strict", pod)
    assert code == 400
    assert status["message"].endswith('strict decoding error: unknown field "spec.nope"')


def test_wrong_types_are_refused(client: Client) -> None:
    pod = {**POD, "spec": {"containers": [{"name": "c", "image": 7}]}}
    code, status, _ = client.send("POST", PODS, pod)
    assert code == 400
    assert (
        "cannot unmarshal number into Go struct field Container.spec.containers.image of type string"
        in status["message"]
    )


def test_a_dry_run_changes_nothing(server: ApiServer, client: Client) -> None:
    assert client.send("POST", f"{PODS}?dryRun=All", POD)[0] == 201
    assert server.list(kinds.POD).items == ()


def test_lists_come_in_pages(client: Client) -> None:
    for i in range(5):
        client.send("POST", PODS, {**POD, "metadata": {"name": f"p{i}"}})
    _, first, _ = client.send("GET", f"{PODS}?limit=3")
    assert first["metadata"]["remainingItemCount"] == 2
    _, second, _ = client.send("GET", f"{PODS}?limit=3&continue={first['metadata']['continue']}")
    assert [item["metadata"]["name"] for page in (first, second) for item in page["items"]] == [
        f"p{i}" for i in range(5)
    ]
    assert "continue" not in second["metadata"]


def test_a_table_has_the_columns_that_kubectl_prints(client: Client) -> None:
    client.send("POST", PODS, POD)
    _, table, _ = client.send("GET", PODS, Accept="application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
    assert [c["name"] for c in table["columnDefinitions"]][:5] == ["Name", "Ready", "Status", "Restarts", "Age"]
    assert table["rows"][0]["cells"][:5] == ["p", "0/1", "Pending", "0", "0s"]


def test_a_watch_streams_what_happens(server: ApiServer, client: Client) -> None:
    stream = client.watch(f"/api/v1/nodes?watch=1&resourceVersion={server.list(kinds.NODE).resource_version}")
    server.create(kinds.NODE, {"metadata": {"name": "n"}})
    server.delete(kinds.NODE, "n")
    lines = [json.loads(stream.readline()) for _ in range(2)]
    assert [(line["type"], line["object"]["metadata"]["name"]) for line in lines] == [("ADDED", "n"), ("DELETED", "n")]


def test_a_watch_with_a_selector_sees_objects_enter_and_leave(server: ApiServer, client: Client) -> None:
    server.create(kinds.NODE, {"metadata": {"name": "n"}})
    version = server.list(kinds.NODE).resource_version
    for label in ("y", None, "y"):
        server.patch(kinds.NODE, "n", {"metadata": {"labels": {"sel": label}}})
    stream = client.watch(f"/api/v1/nodes?watch=1&labelSelector=sel%3Dy&resourceVersion={version}")
    assert [json.loads(stream.readline())["type"] for _ in range(3)] == ["ADDED", "DELETED", "ADDED"]


def test_a_watch_without_a_version_begins_with_what_is_there(server: ApiServer, client: Client) -> None:
    server.create(kinds.NODE, {"metadata": {"name": "n"}})
    stream = client.watch(
        "/api/v1/nodes?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    )
    first, mark = json.loads(stream.readline()), json.loads(stream.readline())
    assert (first["type"], mark["type"]) == ("ADDED", "BOOKMARK")
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_watch_from_too_long_ago_is_gone(client: Client, server: ApiServer) -> None:
    server.store.collection(server.registry.of(kinds.NODE)[0]).log.oldest_revision = 10_000
    stream = client.watch("/api/v1/nodes?watch=1&resourceVersion=5")
    assert stream.status == 200, "as on a real server, the error is an event"
    event = json.loads(stream.read())
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


def test_who_wrote_what_is_tracked_over_http(client: Client) -> None:
    client.send("POST", PODS, POD)
    client.send(
        "PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, **{"Content-Type": "application/merge-patch+json"}
    )
    entry = client.send("GET", f"{PODS}/p")[1]["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"]) == ("tester", "Update")
    assert entry["fieldsV1"]["f:metadata"] == {"f:labels": {".": {}, "f:a": {}}}


def test_server_side_apply_creates_merges_and_conflicts(client: Client) -> None:
    def apply(manager: str, labels: dict, **query: str) -> tuple[int, dict]:
        options = "&".join(f"{key}={value}" for key, value in {"fieldManager": manager, **query}.items())
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}}
        return client.send(
            "PATCH", f"/api/v1/nodes/n?{options}", body, **{"Content-Type": "application/apply-patch+yaml"}
        )[:2]

    assert apply("one", {"x": "1", "y": "1"})[0] == 201
    code, status = apply("two", {"x": "2"})
    assert code == 409
    assert status["message"] == 'Apply failed with 1 conflict: conflict with "one": .metadata.labels.x'
    assert apply("two", {"x": "2"}, force="true")[1]["metadata"]["labels"] == {"x": "2", "y": "1"}
    assert apply("one", {})[1]["metadata"]["labels"] == {"x": "2"}


def test_a_taken_port_is_an_error_of_the_caller(server: ApiServer, face: ApiServerHttp) -> None:
    with pytest.raises(OSError, match="in use"):
        serve(server, port=face.port)


def test_other_interfaces_than_loopback_are_refused(server: ApiServer) -> None:
    with pytest.raises(ValueError, match="not a loopback address"):
        serve(server, "0.0.0.0")


def test_stopping_ends_open_watches_and_the_thread_and_frees_the_port(server: ApiServer) -> None:
    face = serve(server)
    client = Client(face)
    stream = client.watch("/api/v1/nodes?watch=1")
    face.stop()
    face.stop()
    assert stream.read() == b""
    client.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "karpy-apiserver-http"]
    server.create(kinds.NODE, {"metadata": {"name": "n"}})
    again = serve(server, port=face.port)
    again.stop()


def test_the_kubeconfig_leads_to_the_server(face: ApiServerHttp, tmp_path: Path) -> None:
    path = tmp_path / "kc"
    face.write_kubeconfig(path)
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert config["clusters"][0]["cluster"]["server"] == face.url
    assert path.stat().st_mode & 0o077 == 0


def test_a_body_that_is_no_json_is_told(client: Client, face: ApiServerHttp) -> None:
    connection = http.client.HTTPConnection(face.host, face.port, timeout=10)
    connection.request("POST", PODS, "{not json", {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert response.status == 400
    assert b"couldn't get version/kind" in response.read()
    connection.close()


@pytest.mark.parametrize(("mib", "code", "kind"), [(2, 201, "PodTemplate"), (4, 413, "Status")])
def test_bodies_are_taken_up_to_the_size_that_a_real_server_takes(
    client: Client, mib: int, code: int, kind: str
) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i", "args": ["y" * (mib << 20)]}]}}
    large = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": template}
    answered, answer, _ = client.send("POST", "/api/v1/namespaces/default/podtemplates", large)
    assert (answered, answer["kind"]) == (code, kind)
    assert answer.get("reason") == {413: "RequestEntityTooLarge"}.get(code)


class TestTls:
    @pytest.fixture
    def face(self, server: ApiServer) -> Iterator[ApiServerHttp]:
        face = serve(server, tls=True)
        yield face
        face.stop()

    def fetch(self, face: ApiServerHttp, path: Path, url: str = "", **headers: str) -> tuple[int, str]:
        """What a client that trusts the kubeconfig's authority is answered."""
        face.write_kubeconfig(path)
        config = yaml.safe_load(path.read_text())
        authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        bearer = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
        request = urllib.request.Request((url or face.url) + PODS, headers={**bearer, **headers})
        try:
            with urllib.request.urlopen(request, timeout=10, context=context) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def test_the_kubeconfig_gets_one_in(self, face: ApiServerHttp, tmp_path: Path) -> None:
        code, text = self.fetch(face, tmp_path / "kc")
        assert face.url.startswith("https://")
        assert (code, json.loads(text)["kind"]) == (200, "PodList")
        assert (tmp_path / "kc").stat().st_mode & 0o077 == 0

    def test_the_certificate_holds_for_the_names_of_this_machine(self, face: ApiServerHttp, tmp_path: Path) -> None:
        assert self.fetch(face, tmp_path / "kc", f"https://localhost:{face.port}")[0] == 200

    def test_a_wrong_token_does_not_get_one_in(self, face: ApiServerHttp, tmp_path: Path) -> None:
        assert self.fetch(face, tmp_path / "kc", Authorization="Bearer wrong")[0] == 401

    def test_clients_that_do_not_know_the_authority_refuse(self, face: ApiServerHttp) -> None:
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(f"{face.url}/version", timeout=10)

    def test_with_tls_others_can_be_let_in(self, server: ApiServer, tmp_path: Path) -> None:
        face = serve(server, "0.0.0.0", tls=True)
        try:
            assert face.url == f"https://127.0.0.1:{face.port}"
            assert self.fetch(face, tmp_path / "kc")[0] == 200
        finally:
            face.stop()


@pytest.mark.parametrize(
    ("host", "alone"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("example.com", False)],
)
def test_loopback_addresses_are_known(host: str, *, alone: bool) -> None:
    assert is_loopback(host) is alone


def test_a_kubeconfig_may_go_into_something_that_is_no_file(face: ApiServerHttp) -> None:
    face.write_kubeconfig("/dev/null")
    assert not Path("/dev/null").is_file()
