"""Requests that no well-behaved client sends: each gets the answer of a real API server, and nothing is changed by it."""

from __future__ import annotations

import pytest

from tests.karpy.sim.api.conftest import Client

BASE = "/api/v1/namespaces/default"
PODS, MAPS = f"{BASE}/pods", f"{BASE}/configmaps"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
JSON_PATCH, MERGE = "application/json-patch+json", "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def named(obj: dict, **meta: object) -> dict:
    return {**obj, "metadata": {**obj["metadata"], **meta}}


@pytest.fixture
def rest(rest: Client) -> Client:
    assert rest("POST", MAPS, MAP)[0] == 201
    return rest


def refused(rest: Client, code: int, message: str, method: str, path: str, body: object = None, **options: str) -> None:
    before = rest.server.store.revision
    found, answer = rest(method, path, body, **options)
    assert (found, answer["status"]) == (code, "Failure")
    assert message in answer["message"]
    assert rest.server.store.revision == before


BODIES = [
    (400, "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)", b""),
    (400, "couldn't get version/kind; json parse error: json: cannot unmarshal array", b"[1]"),
    (400, 'unexpected end of JSON input ({"metadata": {"name": "ppppppp ...)', b'{"metadata": {"name": "pppppppppppppppp'),
    (400, "invalid character '}' looking for beginning of value", b'{"a": }'),
    (400, "invalid character '}' after object key ", b'{"a"}'),
    (400, "invalid character '\"' after object key:value pair", b'{"a": 1 "b": 2}'),
    (400, "invalid character '2' after array element", b'{"a": [1 2]}'),
    (400, "invalid character 'x' after top-level value", b'{"a": 1} x'),
    (400, "Node in version \"v1\" cannot be handled as a Pod: converting (v1.Node) to (core.Pod): unknown conversion",
     {**POD, "kind": "Node"}),
    (400, 'Pod in version "v1" cannot be handled as a Pod: no kind "Pod" is registered for version "apps/v1"',
     {**POD, "apiVersion": "apps/v1"}),
    (400, "json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string",
     {**POD, "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": 5}]}]}}),
    (400, "resourceVersion should not be set on objects to be created", named(POD, resourceVersion="5")),
    (400, "the namespace of the provided object does not match the namespace sent on the request",
     named(POD, namespace="other")),
    (422, "metadata.name: Required value: name or generateName is required", {**POD, "metadata": {}}),
    (422, 'metadata.name: Invalid value: "UP": a lowercase RFC 1123 subdomain', named(POD, name="UP")),
    (422, "must be no more than 253 characters", named(POD, name="a" * 254)),
    (422, 'metadata.generateName: Invalid value: "Bad_"', {**POD, "metadata": {"generateName": "Bad_"}}),
    (422, 'metadata.labels: Invalid value: "a b": name part', named(POD, labels={"a b": "c"})),
    (422, 'metadata.labels: Invalid value: "c d": a valid label', named(POD, labels={"a": "c d"})),
    (422, "metadata.annotations: Too long: must have at most 262144 bytes",
     named(POD, annotations={"a": "x" * 300_000})),
    (422, 'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully',
     named(POD, finalizers=["mine"])),
    (422, 'Only one reference can have Controller set to true. Found "true" in references for a and b',
     named(POD, ownerReferences=[
         {"apiVersion": "v1", "kind": "K", "name": name, "uid": name, "controller": True} for name in "ab"])),
]  # fmt: skip


@pytest.mark.parametrize(("code", "message", "body"), BODIES)
def test_what_cannot_be_created(rest: Client, code: int, message: str, body: object) -> None:
    refused(rest, code, message, "POST", PODS, body)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"dryRun": "Some"}, 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: []string{"Some"}'),
        ({"fieldValidation": "Nope"}, 'Unsupported value: "Nope": supported values: "Ignore", "Strict", "Warn"'),
        ({"fieldManager": "x" * 129}, "fieldManager: Too long: must have at most 128 bytes"),
        ({"fieldManager": "a\tb"}, "should only contain printable characters"),
    ],
)
def test_options_that_a_write_does_not_know(rest: Client, query: dict, message: str) -> None:
    refused(rest, 422, message, "POST", PODS, POD, **query)


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", MERGE])
def test_bodies_of_other_media_types_are_not_read(rest: Client, media: str) -> None:
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )
    refused(rest, 415, message, "POST", PODS, POD, media=media)


def test_yaml_is_read_where_it_is_announced(rest: Client) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n"
    assert rest("POST", MAPS, body, media="application/yaml")[0] == 201


@pytest.mark.parametrize(
    ("code", "message", "path", "body"),
    [
        (400, "the name of the object (d) does not match the name on the URL (c)", "c", named(MAP, name="d")),
        (400, "the name of the object (c based on URL) was undeterminable: name must be provided", "c",
         {**MAP, "metadata": {}}),
        (400, "the namespace of the object (zz) does not match the namespace on the request (default)", "c",
         named(MAP, namespace="zz")),
        (404, 'configmaps "new" not found', "new", named(MAP, name="new")),
        (409, "the object has been modified", "c", named(MAP, resourceVersion="99999")),
        (409, "Precondition failed: UID in precondition: zz, UID in object meta: ", "c", named(MAP, uid="zz")),
    ],
)  # fmt: skip
def test_what_cannot_be_replaced(rest: Client, code: int, message: str, path: str, body: dict) -> None:
    refused(rest, code, message, "PUT", f"{MAPS}/{path}", body)


@pytest.mark.parametrize(
    ("code", "message", "media", "body"),
    [
        (415, "415: Unsupported Media Type", "application/json", {}),
        (400, "error decoding patch: invalid character 'b' looking for beginning of object key string", MERGE, b"{bad"),
        (400, "json: cannot unmarshal array into Go value of type map[string]interface {}", MERGE, []),
        (400, "json: cannot unmarshal object into Go value of type []interface {}", JSON_PATCH, {}),
        (422, "the server rejected our request due to an error", JSON_PATCH, [{"op": "frob", "path": "/data"}]),
        (422, "the server rejected our request due to an error", JSON_PATCH, [{"op": "remove", "path": "/data/zz"}]),
        (422, "the server rejected our request due to an error", JSON_PATCH,
         [{"op": "test", "path": "/data/a", "value": "x"}]),
        (422, "metadata.name: Invalid value: \"d\": field is immutable", MERGE, {"metadata": {"name": "d"}}),
        (400, "the namespace of the provided object does not match", MERGE, {"metadata": {"namespace": "d"}}),
        (409, "the object has been modified", MERGE, {"metadata": {"resourceVersion": "1"}, "data": {"x": "y"}}),
        (422, "json: cannot unmarshal number into Go struct field ConfigMap.data of type string", MERGE,
         {"data": {"a": 5}}),
        (422, "fieldManager: Required value: is required for apply patch", APPLY, MAP),
    ],
)  # fmt: skip
def test_what_cannot_be_patched(rest: Client, code: int, message: str, media: str, body: object) -> None:
    refused(rest, code, message, "PATCH", f"{MAPS}/c", body, media=media)


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("Specified patch version: , expected: v1", {"kind": "ConfigMap", "data": {}}),
        ("Specified patch version: v2, expected: v1", {**MAP, "apiVersion": "v2"}),
        ("metadata.managedFields must be nil", named(MAP, managedFields=[{}])),
        ("the name of the object (d) does not match the name on the URL (c)", named(MAP, name="d")),
    ],
)
def test_what_cannot_be_applied(rest: Client, message: str, body: dict) -> None:
    refused(rest, 400, message, "PATCH", f"{MAPS}/c", body, media=APPLY, fieldManager="m")


def test_force_is_for_applying_only(rest: Client) -> None:
    message = "force: Forbidden: may not be specified for non-apply patch"
    refused(rest, 422, message, "PATCH", f"{MAPS}/c", {}, media=MERGE, force="true")


@pytest.mark.parametrize(
    ("code", "message", "body"),
    [
        (422, 'propagationPolicy: Unsupported value: "Foo"', {"propagationPolicy": "Foo"}),
        (422, "orphanDependents and deletionPropagation cannot be both set",
         {"propagationPolicy": "Orphan", "orphanDependents": True}),
        (422, "dryRun: Unsupported value: []string{\"x\"}", {"dryRun": ["x"]}),
        (400, "decoded object cannot be converted to DeleteOptions", {"kind": "Pod", "apiVersion": "v1"}),
        (409, "the UID in the precondition (zz) does not match the UID in record", {"preconditions": {"uid": "zz"}}),
        (409, "the ResourceVersion in the precondition (1) does not match", {"preconditions": {"resourceVersion": "1"}}),
    ],
)  # fmt: skip
def test_what_cannot_be_deleted(rest: Client, code: int, message: str, body: dict) -> None:
    refused(rest, code, message, "DELETE", f"{MAPS}/c", body)


def test_a_dry_run_of_a_deletion_answers_like_the_real_one(rest: Client) -> None:
    code, answer = rest("DELETE", f"{MAPS}/c", dryRun="All")
    assert (code, answer["kind"], answer["status"]) == (200, "Status", "Success")
    assert rest("GET", f"{MAPS}/c")[0] == 200


@pytest.mark.parametrize("namespace", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(rest: Client, namespace: str) -> None:
    message = f'namespaces "{namespace}" is forbidden: this namespace may not be deleted'
    refused(rest, 403, message, "DELETE", f"/api/v1/namespaces/{namespace}")


@pytest.mark.parametrize(
    ("code", "method", "path"),
    [
        (404, "GET", "/api/v1/nope"),
        (404, "GET", "/api/v1/pods/p"),
        (404, "GET", "/api/v1/namespaces/default/nodes"),
        (404, "GET", f"{PODS}/p/nope"),
        (404, "GET", "/apis/none.io/v1/things"),
        (404, "GET", "/apis/apps/v9/deployments"),
        (404, "GET", "/livez/nope"),
        (405, "POST", "/api/v1/pods"),
        (405, "DELETE", "/api/v1/pods"),
        (405, "DELETE", "/api/v1/namespaces"),
        (405, "POST", f"{PODS}/p"),
        (405, "PUT", PODS),
        (405, "POST", "/api"),
        (405, "DELETE", "/version"),
    ],
)
def test_paths_and_verbs_that_lead_nowhere(rest: Client, code: int, method: str, path: str) -> None:
    assert rest(method, path)[0] == code


@pytest.mark.parametrize(
    ("code", "message", "query"),
    [
        (400, 'strconv.ParseInt: parsing "abc": invalid syntax', {"limit": "abc"}),
        (422, "resourceVersionMatch is forbidden unless resourceVersion is provided", {"resourceVersionMatch": "Exact"}),
        (422, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
         {"resourceVersionMatch": "Exact", "resourceVersion": "0"}),
        (422, 'Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""',
         {"resourceVersionMatch": "Foo", "resourceVersion": "1"}),
        (422, "sendInitialEvents is forbidden for list", {"sendInitialEvents": "true"}),
        (400, "invalid continue token", {"continue": "abc"}),
        (504, "Timeout: too large resource version: 99999, current: ", {"resourceVersion": "99999"}),
        (500, 'parsing "abc": invalid syntax', {"resourceVersion": "abc"}),
        (400, "found '', expected: ',' or ')'", {"labelSelector": "a in (b"}),
        (400, "found ',', expected: !, identifier, or 'end of string'", {"labelSelector": "a=b,,c"}),
        (400, "key: Invalid value: \"a@b\": name part must consist", {"labelSelector": "a@b"}),
        (400, 'values[0][a]: Invalid value: "B_": a valid label must be', {"labelSelector": "a=B_"}),
        (400, "for 'in', 'notin' operators, values set can't be empty", {"labelSelector": "a notin ()"}),
        (400, "found '' expected: '('", {"labelSelector": "a in"}),
        (400, "continue key is not valid: illegal base64 data at input byte 0", {"continue": "x"}),
        (500, 'parsing "-1": invalid syntax', {"resourceVersion": "-1"}),
        (400, '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
         {"fieldSelector": "spec.x=1"}),
        (400, "invalid selector: 'nonsense'; can't understand 'nonsense'", {"fieldSelector": "nonsense"}),
    ],
)  # fmt: skip
def test_what_cannot_be_listed(rest: Client, code: int, message: str, query: dict) -> None:
    refused(rest, code, message, "GET", MAPS, **query)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"sendInitialEvents": "true"}, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        ({"resourceVersionMatch": "NotOlderThan"}, "forbidden for watch unless sendInitialEvents is provided"),
        ({"sendInitialEvents": "true", "resourceVersionMatch": "Exact"}, 'supported values: "NotOlderThan"'),
    ],
)
def test_what_cannot_be_watched(rest: Client, query: dict, message: str) -> None:
    refused(rest, 422, message, "GET", MAPS, watch="true", **query)


def test_some_resources_come_into_being_when_they_are_replaced(rest: Client) -> None:
    path = f"{BASE}/endpoints/e"
    body = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}}
    assert rest("PUT", path, body)[0] == 201
    assert rest("PUT", path, body)[0] == 200


def test_nulls_are_read_as_go_reads_them(rest: Client) -> None:
    body = {**MAP, "metadata": {"name": "n", "labels": {"a": None}, "finalizers": None}, "data": {"x": None}}
    code, answer = rest("POST", MAPS, body)
    assert (code, answer["metadata"]["labels"], answer["data"]) == (201, {"a": ""}, {"x": ""})
    code, answer = rest("POST", PODS, {**POD, "spec": {"containers": [None]}})
    assert code == 422
    assert "spec.containers[0].name: Required value, spec.containers[0].image: Required value" in answer["message"]


@pytest.mark.parametrize(
    ("message", "meta"),
    [
        ("json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta", "x"),
        ("json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string", {"name": 5}),
        ("json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type", {"labels": ["a"]}),
    ],
)
def test_metadata_of_the_wrong_shape(rest: Client, message: str, meta: object) -> None:
    refused(
        rest,
        400,
        f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {message}',
        "POST",
        MAPS,
        {**MAP, "metadata": meta},
    )
    code, answer = rest("PATCH", f"{MAPS}/c", {"metadata": meta}, media=MERGE)
    assert code == 422, answer


SCALE = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d"}}


@pytest.mark.parametrize(
    ("code", "message", "method", "body"),
    [
        (400, "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32", "PUT",
         {**SCALE, "spec": {"replicas": "x"}}),
        (422, "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32", "PATCH",
         {"spec": {"replicas": "x"}}),
        (400, "the name of the object (e) does not match the name on the URL (d)", "PUT",
         {**SCALE, "metadata": {"name": "e"}}),
        (400, "Deployment in version \"v1\" cannot be handled as a Scale: converting (v1.Deployment) to", "PUT",
         {**SCALE, "kind": "Deployment", "apiVersion": "apps/v1"}),
        (422, "spec.replicas: Invalid value: -1: must be greater than or equal to 0", "PATCH",
         {"spec": {"replicas": -1}}),
    ],
)  # fmt: skip
def test_scales_that_are_refused(rest: Client, code: int, message: str, method: str, body: dict) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    assert rest("POST", path, {"metadata": {"name": "d"}, "spec": spec})[0] == 201
    refused(
        rest, code, message, method, f"{path}/d/scale", body, media=MERGE if method == "PATCH" else "application/json"
    )


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("error converting YAML to JSON: yaml: mapping values are not allowed", b"a: b: c"),
        ("error converting YAML to JSON: yaml: line 2: ", b"a: b\n- c"),
        ("json: cannot unmarshal array into Go value of type map[string]interface {}", b"[]"),
    ],
)
def test_configurations_that_are_no_yaml(rest: Client, message: str, text: bytes) -> None:
    refused(rest, 400, message, "PATCH", f"{MAPS}/c", text, media=APPLY, fieldManager="m")


@pytest.mark.parametrize(
    ("code", "message", "patch"),
    [
        (500, "unknown patch type: frob in map: map[$patch:frob]", {"data": {"$patch": "frob"}}),
        (400, "invalid patch format of retainKeys", {"data": {"$retainKeys": "a"}}),
        (400, "invalid patch format of setElementOrder list", {"metadata": {"$setElementOrder/finalizers": "a"}}),
        (400, "invalid patch format of primitive list", {"metadata": {"$deleteFromPrimitiveList/finalizers": "a"}}),
    ],
)
def test_directives_that_are_none(rest: Client, code: int, message: str, patch: dict) -> None:
    media = "application/strategic-merge-patch+json"
    refused(rest, code, message, "PATCH", f"{MAPS}/c", patch, media=media)


def test_the_label_with_the_name_of_a_namespace_stays(rest: Client) -> None:
    code, answer = rest("PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": None}}, media=MERGE)
    assert (code, answer["metadata"]["labels"]) == (200, {"kubernetes.io/metadata.name": "default"})


def test_a_body_of_endless_depth_is_refused(rest: Client) -> None:
    for depth in (2_000, 100_000):
        body = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"data":%s1%s}' % (
            b'{"a":' * depth,
            b"}" * depth,
        )
        refused(rest, 400, "exceeded max depth", "POST", MAPS, body)


@pytest.mark.parametrize("path", ["/api/v1/nodes/n", f"{PODS}/p", "/apis/apps/v1/namespaces/default/deployments/d"])
def test_a_condition_always_has_a_type_and_a_status(rest: Client, path: str) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    rest("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    rest("POST", PODS, POD)
    rest("POST", "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "d"}, "spec": spec})
    code, answer = rest("PATCH", f"{path}/status", {"status": {"conditions": [{"reason": "Odd"}]}}, media=MERGE)
    assert code == 200
    (condition,) = answer["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("", "", "Odd")


def test_a_node_that_comes_with_conditions_keeps_them_complete(rest: Client) -> None:
    code, node = rest("POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Odd"}]}})
    assert code == 201
    assert node["status"]["conditions"] == [
        {"type": "Odd", "status": "", "lastHeartbeatTime": None, "lastTransitionTime": None}
    ]
